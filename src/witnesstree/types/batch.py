"""What crosses the line between flow and a store: bytes only, all or nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from witnesstree.types.record import SealedRecord


class Head(NamedTuple):
    """The store's only head.

    Args:
        store_id: 16 random bytes, also in the checkpoint's origin.
        note: the signed checkpoint of the log (C2SP).
        frontier: concatenated 32-byte peaks of the log *before* its last entry, which is always a commit entry.
    """

    store_id: bytes
    note: bytes
    frontier: bytes


@dataclass(frozen=True, slots=True)
class Batch:
    """One transaction of one verb: everything in it becomes visible together or not at all.

    Args:
        expected: the head this batch builds on; the store refuses it when its head is another one.
        head: the head afterwards.
        entries: log entries by position, ascending, each position one above the last.
        rows: new rows.
        erased: positions of rows whose bytes must go.
        leaves: owner key → encoded leaf, to be put.
        nodes: owner-map path → node, to be put.
        reset: drop every row, leaf and node first (only a key rotation and a repair do this); the log is kept, except what stands
            at or beyond the batch's first position or below zero, where none was ever signed.
    """

    expected: Head
    head: Head
    entries: Sequence[tuple[int, bytes]]
    rows: Sequence[SealedRecord] = ()
    erased: Sequence[int] = ()
    leaves: Mapping[bytes, bytes] = field(default_factory=dict)
    nodes: Mapping[bytes, bytes] = field(default_factory=dict)
    reset: bool = False
