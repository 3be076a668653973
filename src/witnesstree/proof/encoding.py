"""Bytes of a log entry and the commitments in it (``docs/spec/log.md``).

An entry names nobody: actor, target, owner, before and after appear as salted SHA-256 commitments. The salt lives in the
row that the entry speaks of; when the row is erased, the entry can be tied to nothing any more, and the log still verifies.
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass
from typing import Final

from witnesstree.errors import LogError
from witnesstree.types.trust import Op

ENTRY_FORMAT: Final = 1
ENTRY: Final = struct.Struct(">BQqB32s32s32s32s32s")
ZERO: Final = bytes(32)
OP_AT: Final = 17
"""Where an encoded entry holds its operation."""

_sha256 = hashlib.sha256


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the log: ``seq`` (position), ``at`` (microseconds UTC), ``op`` and five 32-byte commitments.

    In a ``COMMIT`` entry ``before`` and ``after`` are the roots of the owner map before and after the transaction.
    """

    seq: int
    at: int
    op: Op
    actor: bytes = ZERO
    target: bytes = ZERO
    owner: bytes = ZERO
    before: bytes = ZERO
    after: bytes = ZERO

    def encode(self) -> bytes:
        """Return the entry's 178 bytes."""
        return ENTRY.pack(ENTRY_FORMAT, self.seq, self.at, self.op, self.actor, self.target, self.owner, self.before, self.after)


def decode_entry(data: bytes) -> Entry:
    """Return the entry that ``data`` encodes.

    Raises:
        LogError: not exactly one entry of a known format.
    """
    try:
        form, seq, at, op, actor, target, owner, before, after = ENTRY.unpack(data)
        if form != ENTRY_FORMAT:
            raise ValueError("format")
        return Entry(seq, at, Op(op), actor, target, owner, before, after)
    except (struct.error, ValueError, TypeError):
        raise LogError("a log entry is not of a known format", reason="log_undecodable") from None


def commit_to(salt: bytes, label: bytes, value: bytes) -> bytes:
    """Return SHA-256(salt ‖ label ‖ value): a hiding commitment as long as the 16-byte salt is secret."""
    return _sha256(salt + label + value).digest()


def commit_entry(seq: int, at: int, *, before: bytes, after: bytes) -> bytes:
    """Return the encoded entry that ends a transaction: the roots of the owner map before and after it."""
    return ENTRY.pack(ENTRY_FORMAT, seq, at, Op.COMMIT, ZERO, ZERO, ZERO, before, after)


def row_entry(
    seq: int,
    op: Op,
    *,
    at: int,
    salt: bytes,
    actor: str,
    target: bytes,
    owner: bytes,
    before: bytes | None,
    content: bytes,
) -> bytes:
    """Return the encoded log entry of a row.

    Args:
        seq: log position.
        op: what happened.
        at: microseconds UTC.
        salt: the row's 16-byte salt.
        actor: who did it.
        target: 16-byte id ‖ 4-byte big-endian version.
        owner: 16-byte owner key.
        before: content of the version that this one follows, if any.
        content: content of this row.
    """
    return ENTRY.pack(
        ENTRY_FORMAT,
        seq,
        at,
        op,
        _sha256(salt + b"a" + actor.encode()).digest(),
        _sha256(salt + b"t" + target).digest(),
        _sha256(salt + b"o" + owner).digest(),
        ZERO if before is None else _sha256(salt + b"b" + before).digest(),
        _sha256(salt + b"c" + content).digest(),
    )
