"""Keys: one root secret that readers and writers hold, and a signer that only writers hold.

Every key of a store is derived from the root secret with HKDF-SHA-256, salted by the store id, so that a key is used for
one purpose in one store (RFC 5869). The signer is independent of the root secret: who can check can not sign.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from witnesstree.errors import AccessError, PackError
from witnesstree.proof.mac import hmac_sha256


def hkdf(secret: bytes, info: str, salt: bytes = b"") -> bytes:
    """Return 32 bytes derived from ``secret`` for one purpose (RFC 5869, SHA-256)."""
    return HKDF(SHA256(), 32, salt or None, b"witnesstree/v1/" + info.encode()).derive(secret)


class Signer(Protocol):
    """What makes signatures: a file by default; an agent, token or key service can follow."""

    @property
    def public_key(self) -> bytes:
        """The 32-byte Ed25519 public key."""

    def sign(self, message: bytes) -> bytes:
        """Return the 64-byte Ed25519 signature of ``message``."""


class SeedSigner:
    """A signer whose 32-byte Ed25519 seed is in this process."""

    def __init__(self, seed: bytes) -> None:
        """Load the key from its seed."""
        self._key = Ed25519PrivateKey.from_private_bytes(seed)
        self._public = self._key.public_key().public_bytes_raw()

    @property
    def public_key(self) -> bytes:
        """The 32-byte Ed25519 public key."""
        return self._public

    def sign(self, message: bytes) -> bytes:
        """Return the 64-byte Ed25519 signature of ``message``."""
        return self._key.sign(message)


def verify_signature(public_key: bytes, message: bytes, signature: bytes) -> bytes:
    """Return ``message`` if the Ed25519 signature is good.

    Raises:
        PackError: it is not (reason ``bad_signature``).
    """
    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(signature, message)
    except (InvalidSignature, ValueError):
        raise PackError("the signature does not belong to this text and key", reason="bad_signature") from None
    return message


@dataclass(frozen=True)
class MasterKey:
    """What a home keeps: 32 secret bytes for writers, from which root secret and signer follow independently.

    ``naming`` outlives a key rotation: the keyed names of partitions and the marks of what was erased follow from it. Without a
    ``signer`` the holder is a reader: it can check and never sign.
    """

    root: bytes
    naming: bytes
    public_key: bytes
    signer: Signer | None

    def require_signer(self) -> Signer:
        """Return the signer.

        Raises:
            AccessError: this is a reader's key.
        """
        if self.signer is None:
            raise AccessError("this home holds a reader's key; writing needs the signing key", reason="reader_key")
        return self.signer

    @classmethod
    def from_entropy(cls, entropy: bytes, naming: bytes | None = None) -> MasterKey:
        """Derive root secret, tombstone key and signer from 32 bytes of entropy (what the recovery phrase spells)."""
        signer = SeedSigner(hkdf(entropy, "signer"))
        root = hkdf(entropy, "root")
        return cls(root, naming or hkdf(entropy, "naming"), signer.public_key, signer)


@dataclass(frozen=True)
class StoreKeys:
    """The derived keys of one store, one per purpose, and the key its checkpoints are checked with."""

    store_id: bytes
    seal: bytes
    digest: bytes
    mask: bytes
    owner: bytes
    anchor: bytes
    cache: bytes
    tombstone: bytes
    public_key: bytes

    @classmethod
    def derive(cls, master: MasterKey, store_id: bytes) -> StoreKeys:
        """Derive every key of the store ``store_id`` (16 bytes)."""
        made = {name: hkdf(master.root, name, store_id) for name in ("seal", "digest", "mask", "cache")}
        return cls(
            store_id=store_id,
            owner=hkdf(master.naming, "owner"),
            anchor=hkdf(master.naming, "anchor", store_id),
            tombstone=hkdf(master.naming, "tombstone"),
            public_key=master.public_key,
            **made,
        )

    def owner_key(self, partition: str) -> bytes:
        """Return the 16-byte keyed name under which a partition's rows are stored; it reveals nothing without the key."""
        return hmac_sha256(self.owner, partition.encode())[:16]

    def anchor_mac(self, slot: bytes) -> bytes:
        """Return the 32-byte MAC of what an anchor remembers."""
        return hmac_sha256(self.anchor, slot)
