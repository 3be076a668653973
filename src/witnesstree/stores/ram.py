"""The reference store: plain dictionaries in this process. Every other engine is compared with it."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from witnesstree.errors import ConflictError, LogError, UnsupportedError
from witnesstree.stores.base import place_taken
from witnesstree.types.batch import Batch, Head
from witnesstree.types.record import SealedRecord


@dataclass
class RamState:
    """The bytes of a store. Tests edit it as an attacker would."""

    head: Head | None = None
    log: dict[int, bytes] = field(default_factory=dict)
    rows: dict[int, SealedRecord] = field(default_factory=dict)
    leaves: dict[bytes, bytes] = field(default_factory=dict)
    nodes: dict[bytes, bytes] = field(default_factory=dict)

    def copy(self) -> RamState:
        """Return an independent copy (the values are immutable)."""
        return RamState(self.head, dict(self.log), dict(self.rows), dict(self.leaves), dict(self.nodes))


class RamSnapshot:
    """Reads, and at most one append, on one state."""

    def __init__(self, state: RamState) -> None:
        """Look at ``state``."""
        self._state = state

    def head(self) -> Head:
        """Return the head."""
        if self._state.head is None:
            raise LogError("the store has no head", reason="head_missing")
        return self._state.head

    def entries(self, start: int, stop: int) -> Iterator[bytes]:
        """Yield log entries ascending."""
        return (self._state.log[i] for i in range(start, stop) if i in self._state.log)

    def rows(self, seqs: Sequence[int]) -> Iterator[SealedRecord]:
        """Yield the rows at these positions."""
        return (self._state.rows[i] for i in seqs if i in self._state.rows)

    def owner_rows(self, owner: bytes, after: int = -1) -> Iterator[SealedRecord]:
        """Yield the owner's rows ascending."""
        return (row for seq, row in sorted(self._state.rows.items()) if row.owner == owner and seq > after)

    def all_rows(self) -> Iterator[SealedRecord]:
        """Yield every row ascending."""
        return (row for _, row in sorted(self._state.rows.items()))

    def leaf(self, owner: bytes) -> bytes | None:
        """Return an owner's leaf."""
        return self._state.leaves.get(owner)

    def leaves(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield every leaf."""
        return iter(sorted(self._state.leaves.items()))

    def node(self, path: bytes) -> bytes | None:
        """Return one node of the owner map."""
        return self._state.nodes.get(path)

    def nodes(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield every node."""
        return iter(sorted(self._state.nodes.items()))

    def log_positions(self) -> int:
        """Return the number of stored log entries."""
        return len(self._state.log)

    def append(self, batch: Batch) -> None:
        """Apply one batch to the state."""
        state = self._state
        if state.head != batch.expected:
            raise ConflictError("the store's head has moved on; read again and retry", reason="head_moved")
        if batch.reset:
            first = batch.entries[0][0]
            state.log = {seq: entry for seq, entry in state.log.items() if 0 <= seq < first}
            state.rows.clear()
            state.leaves.clear()
            state.nodes.clear()
        for seq in batch.erased:
            state.rows.pop(seq, None)
        if any(seq in state.log for seq, _ in batch.entries) or any(row.seq in state.rows for row in batch.rows):
            raise place_taken("this memory")
        state.log.update(batch.entries)
        state.rows.update({row.seq: row for row in batch.rows})
        state.leaves.update(batch.leaves)
        state.nodes.update(batch.nodes)
        state.head = batch.head


class RamStore:
    """A store in memory. One writer at a time; a failed write leaves nothing behind."""

    read_only = False
    is_backup = False

    def __init__(self, place: str, genesis: Batch) -> None:
        """Make a store that holds exactly its first batch."""
        self.place = place
        self.state = RamState(head=genesis.expected)
        RamSnapshot(self.state).append(genesis)
        self._lock = threading.RLock()

    @contextmanager
    def read(self) -> Iterator[RamSnapshot]:
        """Open a snapshot."""
        yield RamSnapshot(self.state)

    @contextmanager
    def write(self) -> Iterator[RamSnapshot]:
        """Open a snapshot for one append on a copy that replaces the state only on success."""
        with self._lock:
            draft = self.state.copy()
            yield RamSnapshot(draft)
            self.state = draft

    def scrub(self) -> bool:
        """Nothing rests on a disk."""
        return True

    def backup(self, target: str) -> None:
        """A store in memory has no file to copy."""
        raise UnsupportedError(f"a store in memory can't be copied to {target}; use 'export'")

    def problems(self, *, deep: bool) -> Iterator[str]:
        """Nothing is derived here."""
        return iter(())

    def rebuild(self) -> None:
        """Nothing is derived here."""

    def close(self) -> None:
        """Nothing to release."""
