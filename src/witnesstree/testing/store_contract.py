"""The contract of a store, as tests to inherit: whoever writes a backend runs exactly these on it.

    class TestMyStore(StoreContract):
        def create(self, genesis): ...      # a new store that holds the batch; return it open
        def reopen(self, store): ...        # the same place through a new object (or the same, if it can't)

Bytes in are bytes out; a batch is all or nothing; a snapshot stands still; the head decides who may append.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace

from witnesstree.errors import ConflictError, LogError
from witnesstree.stores.base import Snapshot, Store
from witnesstree.types.batch import Batch, Head
from witnesstree.types.record import SealedRecord

STORE_ID = bytes(range(16))
OWNER, OTHER = b"o" * 16, b"p" * 16


def head(number: int) -> Head:
    """Return a head that stands for the state after ``number`` batches (a store does not look inside)."""
    return Head(STORE_ID, f"note {number}".encode(), bytes(32 * (number % 3)))


def batch(number: int, **changes: object) -> Batch:
    """Return the batch that leads from head ``number`` to the next one: one entry and one row at position ``number``."""
    row = SealedRecord(number, OWNER if number % 2 else OTHER, f"content {number}".encode(), bytes([number % 256]) * 33)
    made: dict[str, object] = {
        "expected": head(number),
        "head": head(number + 1),
        "entries": [(number, f"entry {number}".encode())],
        "rows": [row],
        "leaves": {OWNER: f"leaf {number}".encode()},
        "nodes": {b"": f"node {number}".encode(), b"\x01": b"deep"},
    }
    return Batch(**(made | changes))  # type: ignore[arg-type]


def everything(snapshot: Snapshot) -> tuple[object, ...]:
    """Return all that a snapshot shows, for comparison."""
    count = snapshot.log_positions()
    return (
        snapshot.head(),
        list(snapshot.entries(0, count + 5)),
        list(snapshot.all_rows()),
        list(snapshot.leaves()),
        list(snapshot.nodes()),
    )


def seen(store: Store) -> tuple[object, ...]:
    """Return all that a store shows now."""
    with store.read() as snapshot:
        return everything(snapshot)


class StoreContract:
    """Inherit, say how to create and reopen, and let pytest collect."""

    def create(self, genesis: Batch) -> Store:
        """Return a new open store that holds exactly ``genesis``."""
        raise NotImplementedError

    def reopen(self, store: Store) -> Store:
        """Return the same place through a new object, after closing the old one."""
        raise NotImplementedError

    def another(self, store: Store) -> Store:
        """Return a second object on the same place, the first one staying open."""
        raise NotImplementedError

    def _append(self, store: Store, made: Batch) -> None:
        with store.write() as snapshot:
            snapshot.append(made)

    def test_new_store_shows_exactly_its_first_batch(self) -> None:
        """What was put in is all there is."""
        store = self.create(batch(0))
        assert seen(store) == (
            head(1),
            [b"entry 0"],
            [SealedRecord(0, OTHER, b"content 0", bytes(33))],
            [(OWNER, b"leaf 0")],
            [(b"", b"node 0"), (b"\x01", b"deep")],
        )
        store.close()

    def test_appended_batch_survives_reopening(self) -> None:
        """An acknowledged batch is durable."""
        store = self.create(batch(0))
        self._append(store, batch(1))
        before = seen(store)
        store = self.reopen(store)
        assert seen(store) == before
        store.close()

    def test_batch_on_a_stale_head_is_refused_whole(self) -> None:
        """Compare and append: the second of two writers on one head gets a conflict and leaves nothing."""
        store = self.create(batch(0))
        self._append(store, batch(1))
        before = seen(store)
        _raises(ConflictError, lambda: self._append(store, batch(1, head=head(9))))
        assert seen(store) == before
        store.close()

    def test_error_inside_the_write_block_leaves_nothing(self) -> None:
        """All or nothing, also when the caller fails after the append."""
        store = self.create(batch(0))
        before = seen(store)

        def failing() -> None:
            with store.write() as snapshot:
                snapshot.append(batch(1))
                raise ZeroDivisionError

        _raises(ZeroDivisionError, failing)
        assert seen(store) == before
        self._append(store, batch(1))
        assert seen(store)[0] == head(2)
        store.close()

    def test_reads_by_position_owner_and_range_are_exact(self) -> None:
        """Positions that do not exist are left out; owners never mix; order is ascending."""
        store = self.create(batch(0))
        for number in range(1, 12):
            self._append(store, batch(number))
        with store.read() as snapshot:
            assert [row.seq for row in snapshot.owner_rows(OWNER)] == [1, 3, 5, 7, 9, 11]
            assert [row.seq for row in snapshot.owner_rows(OWNER, after=5)] == [7, 9, 11]
            assert [row.seq for row in snapshot.owner_rows(b"nobody")] == []
            assert sorted(row.seq for row in snapshot.rows([3, 99, 4])) == [3, 4]
            assert list(snapshot.entries(9, 14)) == [b"entry 9", b"entry 10", b"entry 11"]
            assert snapshot.leaf(OWNER) == b"leaf 11" and snapshot.leaf(OTHER) is None
            assert snapshot.node(b"") == b"node 11" and snapshot.node(b"\x02") is None
            assert snapshot.log_positions() == 12
        store.close()

    def test_every_byte_value_and_size_comes_back(self) -> None:
        """Bytes in are bytes out: NUL, 0xff, a megabyte, nothing at all."""
        store = self.create(batch(0))
        content = bytes(range(256)) * 4096
        row = SealedRecord(1, bytes(16), content, b"\x00\xff" * 16)
        self._append(store, batch(1, rows=[row], entries=[(1, b"\x00\xfe\x00")], nodes={b"\x00": b""}))
        store = self.reopen(store)
        with store.read() as snapshot:
            assert next(iter(snapshot.rows([1]))) == row
            assert list(snapshot.entries(1, 2)) == [b"\x00\xfe\x00"]
            assert snapshot.node(b"\x00") == b""
        store.close()

    def test_erased_rows_are_gone_and_entries_stay(self) -> None:
        """Erasure takes rows, never log entries."""
        store = self.create(batch(0))
        self._append(store, batch(1))
        self._append(store, batch(2, erased=[1]))
        with store.read() as snapshot:
            assert [row.seq for row in snapshot.all_rows()] == [0, 2]
            assert snapshot.log_positions() == 3
        assert store.scrub()
        store.close()

    def test_reset_replaces_rows_and_map_and_keeps_the_log(self) -> None:
        """A rotation writes everything anew in one transaction."""
        store = self.create(batch(0))
        self._append(store, batch(1))
        self._append(store, batch(2, reset=True, leaves={OTHER: b"x"}, nodes={b"": b"y"}))
        with store.read() as snapshot:
            assert [row.seq for row in snapshot.all_rows()] == [2]
            assert list(snapshot.leaves()) == [(OTHER, b"x")] and list(snapshot.nodes()) == [(b"", b"y")]
            assert snapshot.log_positions() == 3
        store.close()

    def test_append_never_overwrites_what_stands_where_nothing_was_signed(self) -> None:
        """A taken position, of an entry or of a row, is refused, and a reset clears it away."""
        store = self.create(batch(0))
        stray = (2, b"stray")
        self._append(store, replace(batch(1), entries=[*batch(1).entries, stray]))
        before = seen(store)
        _raises(LogError, lambda: self._append(store, batch(2)))
        _raises(LogError, lambda: self._append(store, replace(batch(2), entries=[(9, b"x")], rows=batch(1).rows)))
        assert seen(store) == before
        self._append(store, batch(2, reset=True))
        with store.read() as snapshot:
            assert snapshot.log_positions() == 3 and list(snapshot.entries(2, 3)) != [stray[1]]
        store.close()

    def test_snapshot_stands_still_while_another_object_writes(self) -> None:
        """A reader sees one state from beginning to end."""
        store = self.create(batch(0))
        other = self.another(store)
        with store.read() as snapshot:
            before = everything(snapshot)
            self._append(other, batch(1))
            assert everything(snapshot) == before
        assert seen(store)[0] == head(2)
        other.close()
        store.close()

    def test_two_objects_compete_and_exactly_one_wins(self) -> None:
        """Writers on one head: one success, one conflict, no mixture."""
        store = self.create(batch(0))
        other = self.another(store)
        self._append(other, batch(1))
        _raises(ConflictError, lambda: self._append(store, batch(1, head=head(50))))
        assert seen(store) == seen(other)
        other.close()
        store.close()

    def test_many_threads_append_through_two_objects_without_loss(self) -> None:
        """Every append lands once, in one order."""
        store = self.create(batch(0))
        other = self.another(store)
        failures: list[BaseException] = []

        def work(target: Store) -> None:
            for _ in range(10):
                while True:
                    try:
                        with target.write() as snapshot:
                            snapshot.append(batch(snapshot.log_positions()))
                        break
                    except ConflictError:
                        continue
                    except BaseException as error:
                        failures.append(error)
                        return

        threads = [threading.Thread(target=work, args=(target,)) for target in (store, other) * 3]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures
        with store.read() as snapshot:
            assert snapshot.log_positions() == 61
            assert [row.seq for row in snapshot.all_rows()] == list(range(61))
        other.close()
        store.close()

    def test_closing_twice_is_allowed(self) -> None:
        """Nothing happens the second time."""
        store = self.create(batch(0))
        store.close()
        store.close()


def _raises(kind: type[BaseException], run: Callable[[], None]) -> None:
    try:
        run()
    except kind:
        return
    raise AssertionError(f"{kind.__name__} was expected")
