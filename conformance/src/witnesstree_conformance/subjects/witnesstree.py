"""Witnesstree itself, by the same rules as everybody else: its embedded store on SQLite, with one anchor and with two.

The attacker knows every format, and has no key but in tier E. This is the only module of the suite that imports the product.
"""

from __future__ import annotations

import dataclasses
import enum
import os
import pickle
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from witnesstree import Memory, Message
from witnesstree.errors import SealError
from witnesstree.types import wire
from witnesstree.types.record import Record, Span
from witnesstree.types.trust import Authority, Kind, Op, Role, Status, Trust
from witnesstree_conformance.payload import Payload
from witnesstree_conformance.protocol import Entry, Item, NotApplicable, Place
from witnesstree_conformance.sql_raw import Layout, Row, SqliteRaw, flipped
from witnesstree_conformance.subjects.sqlite_file import SqliteFile

VOLATILE = {"score", "signals"}
"""Fields of a hit that say how well it fits, and not what it is. Order shows them."""
KEY = "11" * 32
"""The master key of the runs, as hex."""
PAGE = 1000
RECORD_FIELDS = tuple(name for name in Record.__dataclass_fields__ if name != "metadata")


class WitnesstreeRaw(SqliteRaw):
    """Rows of ``memory`` hold canonical records; everything else about them is commitments."""

    layout = Layout(
        table="memory",
        key="seq",
        order="seq",
        owner="owner",
        words=("content",),
        content=("content", "seal", "vector"),
        log=("log", "seq", "entry"),
        log_link="seq",
        vector="vector",
    )

    # --- records ---------------------------------------------------------------------------------------------------------
    def record(self, slot: str) -> Record:
        """Return what a row says."""
        return wire.decode(self.row(slot)["content"])

    def entries(self, owner: str) -> list[str]:
        """Return the rows that speak of an owner."""
        found = []
        for row in self.rows("SELECT * FROM memory ORDER BY seq"):
            try:
                record = wire.decode(row["content"])
            except SealError:
                continue
            if record.user == owner:
                found.append(str(row["seq"]))
        return found

    def change_record(self, slot: str, **changes: object) -> None:
        """Write a record back with other fields, in canonical form, under its old seal."""
        content = wire.encode(replace(self.record(slot), **changes))  # type: ignore[arg-type]  # the caller names fields
        self.update(slot, {"content": content})
        self.note(f"-- in the record of row {slot}: {changes}")

    def change_text(self, slot: str, old: str, new: str, *, weak: bool = False) -> None:
        """Change the words in the record; ``weak``: raw bytes, whatever they belong to."""
        if weak:
            super().change_text(slot, old, new, weak=True)
        else:
            self.change_record(slot, text=self.record(slot).text.replace(old, new))

    def move(self, slot: str, owner: str) -> None:
        """Give the row another owner: the keyed partition of one of his rows, and his name in the record."""
        theirs = self.row(self.entries(owner)[0])["owner"]
        self.update(slot, {"owner": theirs})
        self.change_record(slot, user=owner)

    def owned_by(self, owner: str) -> bytes:
        """Return an owner's keyed partition, as his rows show it."""
        return bytes(self.row(self.entries(owner)[0])["owner"])

    def fresh_key(self, slot: str, row: Row) -> int:
        """Return the position after the end of the log: where the next honest row would be."""
        return int(self.rows("SELECT max(seq) AS newest FROM log")[0]["newest"]) + 1

    def forge(self, like: str, old: str, new: str, *, weak: bool = False) -> None:
        """Insert a row with a fresh id at the next position, and a log entry for it unless ``weak``."""
        row = self.as_newest(self.row(like))
        record = wire.decode(row["content"])
        row["content"] = wire.encode(replace(record, id=bytes(16), text=record.text.replace(old, new)))
        self.insert(row)
        if not weak:
            self._copied_entry(int(like), int(row["seq"]))

    def duplicate(self, slot: str) -> None:
        """Insert a row again at the next position, with a log entry."""
        row = self.as_newest(self.row(slot))
        self.insert(row)
        self._copied_entry(int(slot), int(row["seq"]))

    def _copied_entry(self, source: int, seq: int) -> None:
        entry = bytes(self.rows("SELECT entry FROM log WHERE seq = ?", (source,))[0]["entry"])
        self.insert({"seq": seq, "entry": entry[:1] + seq.to_bytes(8, "big") + entry[9:]}, "log")

    # --- what records say -------------------------------------------------------------------------------------------------
    def set_time(self, slot: str) -> None:
        """Change when it was said and recorded."""
        record = self.record(slot)
        day = 86_400_000_000
        said = None if record.said_at is None else record.said_at + day
        self.change_record(slot, said_at=said, recorded_at=record.recorded_at + day)

    def set_author(self, slot: str) -> None:
        """Let it be said by the assistant."""
        self.change_record(slot, role=Role.ASSISTANT, actor="mallory", source="elsewhere")

    def set_trust(self, slot: str) -> None:
        """Raise authority and trust."""
        record = self.record(slot)
        authority = next(value for value in Authority if value is not record.authority)
        trust = next(value for value in Trust if value is not record.trust)
        self.change_record(slot, authority=authority, trust=trust)

    def hide(self, slot: str) -> None:
        """Let it be no longer in force, and expired."""
        record = self.record(slot)
        status = next(value for value in Status if value is not record.status)
        self.change_record(slot, status=status, expires_at=1)

    # --- what finds rows --------------------------------------------------------------------------------------------------
    def unindex(self, slot: str) -> None:
        """Take the row out of its owner's partition: that is the only index there is."""
        self.update(slot, {"owner": bytes(16)})

    def change_index(self, slot: str, old: str, new: str) -> None:
        """Change the owner map: what an owner's partition must hold."""
        leaf = self.rows("SELECT owner, leaf FROM leaf WHERE owner = ?", (self.row(slot)["owner"],))[0]
        self.run("UPDATE leaf SET leaf = ? WHERE owner = ?", (flipped(leaf["leaf"]), leaf["owner"]))

    def altered_vector(self, vector: bytes) -> bytes:
        """Turn the vector round, and keep its header."""
        if not vector:
            raise NotApplicable("the store was written without an embedder")
        return vector[:-8] + bytes(reversed(vector[-8:]))

    def index_column(self) -> str:
        """Return the column by which rows are looked up."""
        return "owner"

    # --- the log ------------------------------------------------------------------------------------------------------------
    def edit_log(self) -> None:
        """Change the last entry."""
        self._edit_entry(lambda entry: entry[:-1] + bytes([entry[-1] ^ 1]))

    def _edit_entry(self, change: Callable[[bytes], bytes]) -> None:
        last = self.rows("SELECT seq, entry FROM log ORDER BY seq DESC LIMIT 1")[0]
        self.run("UPDATE log SET entry = ? WHERE seq = ?", (change(bytes(last["entry"])), last["seq"]))

    def cut_log_and_rows(self, slots: Sequence[str]) -> None:
        """Cut rows and log at the first of the slots: everything after it."""
        for table in ("memory", "log"):
            self.run(f"DELETE FROM {table} WHERE seq >= ?", (int(slots[0]),))

    def cut_log_and_head(self, slots: Sequence[str]) -> None:
        """Take rows, log, head and owner map from the older copy: all of the file that says what is in it."""
        kept = self.place.root.parent / f"{self.place.root.name}.kept" / "earlier" / "store" / self.path.name
        older = self.place.root / "older.db"
        older.write_bytes(kept.read_bytes())
        try:
            with sqlite3.connect(older) as connection:
                for table in ("memory", "log", "head", "leaf", "node"):
                    rows = connection.execute(f"SELECT * FROM {table}").fetchall()
                    self.run(f"DELETE FROM {table}")
                    for row in rows:
                        marks = ", ".join("?" for _ in row)
                        self.connection.execute(f"INSERT INTO {table} VALUES ({marks})", row)
            connection.close()
        finally:
            older.unlink()
        self.note("every table filled from the older genuine copy")

    # --- how bytes are read --------------------------------------------------------------------------------------------------
    def plaintext(self, slot: str, text: str) -> None:
        """Put plain text in the place of a sealed record, and no seal."""
        self.update(slot, {"content": text.encode(), "seal": b""})

    def older_format(self, slot: str, text: str) -> None:
        """Name format 0 and an algorithm that is none."""
        row = self.row(slot)
        self.update(slot, {"content": b"\x00" + row["content"][1:], "seal": b"\x00" + row["seal"][1:]})

    def swap_ciphertexts(self, first: str, second: str) -> None:
        """Let two rows change seals."""
        a, b = self.row(first), self.row(second)
        self.update(first, {"seal": b["seal"]})
        self.update(second, {"seal": a["seal"]})

    def plant_code(self, slot: str, canary: Path, *, silent: bool) -> None:
        """Put a pickle that makes the canary where bytes are decoded: the vector, and unless ``silent`` the record too."""
        payload = pickle.dumps(Payload(canary))
        self.update(slot, {"vector": payload} if silent else {"vector": payload, "content": payload})

    # --- the sweep -----------------------------------------------------------------------------------------------------------
    def fields(self) -> list[str]:
        """Name every column, and every field inside a record."""
        return super().fields() + [f"record:{name}" for name in RECORD_FIELDS]

    def flip(self, field: str) -> None:
        """Change a column, or a field of the record of the owner's fourth entry."""
        if not field.startswith("record:"):
            super().flip(field)
            return
        slot = self.entries("alice")[3]
        name = field.removeprefix("record:")
        value = getattr(self.record(slot), name)
        self.change_record(slot, **{name: ("planted",) if name == "purposes" and not value else _another(value)})

    def plant_trigger(self) -> None:
        """Plant a trigger that alters every new row."""
        self.run(
            "CREATE TRIGGER planted AFTER INSERT ON memory BEGIN"
            " UPDATE memory SET content = CAST(replace(content, 'AAAA', 'EVIL') AS BLOB) WHERE seq = new.seq; END"
        )


