"""The baseline of "integrity off": the same store, view, ranking, fetch and decoding without the checks of the read path.

Left out: anchor, place of the file, head, row seals. Kept: locks, the read transaction, error translation, the view and its
words index, every row fetched by primary key, strict decoding, hits. It exists here only; the product has no such switch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FunctionType, SimpleNamespace
from typing import Any

from witnesstree import Memory
from witnesstree.flow import recall
from witnesstree.flow.verified import Reading, VerifiedStore
from witnesstree.flow.view import View
from witnesstree.stores import sqlite
from witnesstree.types.facts import RowFacts
from witnesstree.types.record import Record, SealedRecord
from witnesstree.types.wire import decode


class _UncheckedStore(VerifiedStore):
    """A verified store that takes what it reads for what it read before."""

    @contextmanager
    def reading(self) -> Iterator[Reading]:
        with self._lock, _transaction(self.store) as snapshot:
            yield Reading(self, snapshot, self._trusted)


@contextmanager
def _transaction(store: Any) -> Iterator[sqlite.SqliteSnapshot]:
    with store._read_lock, sqlite.translated(store.place):
        reader = store._reader
        reader.execute("BEGIN")
        try:
            yield sqlite.SqliteSnapshot(reader)
        finally:
            if reader.in_transaction:
                reader.execute("ROLLBACK")


def _fetch(reading: Reading, view: View, facts: RowFacts) -> Record:
    row = next(iter(reading.snapshot.rows([facts.seq])), None)
    assert row is not None
    return decode(row.content)


def _twin(function: Any, **replaced: Any) -> Any:
    """Return a copy of a function that sees other globals; the original is not touched and no call is slowed by a patch."""
    names = {**function.__globals__, **replaced}
    twin = FunctionType(function.__code__, names, function.__name__, function.__defaults__, function.__closure__)
    twin.__kwdefaults__ = function.__kwdefaults__
    return twin


class _Fetching(recall.Fetching):
    def _checked(self, rows: Mapping[int, SealedRecord], wanted: Sequence[RowFacts]) -> list[bytes | None]:
        return [rows[facts.seq].content for facts in wanted]


_recall = SimpleNamespace(**vars(recall))
_recall.search = _twin(recall.search, Fetching=_Fetching)
_recall.get = _twin(recall.get, fetch_record=_fetch)


class UncheckedMemory(Memory):
    """A memory over the open store, connections and views of another one, without the checks."""

    search = _twin(Memory.search, recall=_recall)
    get = _twin(Memory.get, recall=_recall)

    def __init__(self, checked: Memory) -> None:
        """Share everything with ``checked``; its views must be loaded and the store must rest."""
        store = object.__new__(_UncheckedStore)
        store.__dict__ = checked._store.__dict__
        super().__init__(store, checked._home, checked._terms)
