"""Row seals: an HMAC-SHA-256 over everything a row is and where it stands (``docs/spec/record.md``)."""

from __future__ import annotations

import functools
import hashlib
import hmac
import struct
from typing import Final

from witnesstree.errors import SealError
from witnesstree.proof.keys import StoreKeys
from witnesstree.proof.mac import pads
from witnesstree.types.record import SealedRecord

ALGORITHM: Final = b"\x01"
DOMAIN: Final = b"\x01wt/seal\x00"

_PLACE: Final = struct.Struct(">qI")
_pack = _PLACE.pack

_sha256 = hashlib.sha256
_equal = hmac.compare_digest


class Sealer:
    """Makes and checks the seals of one owner's rows.

    The MAC is ``proof.mac``'s; key pads and everything that the rows share are put together once.
    """

    __slots__ = ("_end", "_start", "owner")

    def __init__(self, keys: StoreKeys, owner: bytes) -> None:
        """Prepare for the owner with this 16-byte key."""
        self.owner = owner
        inner, self._end = pads(keys.seal)
        self._start = inner + DOMAIN + keys.store_id + owner

    def seal(self, seq: int, content: bytes, vector: bytes = b"") -> bytes:
        """Return algorithm byte ‖ HMAC-SHA-256(domain ‖ store id ‖ owner ‖ seq ‖ length of content ‖ content ‖ vector)."""
        return ALGORITHM + _sha256(self._end + self._inner(seq, content, vector)).digest()

    def _inner(self, seq: int, content: bytes, vector: bytes) -> bytes:
        """Return the first of the MAC's two hashes, which covers everything."""
        return _sha256(b"".join((self._start, _pack(seq, len(content)), content, vector))).digest()

    def prove(self, row: SealedRecord) -> bytes:
        """Return the inner hash of a row whose seal is genuine for this owner, place and content.

        Raises:
            SealError: altered, forged or moved (edit edit-I1).
        """
        seq, owner, content, seal, vector = row
        inner = self._inner(seq, content, vector)
        if owner != self.owner or not _equal(ALGORITHM + _sha256(self._end + inner).digest(), seal):
            raise _altered(seq)
        return inner

    def verify(self, row: SealedRecord, expected: bytes | None = None) -> SealedRecord:
        """Return ``row`` if its seal is genuine, and is the expected one.

        Args:
            row: what the store returned.
            expected: the seal this process verified earlier for the row; a genuine but older row has another one.

        Raises:
            SealError: altered, forged, moved or replayed (edits edit-I1 and edit-I3).
        """
        self.prove(row)
        if expected is not None and row.seal != expected:
            raise _altered(row.seq)
        return row

    def again(self, row: SealedRecord, seal: bytes, inner: bytes) -> SealedRecord:
        """Return ``row`` if it is the one that was proven before; the outer hash need not be made again for that.

        Args:
            row: what the store returned this time.
            seal: the seal that was proven.
            inner: what ``prove`` returned then.

        Raises:
            SealError: altered, forged, moved or replayed (edits edit-I1 and edit-I3).
        """
        seq, owner, content, found, vector = row
        now = _sha256(b"".join((self._start, _pack(seq, len(content)), content, vector))).digest()  # ``_inner``, in the hot path
        if found != seal or owner != self.owner or not _equal(now, inner):
            raise _altered(seq)
        return row


def _altered(seq: int) -> SealError:
    return SealError(
        f"row {seq} is not what was written there: its seal does not match; run 'wtree audit'", reason="row_altered", seq=seq
    )


@functools.lru_cache(maxsize=256)
def sealer(keys: StoreKeys, owner: bytes) -> Sealer:
    """Return the sealer of an owner (kept for the next row of the same owner)."""
    return Sealer(keys, owner)


def make_seal(keys: StoreKeys, owner: bytes, seq: int, content: bytes, vector: bytes = b"") -> bytes:
    """Return the seal of a row; see ``Sealer.seal``."""
    return sealer(keys, owner).seal(seq, content, vector)


def seal_row(keys: StoreKeys, owner: bytes, seq: int, content: bytes, vector: bytes = b"") -> SealedRecord:
    """Return the sealed row for a place in the log."""
    return SealedRecord(seq, owner, content, make_seal(keys, owner, seq, content, vector), vector)


def verify_seal(keys: StoreKeys, owner: bytes, row: SealedRecord, expected: bytes | None = None) -> SealedRecord:
    """Return ``row`` if its seal is genuine; see ``Sealer.verify``."""
    return sealer(keys, owner).verify(row, expected)
