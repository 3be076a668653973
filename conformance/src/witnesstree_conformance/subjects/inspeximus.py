"""inspeximus: records as JSON in SQLite, receipts in a file beside them, heads and guards in the client's home."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from witnesstree_conformance.protocol import Entry, Item, NotApplicable, Place
from witnesstree_conformance.sql_raw import Layout, Row, SqliteRaw
from witnesstree_conformance.subjects.sqlite_file import SqliteFile

RECEIPTS = "memory.db.receipts.json"
WORDS = "doc/text"


class InspeximusRaw(SqliteRaw):
    """Rows of ``records`` with a document each; from tier B on the receipts, from tier C on the head."""

    layout = Layout(
        table="records",
        key="id",
        order="ord",
        owner="doc/meta/uid",
        words=("doc",),
        sort="ord",
        time="doc/ts",
        author=("doc/source", {"doc": "another"}),
        trust=("doc/value", 9.0),
        status=("doc/meta/quarantined", "held back"),
        log=("memory_events", "seq", "payload"),
        log_link="memory_id",
    )

    def as_newest(self, row: Row) -> Row:
        """Return a copy that sorts last; its document says the same id."""
        fresh = super().as_newest(row)
        return fresh | self.with_field(fresh, "doc/id", fresh["id"])

    def swap(self, first: str, second: str) -> None:
        """Exchange the words of two documents."""
        words = self.field(self.row(first), WORDS)
        self.copy_over(second, first)
        self.set_field(second, WORDS, words)

    def copy_over(self, source: str, target: str) -> None:
        """Put the words of one document into another."""
        self.set_field(target, WORDS, self.field(self.row(source), WORDS))

    def remove(self, slots: Sequence[str], *, weak: bool = False) -> None:
        """Delete rows. In tier C the newest go with their receipts and the head: what is left is consistent."""
        newest = [str(row["id"]) for row in self.rows("SELECT id FROM records ORDER BY ord DESC LIMIT ?", (len(slots),))]
        super().remove(slots, weak=weak)
        if not weak and self.tier == "C" and self.receipts.exists() and sorted(newest) == sorted(slots):
            self._cut_receipts(slots)
            self._remove_head()

    @property
    def receipts(self) -> Path:
        """Return the file with the receipts."""
        return self.place.store / RECEIPTS

    def cut_log_and_rows(self, slots: Sequence[str]) -> None:
        """Delete rows, events and, from tier B on, receipts."""
        for slot in slots:
            self.delete(slot)
            self.delete(slot, "memory_events", "memory_id")
        if self.tier != "A" and self.receipts.exists():
            self._cut_receipts(slots)

    def _cut_receipts(self, slots: Sequence[str]) -> None:
        kept = [line for line in json.loads(self.receipts.read_text()) if line["memory_id"] not in slots]
        self.receipts.write_text(json.dumps(kept))
        self.note(f"took the receipts of {', '.join(slots)} out of {RECEIPTS}")

    def _remove_head(self) -> None:
        for head in (self.place.state / ".config/inspeximus/heads").iterdir():
            head.unlink()
            self.note(f"removed the head {head.name}")

    def cut_log_and_head(self, slots: Sequence[str]) -> None:
        """Delete rows, events and receipts, and the head in the client's home."""
        if not self.receipts.exists():
            raise NotApplicable("the store has no log with a head")
        if self.tier in {"A", "B"}:
            raise NotApplicable("the head lies in the client's home: tier C")
        self.cut_log_and_rows(slots)
        self._remove_head()


class Default(SqliteFile):
    """The library as it comes: no receipts."""

    title = "inspeximus, defaults"
    config = "no receipts"
    package, module, file = "inspeximus", "inspeximus", "memory.db"
    raw_access = InspeximusRaw

    @classmethod
    def sidecars(cls, place: Place) -> list[Path]:
        """Return the journal and the receipts."""
        return [*super().sidecars(place), place.store / RECEIPTS]

    def options(self, place: Place) -> dict[str, Any]:
        """Return what is switched on."""
        return {}

    def open(self, place: Place) -> None:
        """Open the file."""
        from inspeximus import Inspeximus

        self._memory = Inspeximus(str(self.database(place)), **self.options(place))

    def close(self) -> None:
        """Write what is not written yet; the library has no call to close."""
        self._memory.flush()

    def remember(self, entry: Entry) -> str:
        """Remember words under a key of their own; the source says whether they come from a document."""
        key = hashlib.sha256(f"{entry.owner} {entry.at} {entry.text}".encode()).hexdigest()[:12]
        source = {"doc": "document" if entry.channel == "external" else "user"}
        return str(
            self._memory.remember(
                entry.text, user_id=entry.owner, valid_from=float(entry.at), source=source, key=key, meta=dict(entry.claims)
            )
        )

    def recall(self, owner: str) -> Sequence[Item]:
        """Return an owner's records that are not retired."""
        items = self._memory.items
        return [dict(item) for item in items if item["meta"].get("uid") == owner and item["status"] == "active"]

    def search(self, owner: str, query: str, k: int) -> Sequence[Item]:
        """Recall what fits a query among an owner's records."""
        return [dict(hit) for hit in self._memory.recall(query, k=k, user_id=owner)]

    def recall_anyone(self, query: str) -> Sequence[Item]:
        """Recall without naming a user."""
        return [dict(hit) for hit in self._memory.recall(query)]

    def update(self, id: str, owner: str, text: str) -> None:
        """Remember other words under the same key, which retires the old ones."""
        key = next(item["key"] for item in self._memory.items if item["id"] == id)
        self._memory.remember(text, user_id=owner, key=key)

    def erase(self, id: str, owner: str) -> None:
        """Forget a record, whoever asks."""
        self._memory.forget(ids=[id])

    def compact(self) -> None:
        """Vacuum the file."""
        self._memory.vacuum()


class Receipts(Default):
    """With receipts, but no key to sign them."""

    title = "inspeximus, receipts"
    config = "receipts without a key"
    audit_name = "verify_writes()"
    tiers = ("A", "B", "C")

    def options(self, place: Place) -> dict[str, Any]:
        """Switch receipts on."""
        return {"receipts": True}

    def audit(self) -> Sequence[str]:
        """Verify the receipts against the records."""
        is_intact, problems = self._memory.verify_writes()
        return list(problems) if problems else ([] if is_intact else ["not intact"])


class ReceiptsWithKey(Receipts):
    """With receipts that a key signs."""

    title = "inspeximus, signed receipts"
    config = "receipts with a key"

    def options(self, place: Place) -> dict[str, Any]:
        """Switch receipts on, with a key pair that lies in the client's keys."""
        from inspeximus import new_receipt_keypair

        file = place.keys / "receipts.json"
        if not file.exists():
            file.write_text(json.dumps(new_receipt_keypair()))
        private, public = json.loads(file.read_text())
        return {"receipts": True, "receipt_key": private, "receipt_pubkey": public}
