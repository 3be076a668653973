"""The formats once more, written from docs/spec with the standard library only, to show that the pages are enough.

Nothing of the product is imported here.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import struct
from typing import Any

ENUMS = ("kind", "role", "authority", "trust", "status", "op")
INSTANTS = ("said_at", "valid_from", "valid_to", "expires_at")
NAMES = ("user", "actor", "agent", "session", "scope", "name", "source", "subject", "predicate")
ABSENT = -(2**63)


def sha256(data: bytes) -> bytes:
    """SHA-256."""
    return hashlib.sha256(data).digest()


def derived(secret: bytes, label: str, salt: bytes = b"") -> bytes:
    """record.md, Keys: HKDF-SHA-256 with one block of output."""
    extracted = hmac.digest(salt or bytes(32), secret, "sha256")
    return hmac.digest(extracted, b"witnesstree/v1/" + label.encode() + b"\x01", "sha256")


def canonical(value: Any) -> bytes:
    """record.md, Metadata. Python's json has the number and escape rules that the page states."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def record_bytes(record: dict[str, Any]) -> bytes:
    """record.md, Content: from the JSON form of the vectors to bytes."""
    out = struct.pack(">B", 1)
    out += bytes(record[name] for name in ENUMS) + b"\x00"
    out += bytes.fromhex(record["id"]) + bytes.fromhex(record["salt"]) + bytes.fromhex(record["fingerprint"])
    out += struct.pack(">I", record["version"]) + struct.pack(">q", record["recorded_at"])
    for name in INSTANTS:
        out += struct.pack(">q", ABSENT if record[name] is None else record[name])
    long = [
        record["text"].encode(),
        canonical(record["metadata"]) if record["metadata"] else b"",
        b"".join(bytes.fromhex(source) + struct.pack(">III", *place) for source, *place in record["evidence"]),
        bytes.fromhex(record["payload"]),
    ]
    short = [record[name].encode() for name in NAMES]
    short += ["\n".join(record["purposes"]).encode(), record["origin"].encode()]
    short += [bytes.fromhex(record["nonce"]), bytes.fromhex(record["signature"])]
    out += b"".join(struct.pack(">I", len(part)) for part in long)
    out += b"".join(struct.pack(">H", len(part)) for part in short)
    assert len(out) == 142
    return out + b"".join(long) + b"".join(short)


def read_record(content: bytes) -> dict[str, Any]:
    """record.md, Content: the fields that the log entry needs, found by the page's offsets."""
    lengths = struct.unpack_from(">4I13H", content, 100)
    starts = [142]
    for length in lengths:
        starts.append(starts[-1] + length)
    assert starts[-1] == len(content)
    return {
        "op": content[6],
        "id": content[8:24],
        "salt": content[24:40],
        "version": struct.unpack_from(">I", content, 56)[0],
        "recorded_at": struct.unpack_from(">q", content, 60)[0],
        "text": content[starts[0] : starts[1]].decode(),
        "actor": content[starts[5] : starts[6]],
    }


def tombstone(marks: list[bytes], positions: list[int]) -> bytes:
    """record.md, Tombstones."""
    out = struct.pack(">I", len(set(marks))) + b"".join(sorted(set(marks)))
    wanted = sorted(set(positions))
    for position in wanted:
        if position - 1 not in wanted:
            last = position
            while last + 1 in wanted:
                last += 1
            out += struct.pack(">QQ", position, last)
    return out


def seal(key: bytes, store_id: bytes, owner: bytes, seq: int, content: bytes, vector: bytes) -> bytes:
    """record.md, Seal."""
    sealed = b"\x01wt/seal\x00" + store_id + owner + struct.pack(">Q", seq) + struct.pack(">I", len(content)) + content + vector
    return b"\x01" + hmac.digest(key, sealed, "sha256")


def element(key: bytes, row_seal: bytes) -> bytes:
    """record.md, Owner leaf: what a row adds to the digest."""
    return hashlib.blake2b(row_seal, key=key, digest_size=32).digest()


def leaf(key: bytes, owner: bytes, count: int, last_seq: int, digest: bytes, nonce: bytes, epoch: bytes) -> bytes:
    """record.md, Owner leaf."""
    mask = hmac.digest(key, owner + struct.pack(">QQ", last_seq, count) + nonce, "sha256")
    masked = (int.from_bytes(digest, "big") + int.from_bytes(mask, "big")) % 2**256
    return b"\x01" + owner + struct.pack(">QQ", count, last_seq) + nonce + masked.to_bytes(32, "big") + epoch


def row_entry(seq: int, owner: bytes, content: bytes, before: bytes | None) -> bytes:
    """log.md, Entry of a row."""
    record = read_record(content)
    salt = record["salt"]
    out = struct.pack(">BQqB", 1, seq, record["recorded_at"], record["op"])
    out += sha256(salt + b"a" + record["actor"])
    out += sha256(salt + b"t" + record["id"] + struct.pack(">I", record["version"]))
    out += sha256(salt + b"o" + owner)
    out += bytes(32) if before is None else sha256(salt + b"b" + before)
    return out + sha256(salt + b"c" + content)


def commit_entry(seq: int, at: int, before: bytes, after: bytes) -> bytes:
    """log.md, Commit entry."""
    return struct.pack(">BQqB", 1, seq, at, 0) + bytes(96) + before + after


def tree_root(leaves: list[bytes]) -> bytes:
    """log.md, Tree: the recursive definition."""
    if not leaves:
        return sha256(b"")
    if len(leaves) == 1:
        return sha256(b"\x00" + leaves[0])
    split = 1
    while split * 2 < len(leaves):
        split *= 2
    return sha256(b"\x01" + tree_root(leaves[:split]) + tree_root(leaves[split:]))


def frontier(leaves: list[bytes]) -> list[bytes]:
    """log.md, Tree: roots of the perfect trees, largest first."""
    peaks, at = [], 0
    for bit in range(len(leaves).bit_length() - 1, -1, -1):
        if len(leaves) >> bit & 1:
            peaks.append(tree_root(leaves[at : at + (1 << bit)]))
            at += 1 << bit
    return peaks


def map_root(leaves: dict[bytes, bytes]) -> bytes:
    """log.md, Owner map: built from all leaves at once."""
    if not leaves:
        return bytes(32)
    return sha256(b"\x01" + map_node({owner.hex(): leaf for owner, leaf in leaves.items()}, 0))


def map_node(leaves: dict[str, bytes], depth: int) -> bytes:
    """log.md, Owner map: one node of 16 slots."""
    node = b""
    for digit in "0123456789abcdef":
        below = {owner: leaf for owner, leaf in leaves.items() if owner[depth] == digit}
        if not below:
            node += bytes(49)
        elif len(below) == 1:
            [(owner, leaf)] = below.items()
            key = bytes.fromhex(owner)
            node += b"\x01" + key + sha256(b"\x00" + key + leaf)
        else:
            node += b"\x02" + bytes(16) + sha256(b"\x01" + map_node(below, depth + 1))
    return node
