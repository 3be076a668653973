"""Signed notes and checkpoints (C2SP signed-note and tlog-checkpoint), Ed25519 only (``docs/spec/checkpoint.md``)."""

from __future__ import annotations

import functools
import hashlib
from dataclasses import dataclass
from typing import Final

from witnesstree.errors import LogError, PackError
from witnesstree.proof.keys import Signer, verify_signature
from witnesstree.types.strict_base64 import from_base64, to_base64

ED25519: Final = b"\x01"
PREFIX: Final = "witnesstree/"


@functools.lru_cache(maxsize=64)
def key_id(name: str, public_key: bytes) -> bytes:
    """Return the 4-byte key id of a signed-note key."""
    return hashlib.sha256(name.encode() + b"\n" + ED25519 + public_key).digest()[:4]


def verifier_key(name: str, public_key: bytes) -> str:
    """Return the key in the C2SP text form ``name+hexid+base64``, to be given to whoever checks."""
    return f"{name}+{key_id(name, public_key).hex()}+{to_base64(ED25519 + public_key)}"


def parse_verifier_key(text: str) -> tuple[str, bytes]:
    """Return name and 32-byte public key of a C2SP verifier key.

    Raises:
        PackError: not an Ed25519 verifier key, or its id does not match.
    """
    try:
        name, hexid, encoded = text.strip().split("+", 2)
        raw = from_base64(encoded)
    except ValueError:
        raise PackError("a verifier key has the form name+hexid+base64", reason="bad_key") from None
    if len(raw) != 33 or raw[:1] != ED25519 or key_id(name, raw[1:]).hex() != hexid:
        raise PackError("this is not an intact Ed25519 verifier key", reason="bad_key")
    return name, raw[1:]


def sign_note(text: str, name: str, signer: Signer) -> bytes:
    """Return the signed note of ``text`` (which ends with a newline)."""
    signature = key_id(name, signer.public_key) + signer.sign(text.encode())
    return f"{text}\n— {name} {to_base64(signature)}\n".encode()


def verify_note(note: bytes, name: str, public_key: bytes) -> str:
    """Return the text of a note that carries a good signature of this key; unknown signatures are ignored.

    Raises:
        PackError: no such signature, or the note is malformed.
    """
    try:
        body, separator, tail = note.decode().rpartition("\n\n")
    except UnicodeDecodeError:
        raise PackError("a signed note must be UTF-8", reason="bad_note") from None
    text = body + "\n"
    if not separator or not tail.endswith("\n") or any(c < " " and c != "\n" for c in text):
        raise PackError("this is not a signed note", reason="bad_note")
    wanted = key_id(name, public_key)
    good = False
    for line in tail[:-1].split("\n"):
        try:
            dash, signer_name, encoded = line.split(" ")
            raw = from_base64(encoded)
        except ValueError:
            raise PackError("a signature line of the note is malformed", reason="bad_note") from None
        if dash != "—" or len(raw) < 5:
            raise PackError("a signature line of the note is malformed", reason="bad_note")
        if signer_name == name and raw[:4] == wanted:
            verify_signature(public_key, text.encode(), raw[4:])
            good = True
    if not good:
        raise PackError("the note carries no signature of the expected key", reason="bad_signature")
    return text


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What a signed head says: the log ``origin``, its ``size`` in entries and its 32-byte ``root``."""

    origin: str
    size: int
    root: bytes

    def text(self) -> str:
        """Return the note text of the checkpoint."""
        return f"{self.origin}\n{self.size}\n{to_base64(self.root)}\n"


def origin_of(store_id: bytes) -> str:
    """Return the log origin of a store, which is also the name of its signing key."""
    return PREFIX + store_id.hex()


def sign_checkpoint(store_id: bytes, size: int, root: bytes, signer: Signer) -> bytes:
    """Return the signed checkpoint note of a log head."""
    origin = origin_of(store_id)
    return sign_note(Checkpoint(origin, size, root).text(), origin, signer)


def parse_checkpoint(text: str) -> Checkpoint:
    """Return the checkpoint of a note text.

    Raises:
        PackError: not three lines, a size with leading zeros, or a root that is not 32 bytes.
    """
    lines = text.split("\n")
    try:
        origin, size, root = lines[:3]
        raw = from_base64(root)
        exact = lines[3:] == [""] and str(int(size)) == size and int(size) >= 0 and len(raw) == 32
    except ValueError:
        exact = False
    if not exact:
        raise PackError("this is not a checkpoint", reason="bad_note")
    return Checkpoint(origin, int(size), raw)


def verify_checkpoint(note: bytes, store_id: bytes, public_key: bytes) -> Checkpoint:
    """Return the checkpoint of a store's head if this store's signer made it.

    Raises:
        LogError: altered, unsigned, of another store or another key (edit-I5).
    """
    origin = origin_of(store_id)
    try:
        checkpoint = parse_checkpoint(verify_note(note, origin, public_key))
    except PackError as error:
        raise LogError(
            f"the store's signed head does not verify ({error}): it was altered or this home has another key; run 'wtree doctor'",
            reason="head_invalid",
        ) from None
    if checkpoint.origin != origin:
        raise LogError("the signed head belongs to another log", reason="head_invalid")
    return checkpoint
