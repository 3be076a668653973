"""The private verified view of one owner: what this process checked, row by row, and proved complete.

Searches run over the view, never over an engine's index. A hit is fetched again and must carry the seal that the view
expects. A view follows its owner's leaf in the signed owner map: new rows are verified, and count and digest must close.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import repeat
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from witnesstree.errors import SealError
from witnesstree.flow.words import WordIndex
from witnesstree.proof.digest import MODULUS, Leaf, element
from witnesstree.proof.keys import StoreKeys
from witnesstree.proof.seal import Sealer
from witnesstree.rules.policy import is_over
from witnesstree.types.facts import RowFacts, read_facts
from witnesstree.types.record import SealedRecord
from witnesstree.types.tombstone import read_tombstone
from witnesstree.types.trust import MEMORY_KINDS, Kind, Status


class Fault(NamedTuple):
    """One row that was withheld, and why."""

    seq: int
    reason: str


class View:
    """The verified rows of one owner, with their words."""

    def __init__(self, keys: StoreKeys, owner: bytes, *, quarantine: bool) -> None:
        """Make the view of an owner who has no rows."""
        self.owner = owner
        self.sealer = Sealer(keys, owner)
        self.leaf = Leaf(owner, 0, 0, 0, bytes(16), bytes(16))
        self.rows: list[RowFacts | None] = []
        self.words = WordIndex()
        self.marks: set[bytes] = set()
        self.faults: list[Fault] = []
        self.missing = 0
        self.hidden = 0
        self.horizon = -1
        self.checked_root = b""
        self.saved_rows = 0
        self._keys = keys
        self._quarantine = quarantine
        self._place: dict[int, int] = {}
        self._latest: dict[bytes, int] = {}
        self._earlier: dict[bytes, list[int]] = {}
        self._prints: dict[bytes, int] | None = {}
        self._visible: NDArray[np.bool_] = np.zeros(64, np.bool_)
        self._ending: dict[int, RowFacts] = {}
        self._total = 0

    @property
    def withheld(self) -> int:
        """Rows that do not verify or are missing, and memories that they may have changed: none of them is served."""
        return len(self.faults) + self.missing + self.hidden

    def hide_before(self, horizon: int) -> None:
        """Withhold every memory that a bad or missing row at or before ``horizon`` may have changed; see ``flow.quarantine``."""
        self.horizon = horizon
        for document in self._latest.values():
            row = self.rows[document]
            if row is not None and row.seq <= horizon:
                self._visible[document] = False
                self.hidden += 1

    @property
    def visible(self) -> NDArray[np.bool_]:
        """One bool a document: the current, active version of a memory."""
        return self._visible[: len(self.rows)]

    def current(self, memory_id: bytes) -> RowFacts | None:
        """Return the newest version of a memory."""
        document = self._latest.get(memory_id)
        row = None if document is None else self.rows[document]
        return None if row is None or row.seq <= self.horizon else row

    def versions(self, memory_id: bytes) -> list[RowFacts]:
        """Return every version of a memory, oldest first; none if one of them is withheld."""
        newest = self.current(memory_id)
        if newest is None:
            return []
        document = self._latest[memory_id]
        places = [*self._earlier.get(memory_id, ()), document]
        found = [row for row in (self.rows[place] for place in places) if row is not None]
        return found if not self.withheld or len(found) == newest.version else []

    def first_seq(self, facts: RowFacts) -> int:
        """Return the log position at which a memory first came in."""
        for document in self._earlier.get(facts.id, ()):
            first = self.rows[document]
            if first is not None:
                return first.seq
        return facts.seq

    def memories(self) -> Iterator[RowFacts]:
        """Yield the newest version of every memory, in the order in which memories first came in."""
        rows = (self.rows[document] for document in self._latest.values())
        return (row for row in rows if row is not None and row.seq > self.horizon)

    def alive(self) -> Iterator[RowFacts]:
        """Yield every row."""
        return (row for row in self.rows if row is not None)

    def document_of(self, facts: RowFacts) -> int:
        """Return the number of a row in the words index."""
        return self._place[facts.seq]

    def over_at(self, now: int) -> list[int]:
        """Return the documents that are no longer valid, or have expired, at an instant."""
        return [self._place[f.seq] for f in self._ending.values() if is_over(f, now)]

    def with_fingerprint(self, fingerprint: bytes) -> RowFacts | None:
        """Return the row that the same message made before."""
        if self._prints is None:
            rows = enumerate(self.rows)
            self._prints = {row.fingerprint: at for at, row in rows if row is not None and row.kind in MEMORY_KINDS}
        document = self._prints.get(fingerprint)
        return None if document is None else self.rows[document]

    def catch_up(self, rows: Iterable[SealedRecord], leaf: Leaf) -> None:
        """Take in the owner's rows above ``self.leaf.last_seq`` and arrive at ``leaf``.

        Raises:
            SealError: a row is altered or forged, or count and digest do not close (edits edit-I1 to edit-I3).
        """
        erased: list[tuple[int, int]] = []
        known = self._place
        for row in rows:
            try:
                facts, text, payload = self._verify(row)
            except SealError as error:
                if not self._quarantine:
                    raise
                self.faults.append(Fault(row.seq if isinstance(row.seq, int) else -1, error.reason))
                continue
            if facts.seq in known or facts.seq > leaf.last_seq:
                raise SealError(f"row {facts.seq} stands where no row can be", reason="row_forged", seq=facts.seq)
            self._insert(facts, text)
            if facts.kind == Kind.TOMBSTONE:
                marks, gone = read_tombstone(payload)
                self.marks.update(marks)
                erased += gone
        self._erase(erased)
        self._close(leaf)

    def _verify(self, row: SealedRecord) -> tuple[RowFacts, str, bytes]:
        """Check one row's seal and read what the view keeps; the hot loop of a first load."""
        seq, _, content, seal, _ = self.sealer.verify(row)
        return read_facts(seq, content, seal)

    def _insert(self, facts: RowFacts, text: str) -> None:
        document = len(self.rows)
        self.rows.append(facts)
        self._place[facts.seq] = document
        self._total += element(self._keys, facts.seal)
        if document >= len(self._visible):
            self._visible = np.concatenate((self._visible, np.zeros(len(self._visible), np.bool_)))
        if facts.kind not in MEMORY_KINDS:
            self.words.add("")
            return
        self.words.add(text)
        self._index(facts, document)

    def _index(self, facts: RowFacts, document: int) -> None:
        """Make a row the newest version of its memory."""
        before = self._latest.get(facts.id)
        if before is not None:
            self._earlier.setdefault(facts.id, []).append(before)
            self._visible[before] = False
        self._latest[facts.id] = document
        if self._prints is not None:
            self._prints[facts.fingerprint] = document
        self._visible[document] = facts.status == Status.ACTIVE
        if facts.valid_to is not None or facts.expires_at is not None:
            self._ending[facts.seq] = facts

    def _erase(self, ranges: list[tuple[int, int]]) -> None:
        """Drop the rows whose positions a tombstone lists, with their words."""
        documents: list[int] = []
        for first, last in ranges:
            if last - first > len(self._place):
                gone = [seq for seq in self._place if first <= seq <= last]
            else:
                gone = [seq for seq in range(first, last + 1) if seq in self._place]
            documents += [self._place.pop(seq) for seq in gone]
        for document in documents:
            self._drop(document)
        self.words.remove(documents)

    def _drop(self, document: int) -> None:
        facts = self.rows[document]
        if facts is None:
            return
        self._total -= element(self._keys, facts.seal)
        self.rows[document] = None
        self._visible[document] = False
        self._ending.pop(facts.seq, None)
        if self._prints is not None and self._prints.get(facts.fingerprint) == document:
            del self._prints[facts.fingerprint]
        earlier = self._earlier.get(facts.id, [])
        if document in earlier:
            earlier.remove(document)
        elif self._latest.get(facts.id) == document:
            del self._latest[facts.id]
            if earlier:
                self._latest[facts.id] = earlier.pop()
        if not earlier:
            self._earlier.pop(facts.id, None)

    def _close(self, leaf: Leaf) -> None:
        """Compare count and digest with the signed leaf: nothing is missing, nothing is too much."""
        have = len(self._place)
        if have == leaf.count and self._total % MODULUS == leaf.digest:
            self.leaf = leaf
            return
        if self._quarantine and have <= leaf.count:
            self.missing = max(0, leaf.count - have - len(self.faults))
            if self.missing or self.faults:
                self.leaf = leaf
                return
        what, reason = ("rows are missing", "rows_missing") if have < leaf.count else ("a row was replaced", "row_replaced")
        if have > leaf.count:
            what, reason = "there are rows that were never written", "row_forged"
        raise SealError(
            f"this owner's memory is not complete: {what} ({have} found, {leaf.count} signed); run 'wtree audit'",
            reason=reason,
        )

    def dump(self) -> tuple[bytes, bytes]:
        """Return the view as (JSON head, arrays) for a sealed cache file; nothing erased is in it."""
        documents = [i for i, row in enumerate(self.rows) if row is not None]
        rows = [row for row in self.rows if row is not None]
        vocabulary, flat, starts = self.words.dump(documents)
        columns = [list(column) for column in zip(*(row[5:] for row in rows), strict=True)]
        head = {
            "columns": [column[:1] if column.count(column[0]) == len(column) else column for column in columns],
            "vocabulary": vocabulary,
            "marks": [mark.hex() for mark in sorted(self.marks)],
            "leaf": [self.leaf.count, self.leaf.last_seq, f"{self.leaf.digest:x}"],
            "sizes": [len(flat), len(starts)],
        }
        fixed = np.array([(row.seq, row.version) for row in rows], ">u8").T.tobytes()
        fixed += b"".join(b"".join(column) for column in zip(*((row.id, row.seal, row.fingerprint) for row in rows), strict=True))
        return json.dumps(head, separators=(",", ":"), ensure_ascii=False).encode(), flat + starts + fixed

    @classmethod
    def load(cls, keys: StoreKeys, leaf: Leaf, head: bytes, arrays: memoryview, *, quarantine: bool) -> View:
        """Return the view that ``dump`` described, still to be caught up and closed against the signed leaf."""
        view = cls(keys, leaf.owner, quarantine=quarantine)
        about = json.loads(head)
        count, last_seq, digest = about["leaf"]
        view.leaf = Leaf(leaf.owner, count, last_seq, int(digest, 16), bytes(16), leaf.epoch)
        view._total = int(digest, 16)
        flat, starts = about["sizes"]
        view.words = WordIndex.load(about["vocabulary"], arrays[:flat], arrays[flat : flat + starts])
        view.marks = {bytes.fromhex(mark) for mark in about["marks"]}
        columns = _fixed_columns(arrays[flat + starts :])
        columns += [column * len(columns[0]) if len(column) == 1 else column for column in about["columns"]]
        view.rows = list(map(tuple.__new__, repeat(RowFacts), zip(*columns, strict=True)))
        view._take_columns(SimpleNamespace(**dict(zip(RowFacts._fields, columns, strict=True))))
        view.saved_rows = len(view.rows)
        return view

    def _take_columns(self, column: Any) -> None:
        """Index loaded rows, given as one list for each field of ``RowFacts``."""
        count = len(column.seq)
        is_memory = np.isin(column.kind, MEMORY_KINDS)
        documents = np.flatnonzero(is_memory).tolist()
        self._place = dict(zip(column.seq, range(count), strict=True))
        ids = column.id if len(documents) == count else [column.id[document] for document in documents]
        self._latest = dict(zip(ids, documents, strict=True))
        self._prints = None  # made when a message is added
        self._visible = np.zeros(max(64, 2 * count), np.bool_)
        self._visible[:count] = is_memory & (np.array(column.status) == Status.ACTIVE)
        if len(self._latest) < len(documents):
            for document in documents:
                if self._latest[column.id[document]] != document:
                    self._earlier.setdefault(column.id[document], []).append(document)
                    self._visible[document] = False
        for ends in (column.valid_to, column.expires_at):
            if any(end is not None for end in ends):
                rows = [row for row, end in zip(self.rows, ends, strict=True) if row is not None and end is not None]
                self._ending |= {row.seq: row for row in rows if row.kind in MEMORY_KINDS}


def _fixed_columns(data: memoryview) -> list[list[Any]]:
    """Return the columns of fixed width: position, id, version, seal, fingerprint."""
    count = len(data) // (8 + 8 + 16 + 33 + 16)
    seqs, versions = np.frombuffer(data, ">u8", 2 * count).reshape(2, count).tolist()
    rest, at, columns = bytes(data), 16 * count, []
    for width in (16, 33, 16):
        columns.append([rest[i : i + width] for i in range(at, at + width * count, width)])
        at += width * count
    return [seqs, columns[0], versions, columns[1], columns[2]]
