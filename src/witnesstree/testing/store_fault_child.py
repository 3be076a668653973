"""What the other processes of the fault contract do with a store that the engine's own snippet opened for them.

A child prints ``ready`` and waits for a line where a test wants several to begin together. What it prints afterwards is its
report. See ``store_fault_contract``.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, ItemsView, Iterable, Iterator
from typing import Final, SupportsIndex, overload

from witnesstree.errors import ConflictError, StoreError
from witnesstree.stores.base import Store
from witnesstree.testing.store_contract import OWNER, batch, head, seen
from witnesstree.types.record import SealedRecord

DIED: Final = 97
"""The exit code of a child that died on purpose."""

MOMENTS: Final = ("before", "rows", "nodes", "appended", "committed")
"""When a child dies: before the append, twice inside it, between append and commit, between commit and close."""


def whole(store: Store) -> int:
    """Return how many batches a store shows, after checking that they are there in full and nothing else is."""
    count = 0
    with store.read() as snapshot:
        count = snapshot.log_positions()
    made = [batch(number) for number in range(count)]
    last = made[-1]
    owner_leaf = sorted(last.leaves.items())
    expected = (
        head(count),
        [entry for each in made for _, entry in each.entries],
        [row for each in made for row in each.rows],
        owner_leaf,
        sorted(last.nodes.items()),
    )
    found = seen(store)
    assert found == expected, f"not the state after {count} batches: {found}"
    return count


def append_next(store: Store, number: int) -> None:
    """Append the batch that leads from head ``number`` to the next one."""
    with store.write() as snapshot:
        snapshot.append(batch(number))


def die(how: str) -> None:
    """End this process at once: no handler, no buffer, no ``finally`` runs."""
    if how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    os._exit(DIED)


class _DyingRows(list[SealedRecord]):
    """Rows whose reader dies after the first one, however it reads them."""

    how = "exit"

    def __iter__(self) -> Iterator[SealedRecord]:
        yield super().__getitem__(0)
        die(self.how)

    @overload
    def __getitem__(self, at: SupportsIndex) -> SealedRecord: ...
    @overload
    def __getitem__(self, at: slice) -> list[SealedRecord]: ...
    def __getitem__(self, at: SupportsIndex | slice) -> SealedRecord | list[SealedRecord]:
        die(self.how)
        raise AssertionError(at)


class _DyingNodes(dict[bytes, bytes]):
    """Nodes whose reader dies after the first one, however it reads them."""

    how = "exit"

    def __iter__(self) -> Iterator[bytes]:
        yield from list(super().__iter__())[:1]
        die(self.how)

    def items(self) -> ItemsView[bytes, bytes]:  # type: ignore[override]  # a view all the same
        """Give the first item, then die."""
        return _DyingItems(self)

    def __getitem__(self, path: bytes) -> bytes:
        die(self.how)
        raise AssertionError(path)


class _DyingItems(ItemsView[bytes, bytes]):
    def __init__(self, nodes: _DyingNodes) -> None:
        self._first = next(iter(dict.items(nodes)))
        self._how = nodes.how

    def __iter__(self) -> Iterator[tuple[bytes, bytes]]:
        yield self._first
        die(self._how)


def append_and_die(store: Store, moment: str, how: str) -> None:
    """Append batch 1 and die at a moment; say so once it is acknowledged."""
    plain = batch(1)
    rows, nodes = _DyingRows(plain.rows), _DyingNodes(plain.nodes)
    rows.how = nodes.how = how
    changes: dict[str, object] = {"rows": rows} if moment == "rows" else {"nodes": nodes} if moment == "nodes" else {}
    if moment == "before":
        die(how)
    with store.write() as snapshot:
        snapshot.append(batch(1, **changes))
        if moment == "appended":
            die(how)
    print("acknowledged", flush=True)
    die(how)


def append_forever(store: Store) -> None:
    """Append batch after batch and acknowledge each, until killed."""
    for number in range(1, 1_000_000):
        append_next(store, number)
        print(number, flush=True)


def append_some(store: Store, count: int) -> None:
    """Append batches beside other processes, each on the head just read; after a conflict read again and retry."""
    print("ready", flush=True)
    sys.stdin.readline()
    for _ in range(count):
        while True:
            with store.read() as snapshot:
                number = snapshot.log_positions()
            try:
                append_next(store, number)
                break
            except ConflictError:
                continue
        print(number, flush=True)
    store.close()


def hold_lock(store: Store) -> None:
    """Stand inside a write block until a line comes, then leave it without an append."""
    with store.write():
        print("ready", flush=True)
        sys.stdin.readline()
    store.close()


def fill_and_recover(store: Store, fill_disk: Callable[[], None], free_disk: Callable[[], None]) -> None:
    """Append until the disk is full, read, make room, and append again."""
    before = whole(store)
    fill_disk()
    _refused(store, before, [SealedRecord(before, OWNER, bytes(8_000_000), bytes(33))])
    assert whole(store) == before, "reads go on, and nothing is half there"
    free_disk()
    append_next(store, before)
    fill_disk()
    states = [seen(store)]
    for number in range(before + 1, before + 1000):
        row = SealedRecord(number, OWNER, bytes(10_000), bytes(33))
        try:
            with store.write() as snapshot:
                snapshot.append(batch(number, rows=[row]))
        except StoreError:
            break
        states.append(seen(store))
    else:
        raise AssertionError("the disk never filled up")
    assert seen(store) == states[-1], "what was acknowledged is there, and no more"
    free_disk()
    append_next(store, before + len(states))
    print(f"recovered {before + len(states) + 1}", flush=True)
    store.close()


def read_and_be_refused(store: Store) -> None:
    """Read everything at a place that can't be written; a write is a StoreError, twice, and reads go on."""
    assert store.read_only, "a store that can't be written says so"
    before = whole(store)
    for _ in range(2):
        _refused(store, before, batch(before).rows)
        assert whole(store) == before
    store.close()
    print(f"read {before}", flush=True)


def _refused(store: Store, number: int, rows: Iterable[SealedRecord]) -> None:
    try:
        with store.write() as snapshot:
            snapshot.append(batch(number, rows=list(rows)))
    except StoreError:
        return
    raise AssertionError("StoreError was expected")
