"""The private verified view of one owner: what this process checked, row by row, and proved complete.

Searches run over the view, never over an engine's index. A hit is fetched again and must carry the seal that the view
expects. A view follows its owner's leaf in the signed owner map: new rows are verified, and count and digest must close.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from witnesstree.errors import SealError
from witnesstree.flow.columns import EARLIER, GONE, LATEST, OTHER, Columns
from witnesstree.flow.vectors import Vectors
from witnesstree.flow.words import WordIndex
from witnesstree.proof.digest import MODULUS, Leaf, element
from witnesstree.proof.keys import StoreKeys
from witnesstree.proof.seal import Sealer
from witnesstree.rules.policy import is_over
from witnesstree.rules.terms import READING, date_words, marks_of, words_of
from witnesstree.types.facts import RowFacts, RowParts, read_parts
from witnesstree.types.record import SealedRecord
from witnesstree.types.tombstone import read_tombstone
from witnesstree.types.trust import MEMORY_KINDS, Kind, Status
from witnesstree.types.wire import ABSENT


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
        self.columns = Columns()
        self.words = WordIndex()
        self.vectors = Vectors()
        self.marks: set[bytes] = set()
        self.faults: list[Fault] = []
        self.missing = 0
        self.hidden = 0
        self.horizon = -1
        self.checked_root = b""
        self.saved_rows = 0
        self._keys = keys
        self._quarantine = quarantine
        self._have = 0
        self._last_seq = -1
        self._latest: dict[bytes, int] | None = {}
        self._prints: dict[bytes, int] | None = {}
        self._earlier: dict[bytes, list[int]] = {}
        self._visible: NDArray[np.bool_] = np.zeros(64, np.bool_)
        self._ending: set[int] = set()
        self._aliases: set[int] = set()
        self._total = 0

    @property
    def count(self) -> int:
        """Number of rows that are here."""
        return self._have

    @property
    def withheld(self) -> int:
        """Rows that do not verify or are missing, and memories that they may have changed: none of them is served."""
        return len(self.faults) + self.missing + self.hidden

    def hide_before(self, horizon: int) -> None:
        """Withhold every memory that a bad or missing row at or before ``horizon`` may have changed; see ``flow.quarantine``."""
        self.horizon = horizon
        hidden = (self.columns["state"] == LATEST) & (self.columns["seq"] <= horizon)
        self._visible[: self.columns.count][hidden] = False
        self.hidden = int(np.count_nonzero(hidden))

    @property
    def visible(self) -> NDArray[np.bool_]:
        """One bool a document: the current, active version of a memory."""
        return self._visible[: self.columns.count]

    @property
    def newest(self) -> NDArray[np.bool_]:
        """One bool a document: the current version of a memory, whatever its status."""
        newest: NDArray[np.bool_] = self.columns["state"] == LATEST
        return newest if self.horizon < 0 else newest & (self.columns["seq"] > self.horizon)

    def facts(self, document: int) -> RowFacts:
        """Return what is known of one document."""
        return self.columns.facts(document)

    def current(self, memory_id: bytes) -> RowFacts | None:
        """Return the newest version of a memory."""
        document = self._documents_by_id().get(memory_id)
        if document is None:
            return None
        facts = self.facts(document)
        return None if facts.seq <= self.horizon else facts

    def versions(self, memory_id: bytes) -> list[RowFacts]:
        """Return every version of a memory, oldest first; none if one of them is withheld."""
        newest = self.current(memory_id)
        if newest is None:
            return []
        found = [*map(self.facts, self._earlier.get(memory_id, ())), newest]
        return found if not self.withheld or len(found) == newest.version else []

    def memories(self) -> Iterator[RowFacts]:
        """Yield the newest version of every memory, in the order in which memories first came in."""
        return map(self.facts, map(int, self.in_order(self.newest)))

    def in_order(self, chosen: NDArray[np.bool_], after: int = -1) -> NDArray[np.int64]:
        """Return chosen documents in the order in which their memories first came in, those above ``after`` only.

        Args:
            chosen: one bool a document.
            after: log position at which a memory first came in.
        """
        documents = np.flatnonzero(chosen)
        if after < 0 and not self._earlier:
            return documents
        first = self.columns["first_seq"][documents]
        documents, first = documents[first > after], first[first > after]
        return documents if not self._earlier else documents[np.argsort(first, kind="stable")]

    def alive(self, kind: Kind) -> Iterator[RowFacts]:
        """Yield every row of a kind."""
        here = (self.columns["kind"] == kind) & (self.columns["state"] != GONE)
        return map(self.facts, np.flatnonzero(here).tolist())

    def over_at(self, now: int) -> list[int]:
        """Return the documents that are no longer valid, or have expired, at an instant."""
        return [document for document in self._ending if is_over(self.facts(document), now)]

    def aliases(self) -> list[RowFacts]:
        """Return the current, active aliases, newest first."""
        return [self.facts(document) for document in sorted(self._aliases, reverse=True) if self.visible[document]]

    def with_fingerprint(self, fingerprint: bytes) -> RowFacts | None:
        """Return the row that the same message made before."""
        if self._prints is None:
            documents = self._memory_documents()
            self._prints = dict(zip(self.columns.raws("fingerprint", documents), documents.tolist(), strict=True))
        document = self._prints.get(fingerprint)
        return None if document is None else self.facts(document)

    def _memory_documents(self) -> NDArray[np.int64]:
        state = self.columns["state"]
        return np.flatnonzero((state == EARLIER) | (state == LATEST))

    def _documents_by_id(self) -> dict[bytes, int]:
        if self._latest is None:
            documents = np.flatnonzero(self.columns["state"] == LATEST)
            self._latest = dict(zip(self.columns.raws("id", documents), documents.tolist(), strict=True))
        return self._latest

    def catch_up(self, rows: Iterable[SealedRecord], leaf: Leaf) -> None:
        """Take in the owner's rows above ``self.leaf.last_seq`` and arrive at ``leaf``.

        Raises:
            SealError: a row is altered or forged, or count and digest do not close (edits edit-I1 to edit-I3).
        """
        erased: list[tuple[int, int]] = []
        for row in rows:
            try:
                inner = self.sealer.prove(row)
            except SealError as error:
                if not self._quarantine:
                    raise
                self.faults.append(Fault(row.seq if isinstance(row.seq, int) else -1, error.reason))
                continue
            seq = row.seq
            if not self._last_seq < seq <= leaf.last_seq:
                raise SealError(f"row {seq} stands where no row can be", reason="row_forged", seq=seq)
            parts = read_parts(seq, row.content)
            self._insert(row, parts, inner)
            if parts.fixed[1] == Kind.TOMBSTONE:
                marks, gone = read_tombstone(parts.payload)
                self.marks.update(marks)
                erased += gone
        self._erase(erased)
        self._close(leaf)

    def _insert(self, row: SealedRecord, parts: RowParts, inner: bytes) -> None:
        seq, _, _, seal, vector = row
        fixed = parts.fixed
        self._last_seq = seq
        self._have += 1
        self._total += element(self._keys, seal)
        if self.columns.count >= len(self._visible):
            self._visible = np.concatenate((self._visible, np.zeros(len(self._visible), np.bool_)))
        if fixed[1] not in MEMORY_KINDS:
            self.columns.append(fixed, (seal, inner), seq=seq, first_seq=seq, names=parts[3:], marks=0, state=OTHER)
            self.words.add(())
            self.vectors.add(b"")
            return
        first_seq, identity, latest = seq, fixed[8:24], self._documents_by_id()
        before = latest.get(identity)
        if before is not None:
            first_seq = int(self.columns["first_seq"][before])
            self._earlier.setdefault(identity, []).append(before)
            self.columns.set_state(before, EARLIER)
            self._visible[before] = False
        words = words_of(parts.text)
        marks = marks_of(parts.text, words)
        document = self.columns.append(
            fixed, (seal, inner), seq=seq, first_seq=first_seq, names=parts[3:], marks=marks, state=LATEST
        )
        latest[identity] = document
        said_at = int.from_bytes(fixed[68:76], "big", signed=True)
        self.words.add([*date_words(said_at), *words_of(parts.name), *words] if parts.name or said_at != ABSENT else words)
        self.vectors.add(vector)
        if self._prints is not None:
            self._prints[fixed[40:56]] = document
        self._visible[document] = fixed[5] == Status.ACTIVE
        if fixed[84:100] != _NEVER:
            self._ending.add(document)
        if fixed[1] == Kind.ALIAS:
            self._aliases.add(document)

    def _erase(self, ranges: list[tuple[int, int]]) -> None:
        """Drop the rows whose positions a tombstone lists, with their words."""
        if not ranges:
            return
        seqs = self.columns["seq"]
        gone = np.zeros(len(seqs), np.bool_)
        for first, last in ranges:
            gone[np.searchsorted(seqs, first) : np.searchsorted(seqs, last, side="right")] = True
        documents = np.flatnonzero(gone & (self.columns["state"] != GONE)).tolist()
        for document in documents:
            self._drop(document)
        self.words.remove(documents)
        self.vectors.remove(documents)

    def _drop(self, document: int) -> None:
        facts = self.facts(document)
        self._total -= element(self._keys, facts.seal)
        self._have -= 1
        self.columns.set_state(document, GONE)
        self._visible[document] = False
        self._ending.discard(document)
        self._aliases.discard(document)
        if self._prints is not None and self._prints.get(facts.fingerprint) == document:
            del self._prints[facts.fingerprint]
        latest, earlier = self._documents_by_id(), self._earlier.get(facts.id, [])
        if document in earlier:
            earlier.remove(document)
        elif latest.get(facts.id) == document:
            del latest[facts.id]
            if earlier:
                latest[facts.id] = earlier.pop()
                self.columns.set_state(latest[facts.id], LATEST)
        if not earlier:
            self._earlier.pop(facts.id, None)

    def _close(self, leaf: Leaf) -> None:
        """Compare count and digest with the signed leaf: nothing is missing, nothing is too much."""
        have = self._have
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
        names, table = self.columns.dump()
        here = np.flatnonzero(self.columns["state"] != GONE)
        vocabulary, flat, starts = self.words.dump(here)
        about_vectors, vectors = self.vectors.dump(here)
        head = {
            "reading": READING,
            "names": names,
            "vocabulary": vocabulary,
            "marks": [mark.hex() for mark in sorted(self.marks)],
            "leaf": [self.leaf.count, self.leaf.last_seq, f"{self.leaf.digest:x}"],
            "vectors": about_vectors,
            "sizes": [len(flat), len(starts), len(table)],
        }
        return json.dumps(head, separators=(",", ":"), ensure_ascii=False).encode(), flat + starts + table + vectors

    @classmethod
    def load(cls, keys: StoreKeys, leaf: Leaf, head: bytes, arrays: memoryview, *, quarantine: bool) -> View:
        """Return the view that ``dump`` described, still to be caught up and closed against the signed leaf.

        Raises:
            KeyError, ValueError, TypeError, IndexError: another version of this program wrote it.
        """
        view = cls(keys, leaf.owner, quarantine=quarantine)
        about = json.loads(head)
        if about["reading"] != READING:
            raise ValueError(f"terms of reading {about['reading']}, not {READING}")
        count, last_seq, digest = about["leaf"]
        view.leaf = Leaf(leaf.owner, count, last_seq, int(digest, 16), bytes(16), leaf.epoch)
        view._total = int(digest, 16)
        view._last_seq = last_seq
        bounds = [0, *accumulate(about["sizes"]), len(arrays)]
        flat, starts, table, vectors = (arrays[first:last] for first, last in pairwise(bounds))
        view.words = WordIndex.load(about["vocabulary"], flat, starts)
        view.marks = {bytes.fromhex(mark) for mark in about["marks"]}
        view.columns = Columns.load(about["names"], table)
        view.vectors = Vectors.load(about["vectors"], vectors)
        view._index_loaded()
        return view

    def _index_loaded(self) -> None:
        """Work out what follows from loaded columns; what only a write or a lookup by id needs is made then."""
        columns = self.columns
        self._have = self.saved_rows = columns.count
        self._latest = self._prints = None
        state = columns["state"]
        self._visible = np.zeros(max(64, 2 * columns.count), np.bool_)
        self._visible[: columns.count] = (state == LATEST) & (columns["status"] == Status.ACTIVE)
        earlier = np.flatnonzero(state == EARLIER)
        for identity, document in zip(columns.raws("id", earlier), earlier.tolist(), strict=True):
            self._earlier.setdefault(identity, []).append(document)
        ends = (columns["valid_to"] != ABSENT) | (columns["expires_at"] != ABSENT)
        self._ending = set(np.flatnonzero(ends & (state != OTHER)).tolist())
        self._aliases = set(np.flatnonzero(columns["kind"] == Kind.ALIAS).tolist())


_NEVER = ABSENT.to_bytes(8, "big", signed=True) * 2
