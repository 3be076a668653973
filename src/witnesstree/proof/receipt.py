"""Proofs that leave the machine: inclusion proofs of memories and erasure receipts, checked with one verifier key.

Formats: C2SP tlog-proof for a memory, C2SP signed note for a receipt (``docs/spec/checkpoint.md``).
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from witnesstree.errors import Error, PackError
from witnesstree.proof.checkpoint import origin_of, parse_checkpoint, parse_verifier_key, sign_note, verify_note
from witnesstree.proof.encoding import ENTRY, Entry, commit_to, decode_entry
from witnesstree.proof.keys import Signer
from witnesstree.proof.merkle import leaf_hash, verify_inclusion
from witnesstree.types.record import Record
from witnesstree.types.strict_base64 import from_base64, to_base64
from witnesstree.types.wire import decode

PROOF_LINE: Final = "c2sp.org/tlog-proof@v1"
RECEIPT_LINE: Final = "witnesstree erasure receipt v1"
_ENTRY_BYTES: Final = ENTRY.size


@dataclass(frozen=True, slots=True)
class ProvenMemory:
    """What a proof shows: the record, its place in the log, and the signed head it is proven against."""

    record: Record
    entry: Entry
    origin: str
    size: int


def make_proof(entry: bytes, content: bytes, index: int, path: Sequence[bytes], checkpoint: bytes) -> str:
    """Return a tlog-proof whose ``extra`` line carries the log entry and the content that it commits to."""
    lines = [PROOF_LINE, f"extra {to_base64(entry + content)}", f"index {index}", *map(to_base64, path), "", checkpoint.decode()]
    return "\n".join(lines)


def verify_proof(proof: str, verifier_key: str) -> ProvenMemory:
    """Return what a tlog-proof proves, checked with nothing but the log's verifier key.

    Raises:
        PackError: altered, of another log, or not a proof.
    """
    name, public_key = parse_verifier_key(verifier_key)
    head, _, note = proof.partition("\n\n")
    lines = head.split("\n")
    try:
        if lines[0] != PROOF_LINE or not lines[1].startswith("extra ") or not lines[2].startswith("index "):
            raise ValueError("shape")
        extra = from_base64(lines[1][6:])
        index = int(lines[2][6:])
        path = [from_base64(line) for line in lines[3:]]
        if str(index) != lines[2][6:] or any(len(node) != 32 for node in path):
            raise ValueError("shape")
    except (ValueError, IndexError):
        raise PackError("this is not a proof of this program", reason="bad_proof") from None
    checkpoint = parse_checkpoint(verify_note(note.encode(), name, public_key))
    data, content = extra[:_ENTRY_BYTES], extra[_ENTRY_BYTES:]
    verify_inclusion(leaf_hash(data), index, checkpoint.size, path, checkpoint.root)
    try:
        entry, record = decode_entry(data), decode(content)
    except Error as error:
        raise PackError(str(error), reason="bad_proof") from None
    target = record.id + struct.pack(">I", record.version)
    if (
        checkpoint.origin != name
        or entry.seq != index
        or entry.after != commit_to(record.salt, b"c", content)
        or entry.target != commit_to(record.salt, b"t", target)
        or entry.actor != commit_to(record.salt, b"a", record.actor.encode())
    ):
        raise PackError("the proof's memory is not the one that the log entry commits to", reason="bad_proof")
    return ProvenMemory(record, entry, checkpoint.origin, checkpoint.size)


def make_receipt(store_id: bytes, signer: Signer, facts: dict[str, str]) -> str:
    """Return a signed erasure receipt with these facts, one a line."""
    origin = origin_of(store_id)
    text = "".join(f"{line}\n" for line in [RECEIPT_LINE, origin, *(f"{key} {value}" for key, value in facts.items())])
    return sign_note(text, origin, signer).decode()


def verify_receipt(receipt: str, verifier_key: str) -> dict[str, str]:
    """Return the facts of an erasure receipt, checked with nothing but the log's verifier key.

    Raises:
        PackError: altered, of another log, or not a receipt.
    """
    name, public_key = parse_verifier_key(verifier_key)
    lines = verify_note(receipt.encode(), name, public_key).splitlines()
    if lines[:2] != [RECEIPT_LINE, name]:
        raise PackError("this is not an erasure receipt of this log", reason="bad_receipt")
    facts = dict(line.split(" ", 1) for line in lines[2:] if " " in line)
    return {"origin": name} | facts