def _another(value: object) -> object:
    """Return another value of a record's field."""
    if isinstance(value, Authority | Kind | Op | Role | Status | Trust):
        return next(member for member in type(value) if member is not value)
    if isinstance(value, bytes):
        return flipped(value) if value else b"x"
    if value is None:
        return 1
    if isinstance(value, tuple):
        return () if value else (Span(bytes(16), 1, 0, 1),)
    if value == "":
        return "planted"
    return flipped(value)


class Sqlite(SqliteFile):
    """The default: one file, its head remembered in the client's state folder."""

    title = "Witnesstree (SQLite)"
    config = "the defaults; the master key is given by the client"
    refusals = ("witnesstree.errors.IntegrityError",)
    audit_name = "Memory.audit()"
    tiers = ("A", "B", "C")
    package, module, file = "witnesstree", "witnesstree", "memory.db"
    journals = ("-wal", "-shm", "-journal")
    raw_access = WitnesstreeRaw
    has_second_anchor: ClassVar[bool] = False

    def open(self, place: Place) -> None:
        """Open the store; its master key comes from a secret manager, so to say, and lies in no zone of tiers A to C."""
        os.environ["WITNESSTREE_HOME"] = str(place.state / "witnesstree")
        self._memory = Memory.open(self.database(place), key=KEY, anchor=self.anchor(place))

    def anchor(self, place: Place) -> str:
        """Return where the head is remembered."""
        if not self.has_second_anchor:
            return "file"
        (place.witness / "anchors").mkdir(exist_ok=True)
        return f"file:{place.witness / 'anchors'}"

    def close(self) -> None:
        """Close the store."""
        self._memory.close()

    def remember(self, entry: Entry) -> str:
        """Add one turn. What is no turn of the user comes as a document; what only says that it is, by import."""
        if entry.channel == "laundered":
            turn = {"role": "user", "content": entry.text, "metadata": dict(entry.claims)}
            return str(self._memory.import_([turn], user=entry.owner, session=entry.session).episodes[0])
        role = "document" if entry.channel == "external" else "user"
        message = Message(role=role, text=entry.text, session=entry.session, metadata=dict(entry.claims))
        return str(self._memory.add([message], user=entry.owner).episodes[0])

    def recall(self, owner: str) -> Sequence[Item]:
        """List everything, page by page, oldest first."""
        page = self._memory.list(user=owner, limit=PAGE)
        memos = list(page.items)
        while page.cursor:
            page = self._memory.list(user=owner, limit=PAGE, cursor=page.cursor)
            memos += page.items
        return [_item(memo) for memo in memos]

    def search(self, owner: str, query: str, k: int) -> Sequence[Item]:
        """Search with the defaults."""
        return [_item(hit) for hit in self._memory.search(query, user=owner, k=k).hits]

    def get(self, id: str, owner: str) -> Item | None:
        """Get one memory of the owner."""
        return _item(self._memory.get(id, user=owner))

    def context(self, owner: str, query: str) -> str:
        """Return the context of a search."""
        return self._memory.search(query, user=owner).context()

    def audit(self) -> Sequence[str]:
        """Audit the whole store."""
        return [f"{problem.reason}: {problem.message}" for problem in self._memory.audit().problems]

    def update(self, id: str, owner: str, text: str) -> None:
        """Write the next version."""
        self._memory.update(id, text, user=owner)

    def erase(self, id: str, owner: str) -> None:
        """Erase a memory."""
        self._memory.forget(id, user=owner)

    def reindex(self) -> None:
        """Make all vectors anew."""
        self._memory.reindex()


class SqliteTwoAnchors(Sqlite):
    """The head is remembered on another machine too."""

    title = "Witnesstree (SQLite, two anchors)"
    config = "the defaults, and a second anchor in the witness zone"
    has_second_anchor = True


def _item(memo: Any) -> Item:
    """Return every field of a memo or hit as JSON values."""
    return {field.name: _plain(getattr(memo, field.name)) for field in dataclasses.fields(memo) if field.name not in VOLATILE}


def _plain(value: Any) -> Any:
    if isinstance(value, enum.Enum):
        return value.name
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _item(value)
    if isinstance(value, dict):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value if value is None or isinstance(value, str | int | float | bool) else repr(value)
