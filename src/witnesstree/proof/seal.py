"""Row seals: an HMAC-SHA-256 over everything a row is and where it stands (``docs/spec/record.md``)."""

from __future__ import annotations

import hmac
from typing import Final

from witnesstree.errors import SealError
from witnesstree.proof.keys import StoreKeys
from witnesstree.types.record import SealedRecord

ALGORITHM: Final = b"\x01"
DOMAIN: Final = b"\x01wt/seal\x00"
SEAL_BYTES: Final = 33

_digest = hmac.digest
_equal = hmac.compare_digest


def seal_prefix(keys: StoreKeys, owner: bytes) -> bytes:
    """Return the part of the sealed bytes that all rows of an owner share."""
    return DOMAIN + keys.store_id + owner


def make_seal(keys: StoreKeys, owner: bytes, seq: int, content: bytes) -> bytes:
    """Return algorithm byte ‖ HMAC(domain ‖ store id ‖ owner ‖ seq ‖ length ‖ content)."""
    head = seal_prefix(keys, owner) + seq.to_bytes(8, "big", signed=True) + len(content).to_bytes(4, "big")
    return ALGORITHM + _digest(keys.seal, head + content, "sha256")


def seal_row(keys: StoreKeys, owner: bytes, seq: int, content: bytes) -> SealedRecord:
    """Return the sealed row for a place in the log."""
    return SealedRecord(seq, owner, content, make_seal(keys, owner, seq, content))


def verify_seal(keys: StoreKeys, owner: bytes, row: SealedRecord, expected: bytes | None = None) -> SealedRecord:
    """Return ``row`` if its seal is genuine for this owner, place and content, and is the expected one.

    Args:
        keys: the store's keys.
        owner: the 16-byte owner key that the caller asked for.
        row: what the store returned.
        expected: the seal this process verified earlier for the row; a genuine but older row has another one.

    Raises:
        SealError: altered, forged, moved or replayed (edits edit-I1 and edit-I3).
    """
    good = make_seal(keys, owner, row.seq, row.content)
    if row.owner != owner or not _equal(good, row.seal) or (expected is not None and not _equal(good, expected)):
        raise SealError(
            f"row {row.seq} is not what was written there: its seal does not match; run 'wtree audit'",
            reason="row_altered",
            seq=row.seq,
        )
    return row
