"""The set digest of an owner's rows: order-free, incremental, secret, masked (``docs/spec/record.md``).

Each row contributes PRF(seal). The sum modulo 2^256 is stored only under a mask that is fresh at each write, since bare
sums of visible elements can be forged by a generalised birthday search.
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass, replace
from typing import Final

from witnesstree.errors import LogError
from witnesstree.proof.keys import StoreKeys
from witnesstree.proof.mac import hmac_sha256

MODULUS: Final = 1 << 256
LEAF: Final = struct.Struct(">B16sQQ16s32s16s")
LEAF_FORMAT: Final = 1

_blake2b = hashlib.blake2b
_from_bytes = int.from_bytes


def element(keys: StoreKeys, seal: bytes) -> int:
    """Return a row's secret contribution to its owner's digest."""
    return _from_bytes(_blake2b(seal, digest_size=32, key=keys.digest).digest(), "big")


@dataclass(frozen=True, slots=True)
class Leaf:
    """What the owner map says of one owner.

    Args:
        owner: 16-byte owner key.
        count: rows that exist.
        last_seq: log position of the newest row ever written for the owner.
        digest: sum of the rows' elements modulo 2^256 (in clear only in memory).
        nonce: 16 bytes, fresh at each write.
        epoch: 16 bytes, replaced at each erasure; cache files are encrypted under it.
    """

    owner: bytes
    count: int
    last_seq: int
    digest: int
    nonce: bytes
    epoch: bytes

    def encode(self, keys: StoreKeys) -> bytes:
        """Return the leaf's 97 bytes, the digest masked."""
        masked = (self.digest + self._mask(keys)) % MODULUS
        return LEAF.pack(LEAF_FORMAT, self.owner, self.count, self.last_seq, self.nonce, masked.to_bytes(32, "big"), self.epoch)

    def _mask(self, keys: StoreKeys) -> int:
        label = self.owner + self.last_seq.to_bytes(8, "big") + self.count.to_bytes(8, "big") + self.nonce
        return _from_bytes(hmac_sha256(keys.mask, label), "big")

    def moved(self, *, added: list[int], removed: list[int], last_seq: int, nonce: bytes, epoch: bytes = b"") -> Leaf:
        """Return the leaf after rows with these elements came and went."""
        count = self.count + len(added) - len(removed)
        digest = (self.digest + sum(added) - sum(removed)) % MODULUS
        return Leaf(self.owner, count, last_seq, digest, nonce, epoch or self.epoch)


def decode_leaf(keys: StoreKeys, data: bytes) -> Leaf:
    """Return the leaf that ``data`` encodes, its digest unmasked.

    Raises:
        LogError: not a leaf of a known format.
    """
    try:
        form, owner, count, last_seq, nonce, masked, epoch = LEAF.unpack(data)
    except (struct.error, TypeError):
        form = 0
    if form != LEAF_FORMAT:
        raise LogError("an owner's leaf is not of a known format", reason="map_altered")
    leaf = Leaf(owner, count, last_seq, 0, nonce, epoch)
    return replace(leaf, digest=(_from_bytes(masked, "big") - leaf._mask(keys)) % MODULUS)
