"""The contract of a store: it keeps bytes, in order, under a compare-and-append log. It holds no rule, no key, no policy.

A store may be wrong, lie or be edited: whatever it returns is verified by ``flow``. So a backend stays small. What it must
get right is durability and atomicity; ``witnesstree.testing.store_contract`` checks that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from witnesstree.errors import LogError
from witnesstree.types.batch import Batch, Head
from witnesstree.types.record import SealedRecord


class Snapshot(Protocol):
    """One consistent state of the store; nothing in it changes while it is open."""

    def head(self) -> Head:
        """Return the head.

        Raises:
            LogError: there is none (reason ``head_missing``).
        """

    def entries(self, start: int, stop: int) -> Iterator[bytes]:
        """Yield the log entries at positions ``start`` to ``stop`` (excluded) that exist, ascending."""

    def rows(self, seqs: Sequence[int]) -> Iterator[SealedRecord]:
        """Yield the rows at these positions that exist, in any order."""

    def owner_rows(self, owner: bytes, after: int = -1) -> Iterator[SealedRecord]:
        """Yield the owner's rows at positions above ``after``, ascending."""

    def all_rows(self) -> Iterator[SealedRecord]:
        """Yield every row, ascending."""

    def leaf(self, owner: bytes) -> bytes | None:
        """Return the encoded leaf of an owner."""

    def leaves(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield every (owner key, encoded leaf)."""

    def node(self, path: bytes) -> bytes | None:
        """Return one node of the owner map."""

    def nodes(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield every (path, node)."""

    def log_positions(self) -> int:
        """Return the number of log entries that are stored."""


class WriteSnapshot(Snapshot, Protocol):
    """A snapshot that one batch may be appended to."""

    def append(self, batch: Batch) -> None:
        """Apply the batch; it is durable once the surrounding ``write()`` block ends without an error.

        Raises:
            ConflictError: the head is no longer ``batch.expected``; nothing is written, read again and retry.
            LogError: a log entry or row stands where the batch's go (reason ``place_taken``); nothing is overwritten.
            StoreError: full, read-only or unreachable; nothing is written.
        """


class Store(Protocol):
    """A place where one memory rests."""

    @property
    def place(self) -> str:
        """The normalised path or URL, under which the state folder pins the store's id."""

    @property
    def read_only(self) -> bool:
        """Whether nothing can be written here."""

    @property
    def is_backup(self) -> bool:
        """Whether this place holds a backup copy, which is read-only and older than its original."""

    def read(self) -> AbstractContextManager[Snapshot]:
        """Open a consistent snapshot. Checks that the place still holds the same file or server object.

        Raises:
            LogError: the place was replaced or removed (reason ``store_replaced``).
            IndexTamperError: the schema is not the expected one.
            StoreError: unreachable.
        """

    def write(self) -> AbstractContextManager[WriteSnapshot]:
        """Open a snapshot for one append; commits at the end of the block, rolls back on any error.

        Raises:
            StoreError: another writer did not finish within ``BUSY_TIMEOUT_S`` (reason ``busy``), read-only, full.
        """

    def scrub(self) -> bool:
        """Overwrite or cut away the bytes of erased rows; return False while a reader still needs them."""

    def backup(self, target: str) -> None:
        """Write a consistent, read-only copy to ``target``, which must not exist."""

    def problems(self, *, deep: bool) -> Iterable[str]:
        """Yield what is wrong with derived structures (schema, indexes, file modes); ``deep`` reads every page."""

    def rebuild(self) -> None:
        """Rebuild derived structures (indexes) from the rows."""

    def close(self) -> None:
        """Release everything; closing twice is allowed."""


def place_taken(place: str) -> LogError:
    """Return the error of an append that finds a log entry or row where nothing was signed (edit-I7)."""
    return LogError(
        f"{place}: something was planted where the next log entry goes; run 'wtree audit', then 'wtree repair'",
        reason="place_taken",
    )
