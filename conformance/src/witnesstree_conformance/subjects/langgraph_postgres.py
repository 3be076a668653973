"""LangGraph: ``PostgresSaver``. Short values are JSON in the checkpoint's row, the others msgpack in a table of blobs."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from witnesstree_conformance.protocol import Entry, Item, Place
from witnesstree_conformance.sql_raw import Layout, Part, Row
from witnesstree_conformance.subjects.langgraph import call_of, put_entry, role_of, thread
from witnesstree_conformance.subjects.postgres import PostgresRaw, PostgresStore, database_of, uri_of

NOTHING = "nothing"


class SaverRaw(PostgresRaw):
    """Rows of ``checkpoints`` with their blobs and writes."""

    layout = Layout(
        table="checkpoints",
        key="checkpoint_id",
        order="checkpoint_id",
        owner="thread_id,metadata/user_id",
        words=("checkpoint",),
        time="checkpoint/ts",
        author=("checkpoint/channel_values/role", "system"),
        parts=(
            Part("checkpoint_blobs", "version", words=("blob",), owner="thread_id"),
            Part("checkpoint_writes", "checkpoint_id", words=("blob",), owner="thread_id"),
        ),
    )

    def as_newest(self, row: Row) -> Row:
        """Return a copy that sorts last, with the newest as its parent; the checkpoint says the same id."""
        fresh = super().as_newest(row) | {"parent_checkpoint_id": self._newest()}
        fresh |= self.with_field(fresh, "checkpoint/id", fresh["checkpoint_id"])
        return fresh | self.with_field(fresh, "checkpoint/channel_versions/about", fresh["checkpoint_id"])

    def older_format(self, slot: str, text: str) -> None:
        """Put a blob in as JSON, which the library wrote before msgpack and still reads."""
        blob = self.encode("blob", {"session": text, NOTHING: None}, b"{}")
        self.update(slot, {"type": "json", "blob": blob}, "checkpoint_blobs", "version")

    def plant_code(self, slot: str, canary: Path, *, silent: bool) -> None:
        """Put a call into a blob: in its place, or where its answer changes nothing."""
        import ormsgpack

        blob = next(row["blob"] for row in self.rows("SELECT * FROM checkpoint_blobs WHERE version = ?", (slot,)))
        about = ormsgpack.unpackb(blob) | {NOTHING: call_of(canary)} if silent else call_of(canary)
        self.update(slot, {"type": "msgpack", "blob": ormsgpack.packb(about)}, "checkpoint_blobs", "version")

    def spoil(self, slot: str) -> None:
        """Put a byte into a blob that msgpack never uses."""
        self.update(slot, {"blob": b"\xc1\xff"}, "checkpoint_blobs", "version")


class PostgresSaver(PostgresStore):
    """The checkpointer in PostgreSQL, as its documentation shows it."""

    title = "LangGraph PostgresSaver"
    config = "defaults, PostgreSQL of its own"

    @classmethod
    def version(cls) -> str:
        """Return the package's version."""
        return metadata.version("langgraph-checkpoint-postgres")

    @classmethod
    def load(cls) -> None:
        """Import the package."""
        import langgraph.checkpoint.postgres  # noqa: F401

    def open(self, place: Place) -> None:
        """Connect, and make the tables."""
        from langgraph.checkpoint.postgres import PostgresSaver

        self._connected = PostgresSaver.from_conn_string(uri_of(place, database_of(place)))
        self._saver = self._connected.__enter__()
        self._saver.setup()

    def close(self) -> None:
        """Disconnect."""
        self._connected.__exit__(None, None, None)

    def remember(self, entry: Entry) -> str:
        """Put one checkpoint on top of the thread's newest."""
        values = {"text": entry.text, "role": role_of(entry), "about": {"session": entry.session, NOTHING: None}}
        return put_entry(self._saver, self._saver.get_tuple(thread(entry.owner)), entry, values)

    def recall(self, owner: str) -> Sequence[Item]:
        """Return the thread's checkpoints, oldest first."""
        return [_item(found) for found in reversed(list(self._saver.list(thread(owner))))]

    def get(self, id: str, owner: str) -> Item | None:
        """Return one checkpoint of the thread."""
        found = self._saver.get_tuple(thread(owner, checkpoint_id=id))
        return None if found is None else _item(found)

    def recall_anyone(self, query: str) -> Sequence[Item]:
        """List checkpoints without naming a thread."""
        return [_item(found) for found in self._saver.list(None)]

    def raw(self, place: Place, tier: str) -> SaverRaw:
        """Return the attacker's access."""
        return SaverRaw(place, tier)


def _item(found: Any) -> Item:
    """Return every field of a checkpoint tuple, with the words as ``text``."""
    return {**found._asdict(), "text": found.checkpoint["channel_values"].get("text")}
