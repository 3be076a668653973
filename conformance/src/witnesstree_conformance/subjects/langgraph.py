"""LangGraph: ``SqliteSaver``, plain and encrypted. A thread per owner, a checkpoint per entry; checkpoints are msgpack."""

from __future__ import annotations

import datetime
import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from witnesstree_conformance.protocol import Entry, Item, NotApplicable, Place, Subject
from witnesstree_conformance.sql_raw import Layout, Part, Row, SqliteRaw, flipped, replace_in
from witnesstree_conformance.subjects.sqlite_file import SqliteFile

KEY_FILE, KEY = "aes.key", b"a key of thirty-two bytes' length"[:32]
CONSTRUCTOR_WITH_ONE_ARGUMENT = 0
"""The msgpack extension by which the serializer calls ``module.name(argument)``."""
CALLED_AND_NONE = "updated_channels"
"""A field of a checkpoint that is None anyway."""


class SaverRaw(SqliteRaw):
    """Rows of ``checkpoints``: msgpack in one column, JSON in another; ``writes`` belong to them."""

    layout = Layout(
        table="checkpoints",
        key="checkpoint_id",
        order="checkpoint_id",
        owner="thread_id,metadata/user_id",
        words=("checkpoint",),
        content=("checkpoint", "type"),
        time="checkpoint/ts",
        author=("checkpoint/channel_values/message/role", "system"),
        parts=(Part("writes", "checkpoint_id", words=("value",), owner="thread_id"),),
    )

    def decode(self, column: str, value: Any) -> Any:
        """Decode JSON, or msgpack."""
        import ormsgpack

        return json.loads(value) if column == "metadata" else ormsgpack.unpackb(value)

    def encode(self, column: str, structure: Any, like: Any) -> Any:
        """Encode as JSON, or msgpack."""
        import ormsgpack

        return super().encode(column, structure, like) if column == "metadata" else ormsgpack.packb(structure)

    def structure(self, column: str, value: Any) -> Any:
        """Return what is in the two columns that hold structures."""
        return self.decode(column, value) if column in {"metadata", "checkpoint"} else None

    def as_newest(self, row: Row) -> Row:
        """Return a copy that sorts last, with the newest as its parent; the checkpoint says the same id."""
        fresh = super().as_newest(row)
        return fresh | {"parent_checkpoint_id": self._newest()} | self.with_field(fresh, "checkpoint/id", fresh["checkpoint_id"])

    def older_format(self, slot: str, text: str) -> None:
        """Put the checkpoint in as JSON, which the library wrote before msgpack and still reads."""
        row = self.row(slot)
        self.update(slot, {"type": "json", "checkpoint": json.dumps(self.forged(row, text)).encode()})

    def forged(self, row: Row, text: str) -> dict[str, Any]:
        """Return a checkpoint that says what an attacker likes, with the id of a row."""
        return checkpoint_of(row["checkpoint_id"], "2024-01-01T00:00:00+00:00", {"message": {"role": "user", "content": text}})

    def plant_code(self, slot: str, canary: Path, *, silent: bool) -> None:
        """Put in a call that the serializer makes: in the place of the message, or where its answer changes nothing."""
        import ormsgpack

        row = self.row(slot)
        checkpoint = self.decode("checkpoint", row["checkpoint"])
        checkpoint[CALLED_AND_NONE if silent else "channel_values"] = call_of(canary)
        self.update(slot, {"type": "msgpack", "checkpoint": ormsgpack.packb(checkpoint)})


def call_of(canary: Path) -> Any:
    """Return what the serializer reads as a call that makes the canary and gives ``None``."""
    import ormsgpack

    return ormsgpack.Ext(CONSTRUCTOR_WITH_ONE_ARGUMENT, ormsgpack.packb(("os", "mknod", str(canary))))


