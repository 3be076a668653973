"""Row seals: an HMAC-SHA-256 over everything a row is and where it stands (``docs/spec/record.md``)."""

from __future__ import annotations

import functools
import hashlib
import hmac
import struct
from typing import Final

from witnesstree.errors import SealError
from witnesstree.proof.keys import StoreKeys
from witnesstree.types.record import SealedRecord

ALGORITHM: Final = b"\x01"
DOMAIN: Final = b"\x01wt/seal\x00"
SEAL_BYTES: Final = 33

_PLACE: Final = struct.Struct(">qI")

_sha256 = hashlib.sha256
_equal = hmac.compare_digest


@functools.lru_cache(maxsize=256)
def _pads(key: bytes, store_id: bytes, owner: bytes) -> tuple[bytes, bytes]:
    """Return what HMAC (RFC 2104) puts before the message, with the part that all rows of an owner share, and before the hash."""
    padded = key.ljust(64, b"\x00")
    inner = bytes(byte ^ 0x36 for byte in padded)
    return inner + DOMAIN + store_id + owner, bytes(byte ^ 0x5C for byte in padded)


def make_seal(keys: StoreKeys, owner: bytes, seq: int, content: bytes) -> bytes:
    """Return algorithm byte ‖ HMAC-SHA-256(domain ‖ store id ‖ owner ‖ seq ‖ length ‖ content).

    Written as its two hashes: the key pads are made once, which halves the time of a short message.
    """
    start, end = _pads(keys.seal, keys.store_id, owner)
    return ALGORITHM + _sha256(end + _sha256(b"".join((start, _PLACE.pack(seq, len(content)), content))).digest()).digest()


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
    seq, row_owner, content, seal = row
    if row_owner == owner and (expected is None or seal == expected) and _equal(make_seal(keys, owner, seq, content), seal):
        return row
    raise SealError(
        f"row {seq} is not what was written there: its seal does not match; run 'wtree audit'", reason="row_altered", seq=seq
    )
