"""Verel: ``LocalMemory`` in SQLite with its hash-chained audit log beside it; one scope per owner."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from witnesstree_conformance.protocol import Entry, Item, NotApplicable, Place
from witnesstree_conformance.sql_raw import Layout, Part, SqliteRaw, flipped
from witnesstree_conformance.subjects.sqlite_file import SqliteFile

AUDIT = "brain.db.audit.jsonl"
CONTEXT_TOKENS = 2000
Line = dict[str, Any]


class VerelRaw(SqliteRaw):
    """Rows of ``memory``, the index of words, and from tier B on the audit log, whose hashes need no key."""

    layout = Layout(
        table="memory",
        key="id",
        order="rowid",
        owner="scope",
        words=("text",),
        time="created_ts",
        author=("source", "another-source"),
        trust=("trust", "verified"),
        status=("trust", "rejected"),
        parts=(Part("memory_fts", "id", words=("content",), is_index=True),),
    )

    def unindex(self, slot: str) -> None:
        """Empty the entry's row in the index. The library builds the index anew when a row is missing, but not for this."""
        self.update(slot, {"content": ""}, "memory_fts", "id")

    def _rewrite(self, change: Callable[[list[Line]], list[Line]]) -> None:
        if self.tier == "A":
            raise NotApplicable("the log is a file beside the store: tier B")
        file = self.place.store / AUDIT
        lines = change([json.loads(line) for line in file.read_text().splitlines()])
        file.write_text("".join(f"{_json(line)}\n" for line in _chained(lines)))
        self.note(f"rewrote {AUDIT} with {len(lines)} lines and their hashes computed anew")

    def edit_log(self) -> None:
        """Change the text that the newest line tells of."""

        def edited(lines: list[Line]) -> list[Line]:
            lines[-1]["after"]["text"] = flipped(lines[-1]["after"]["text"])
            return lines

        self._rewrite(edited)

    def cut_log(self) -> None:
        """Take the newest line away."""
        self._rewrite(lambda lines: lines[:-1])

    def cut_log_and_rows(self, slots: Sequence[str]) -> None:
        """Take entries away, and every line about them."""
        self._rewrite(lambda lines: [line for line in lines if line["record_id"] not in slots])
        self.remove(slots)

    def empty_log(self) -> None:
        """Take every line away."""
        self._rewrite(lambda lines: [])


class Verel(SqliteFile):
    """The local store, wrapped so that every mutation is logged, as its documentation shows it."""

    title = "Verel, local store"
    config = "LocalMemory with AuditedMemory, no embedder"
    audit_name = "MemoryAudit.verify()"
    package, module, file = "verel", "verel.memory", "brain.db"
    journals = ("-wal", "-shm")
    raw_access = VerelRaw

    @classmethod
    def sidecars(cls, place: Place) -> list[Path]:
        """Return the journals and the audit log."""
        return [*super().sidecars(place), place.store / AUDIT]

    def open(self, place: Place) -> None:
        """Open the store and its log."""
        from verel.memory import AuditedMemory, LocalMemory, MemoryAudit

        self._audit = MemoryAudit(place.store / AUDIT)
        self._local = LocalMemory(self.database(place))
        self._memory = AuditedMemory(self._local, self._audit, actor="conformance")

    def close(self) -> None:
        """Close the database; the library has no call for it."""
        self._local._db.close()

    def remember(self, entry: Entry) -> str:
        """Write one fact; its source says whether it comes from a document."""
        from verel.memory import MemoryKind, MemoryRecord

        record = MemoryRecord(
            kind=MemoryKind.FACT,
            subject="note",
            predicate=hashlib.sha256(f"{entry.at} {entry.text}".encode()).hexdigest()[:12],
            text=entry.text,
            scope=entry.owner,
            source="document" if entry.channel == "external" else "user",
        ).with_detail(**entry.claims)
        return str(self._memory.write(record, ts=float(entry.at)).id)

    def recall(self, owner: str) -> Sequence[Item]:
        """Return the records of the owner's scope."""
        return [_item(record) for record in self._memory.all(scope=owner)]

    def search(self, owner: str, query: str, k: int) -> Sequence[Item]:
        """Return what the lexical recall finds in the owner's scope."""
        return [_item(record) for record in self._memory.recall(query, scope=owner, k=k)]

    def get(self, id: str, owner: str) -> Item | None:
        """Return a record, whoever asks: the call takes no scope."""
        record = self._memory.get(id)
        return None if record is None else _item(record)

    def context(self, owner: str, query: str) -> str:
        """Return the fenced block for a prompt."""
        from verel.memory import recall_budgeted

        return str(recall_budgeted(self._memory, query, token_budget=CONTEXT_TOKENS, scope=owner).text)

    def recall_anyone(self, query: str) -> Sequence[Item]:
        """Recall without a scope."""
        return [_item(record) for record in self._memory.recall(query)]

    def audit(self) -> Sequence[str]:
        """Verify the chain of the log."""
        is_intact, reason = self._audit.verify()
        return [] if is_intact else [reason]

    def update(self, id: str, owner: str, text: str) -> None:
        """Write the record with other words; nobody asks whose it is."""
        self._memory.write(self._memory.get(id).model_copy(update={"text": text}))

    def compact(self) -> None:
        """Run the decay, which prunes what is weak and unused."""
        self._memory.decay()


def _item(record: Any) -> Item:
    """Return every field of a record; ``text`` is among them."""
    return dict(record.model_dump(mode="json"))


def _json(line: Line) -> str:
    return json.dumps(line, sort_keys=True, separators=(",", ":"))


def _chained(lines: Sequence[Line]) -> list[Line]:
    """Return lines with the hashes that the library computes."""
    chained: list[Line] = []
    previous = "genesis"
    for line in lines:
        body = {name: value for name, value in line.items() if name != "hash"} | {"prev_hash": previous}
        previous = hashlib.sha256(f"{previous}\n{_json(body)}".encode()).hexdigest()
        chained.append(body | {"hash": previous})
    return chained