class EncryptedRaw(SaverRaw):
    """The same rows with ``checkpoint`` and ``value`` encrypted. In tier E the attacker holds the key."""

    layout = replace(SaverRaw.layout, author=("metadata/user_id", "mallory"))

    def decode(self, column: str, value: Any) -> Any:
        """Decode JSON; decrypt and decode a checkpoint, if the key is at hand."""
        return super().decode(column, value if column == "metadata" else cipher(self.place).decrypt("aes", value))

    def encode(self, column: str, structure: Any, like: Any) -> Any:
        """Encode as JSON; encode and encrypt a checkpoint."""
        data = super().encode(column, structure, like)
        return data if column == "metadata" else cipher(self.place).encrypt(data)[1]

    @property
    def has_key(self) -> bool:
        """Tell whether the tier includes the key."""
        return self.tier == "E"

    def structure(self, column: str, value: Any) -> Any:
        """Return what is in columns that are readable in this tier."""
        return super().structure(column, value) if self.has_key or column == "metadata" else None

    def change_text(self, slot: str, old: str, new: str, *, weak: bool = False) -> None:
        """Encrypt other words, if the key is at hand; else put them in unencrypted. Weak: turn one bit of the ciphertext."""
        row = self.row(slot)
        if weak:
            self.update(slot, {"checkpoint": flipped(row["checkpoint"])})
        elif self.has_key:
            changed = replace_in(json.dumps(self.decode("checkpoint", row["checkpoint"])), old, new)
            self.update(slot, {"checkpoint": self.encode("checkpoint", json.loads(changed), row["checkpoint"])})
        else:
            self.plaintext(slot, f"The attacker's own words, {new}.")

    def forge(self, like: str, old: str, new: str, *, weak: bool = False) -> None:
        """Insert an unencrypted row. Weak: a copy of an encrypted one with a bit turned."""
        row = self.as_newest(self.row(like))
        self.insert(row | {"checkpoint": flipped(row["checkpoint"])})
        if not weak:
            self.plaintext(row["checkpoint_id"], f"The attacker's own words, {new}.")

    def as_newest(self, row: Row) -> Row:
        """Return a copy that sorts last; the id inside is encrypted and stays."""
        return row | {"parent_checkpoint_id": self._newest(), "checkpoint_id": self.fresh_key("", row)}

    def plaintext(self, slot: str, text: str) -> None:
        """Put in an unencrypted checkpoint: the serializer tells by the type's name what to decrypt."""
        import ormsgpack

        row = self.row(slot)
        self.update(slot, {"type": "msgpack", "checkpoint": ormsgpack.packb(self.forged(row, text))})

    def set_time(self, slot: str) -> None:
        """Change the time; it is encrypted with the words."""
        if not self.has_key:
            raise NotApplicable("the time is inside the ciphertext")
        super().set_time(slot)

    def swap_ciphertexts(self, first: str, second: str) -> None:
        """Exchange two ciphertexts."""
        self.swap(first, second)

    def plant_code(self, slot: str, canary: Path, *, silent: bool) -> None:
        """Put in an unencrypted checkpoint with a call."""
        self.plaintext(slot, "Words that nobody said.")
        SaverRaw.plant_code(_Unencrypted(self), slot, canary, silent=silent)


class _Unencrypted(SaverRaw):
    """The same open database, read as plain msgpack."""

    def __init__(self, other: EncryptedRaw) -> None:
        self.__dict__ = other.__dict__


class Checkpoints(Subject):
    """The verbs of every checkpointer: a thread per owner, a checkpoint per entry."""

    _saver: Any

    def values(self, entry: Entry) -> Mapping[str, Any]:
        """Return what the channels of a checkpoint hold."""
        raise NotImplementedError

    def words(self, values: Mapping[str, Any]) -> Any:
        """Return the words that channels hold."""
        raise NotImplementedError

    def remember(self, entry: Entry) -> str:
        """Put one checkpoint on top of the thread's newest, with the writes that led to it; return its id."""
        from langgraph.checkpoint.base import empty_checkpoint

        newest, values = self._saver.get_tuple(thread(entry.owner)), self.values(entry)
        at = datetime.datetime.fromtimestamp(entry.at, datetime.UTC).isoformat()
        checkpoint = checkpoint_of(empty_checkpoint()["id"], at, values)
        step = 0 if newest is None else newest.metadata["step"] + 1
        metadata = {**entry.claims, "source": "input", "step": step, "user_id": entry.owner}
        config = thread(entry.owner) if newest is None else newest.config
        put = self._saver.put(config, checkpoint, metadata, checkpoint["channel_versions"])
        self._saver.put_writes(put, list(values.items()), "task")
        return str(put["configurable"]["checkpoint_id"])

    def recall(self, owner: str) -> Sequence[Item]:
        """Return the thread's checkpoints, oldest first."""
        return [self._item(found) for found in reversed(list(self._saver.list(thread(owner))))]

    def get(self, id: str, owner: str) -> Item | None:
        """Return one checkpoint of the thread."""
        found = self._saver.get_tuple(thread(owner, checkpoint_id=id))
        return None if found is None else self._item(found)

    def recall_anyone(self, query: str) -> Sequence[Item]:
        """List checkpoints without naming a thread."""
        return [self._item(found) for found in self._saver.list(None)]

    def _item(self, found: Any) -> Item:
        """Return every field of a checkpoint tuple, with the words as ``text``."""
        return {**found._asdict(), "text": self.words(found.checkpoint["channel_values"])}


class SqliteSaver(Checkpoints, SqliteFile):
    """The checkpointer in SQLite, as its documentation shows it."""

    title = "LangGraph SqliteSaver"
    config = "defaults"
    package, module, file = "langgraph-checkpoint-sqlite", "langgraph.checkpoint.sqlite", "checkpoints.db"
    journals = ("-wal", "-shm")
    raw_access = SaverRaw

    def open(self, place: Place) -> None:
        """Open the file and make its tables."""
        self._connection = sqlite3.connect(self.database(place), check_same_thread=False, timeout=20)
        self._saver = self.saver(place)
        self._saver.setup()

    def saver(self, place: Place) -> Any:
        """Return the checkpointer."""
        from langgraph.checkpoint.sqlite import SqliteSaver

        return SqliteSaver(self._connection)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def values(self, entry: Entry) -> Mapping[str, Any]:
        """Return one message."""
        return {"message": {"role": role_of(entry), "content": entry.text}}

    def words(self, values: Mapping[str, Any]) -> Any:
        """Return the message's words."""
        message = values.get("message")
        return message.get("content") if isinstance(message, dict) else None


class EncryptedSqliteSaver(SqliteSaver):
    """The same with the library's AES serializer."""

    title = "LangGraph SqliteSaver, encrypted"
    config = "EncryptedSerializer.from_pycryptodome_aes, AES-256 EAX"
    tiers = ("A", "B", "E")
    raw_access = EncryptedRaw

    def saver(self, place: Place) -> Any:
        """Return the checkpointer with an encrypting serializer; its key lies in the client's keys."""
        from langgraph.checkpoint.sqlite import SqliteSaver

        (place.keys / KEY_FILE).write_bytes(KEY)
        return SqliteSaver(self._connection, serde=_encrypting(place))


def _encrypting(place: Place) -> Any:
    from langgraph.checkpoint.serde.encrypted import EncryptedSerializer

    return EncryptedSerializer.from_pycryptodome_aes(key=(place.keys / KEY_FILE).read_bytes())


def cipher(place: Place) -> Any:
    """Return the library's own cipher with the client's key."""
    return _encrypting(place).cipher


def thread(owner: str, **more: str) -> dict[str, Any]:
    """Return how the library is told whose thread is meant, and which checkpoint."""
    return {"configurable": {"thread_id": owner, "checkpoint_ns": "", **more}}


def checkpoint_of(id: str, ts: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a checkpoint as the library makes it; every value is as new as the checkpoint."""
    return {
        "v": 2,
        "id": id,
        "ts": ts,
        "channel_values": dict(values),
        "channel_versions": dict.fromkeys(values, id),
        "versions_seen": {},
        "pending_sends": [],
        "updated_channels": None,
    }


def role_of(entry: Entry) -> str:
    """Return the role that says whether a tool or the user spoke."""
    return "tool" if entry.channel == "external" else "user"
