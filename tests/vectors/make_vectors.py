"""Writes the JSON vectors of docs/spec. Run by hand after a format changed: ``python -m tests.vectors.make_vectors``.

Everything in them is fixed: keys, salts, ids, times. A test checks that this file still gives the same bytes.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import string
import struct
from dataclasses import fields
from pathlib import Path
from typing import Any

from witnesstree.anchors.base import AnchorState
from witnesstree.anchors.file import SLOT_BYTES
from witnesstree.proof import checkpoint as notes
from witnesstree.proof import merkle, ownermap
from witnesstree.proof.digest import Leaf, element
from witnesstree.proof.encoding import Entry, row_entry
from witnesstree.proof.keys import MasterKey, SeedSigner, StoreKeys, hkdf
from witnesstree.proof.receipt import make_proof, make_receipt
from witnesstree.proof.seal import make_seal
from witnesstree.types.limits import MAX_METADATA_BYTES
from witnesstree.types.record import Record, Span
from witnesstree.types.tombstone import write_tombstone
from witnesstree.types.trust import Authority, Kind, Op, Role, Status, Trust
from witnesstree.types.wire import HEADER, encode

FOLDER = Path(__file__).parent
ENTROPY = bytes(range(32))
STORE_ID = bytes(range(0xA0, 0xB0))
MASTER = MasterKey.from_entropy(ENTROPY)
KEYS = StoreKeys.derive(MASTER, STORE_ID)
SIGNER = SeedSigner(hkdf(ENTROPY, "signer"))
ORIGIN = notes.origin_of(STORE_ID)
NOON = 1_796_040_000_000_000
"""2026-11-30T12:00:00Z in microseconds."""
VECTOR = b"\x07local-1" + struct.pack(">f", 1 / 127) + bytes([127, 0, 129, 1])
PARTITIONS = ("user:alice", "user:Alice", "user:zoë", "system")


def numbered(label: str, size: int) -> bytes:
    """Bytes that look random and are the same every time."""
    return hashlib.sha256(label.encode()).digest()[:size]


def plain_record(**changes: Any) -> Record:
    """A short turn with fixed id and salt."""
    base = Record(
        id=numbered("id", 16),
        version=1,
        kind=Kind.TURN,
        role=Role.USER,
        authority=Authority.AUTHORIZED,
        trust=Trust.CANDIDATE,
        status=Status.ACTIVE,
        op=Op.ADD,
        recorded_at=NOON,
        salt=numbered("salt", 16),
        text="I like green tea.",
        user="alice",
        actor="user:alice",
    )
    return base.with_changes(**changes)


def full_record() -> Record:
    """A record in which no field has its default."""
    return Record(
        id=numbered("full id", 16),
        version=3,
        kind=Kind.PREFERENCE,
        role=Role.ASSISTANT,
        authority=Authority.UNENDORSED,
        trust=Trust.VERIFIED,
        status=Status.RETRACTED,
        op=Op.RETRACT,
        recorded_at=NOON,
        salt=numbered("full salt", 16),
        fingerprint=numbered("fingerprint", 16),
        said_at=NOON - 1,
        valid_from=-1,
        valid_to=NOON + 1,
        expires_at=2**62,
        text="Prefers the window seat.",
        user="alice",
        actor="agent:planner",
        agent="planner",
        session="trip-7",
        scope="travel",
        name="Alice B.",
        source="message-19",
        subject="alice",
        predicate="seat",
        metadata={"city": "Zürich", "tags": ["a", 1, None, True]},
        evidence=(Span(numbered("source", 16), 1, 4, 19), Span(numbered("source", 16), 2, 0, 3)),
        purposes=("travel", "billing"),
        origin="a file",
        nonce=numbered("nonce", 12),
        signature=numbered("signature", 64),
        payload=b"\x00\x01\xff",
    )


def encoded_cases() -> list[tuple[str, Record]]:
    """Records whose bytes the spec must give."""
    return [
        ("a short turn", plain_record()),
        ("every field set", full_record()),
        ("no text at all", plain_record(text="", kind=Kind.SYSTEM, role=Role.NONE, payload=b"x", actor="operator", user="")),
        ("text beyond the basic plane", plain_record(text="tea 🍵 and 𝔱𝔢𝔞")),
        ("decomposed text is kept as it is", plain_record(text="Zu\u0308rich", name="Zürich")),
        ("text with line breaks and a byte order mark", plain_record(text="\ufeffone\r\ntwo\ttab\u2028end")),
        ("metadata: a float that binary can't hold", plain_record(metadata={"x": 0.1})),
        ("metadata: negative zero", plain_record(metadata={"x": -0.0})),
        ("metadata: a small float", plain_record(metadata={"x": 1e-7})),
        ("metadata: a large float", plain_record(metadata={"x": 1e21})),
        ("metadata: the last float without an exponent", plain_record(metadata={"x": 1e15, "y": 1e16, "z": 0.0001})),
        ("metadata: an integer beyond doubles", plain_record(metadata={"x": 2**53 + 1})),
        ("metadata: the largest and smallest integer", plain_record(metadata={"x": 2**63 - 1, "y": -(2**63) + 1})),
        ("metadata: one and one point zero differ", plain_record(metadata={"x": 1, "y": 1.0, "z": True})),
        (
            "metadata: keys by code point",
            plain_record(metadata={"b": 1, "a": 2, "B": 3, "é": 4, "\uffff": 5, "\U00010000": 6, "": 7}),
        ),
        ("metadata: escapes", plain_record(metadata={"x": '"\\/\b\f\n\r\t\x01\x1f\x7f\u2028é🍵'})),
        ("metadata: nested", plain_record(metadata={"x": {"b": [], "a": {"c": [{}, "", None, False]}}})),
        ("instants: absent, zero, before 1970", plain_record(said_at=None, valid_from=0, valid_to=-1)),
    ]


def shown_record(record: Record) -> dict[str, Any]:
    """The record's fields in JSON: bytes as hex, enums as numbers, absent instants as null."""
    shown: dict[str, Any] = {}
    for field in fields(record):
        value = getattr(record, field.name)
        if isinstance(value, bytes):
            value = value.hex()
        elif field.name == "evidence":
            value = [[span.source.hex(), span.version, span.start, span.end] for span in value]
        elif field.name == "purposes":
            value = list(value)
        elif isinstance(value, int):
            value = int(value)
        shown[field.name] = value
    return shown


def with_metadata(metadata: bytes) -> bytes:
    """A short turn whose metadata is replaced by raw bytes."""
    content = encode(plain_record())
    head = list(HEADER.unpack_from(content))
    text_end = HEADER.size + head[17]
    head[18] = len(metadata)
    return HEADER.pack(*head) + content[HEADER.size : text_end] + metadata + content[text_end:]


def with_byte(position: int, value: int) -> bytes:
    """A short turn with one byte replaced."""
    content = bytearray(encode(plain_record()))
    content[position] = value
    return bytes(content)


def with_field(index: int, value: int) -> bytes:
    """A short turn with one number of its header replaced."""
    content = encode(plain_record())
    head = list(HEADER.unpack_from(content))
    head[index] = value
    return HEADER.pack(*head) + content[HEADER.size :]


def refused_records() -> list[tuple[str, bytes]]:
    """Bytes that no reader may take for a record."""
    good = encode(plain_record())
    evidence_cut = encode(full_record())
    head = list(HEADER.unpack_from(evidence_cut))
    at = HEADER.size + head[17] + head[18]
    head[19] -= 1
    return [
        ("empty", b""),
        ("half a header", good[: HEADER.size // 2]),
        ("a header only", good[: HEADER.size]),
        ("truncated by one byte", good[:-1]),
        ("one trailing byte", good + b"\x00"),
        ("format 0", with_byte(0, 0)),
        ("format 2", with_byte(0, 2)),
        ("unknown kind", with_byte(1, 99)),
        ("kind 0", with_byte(1, 0)),
        ("unknown role", with_byte(2, 6)),
        ("unknown authority", with_byte(3, 4)),
        ("trust 0", with_byte(4, 0)),
        ("unknown status", with_byte(5, 4)),
        ("unknown op", with_byte(6, 200)),
        ("reserved byte set", with_byte(7, 1)),
        ("a length that runs past the end", with_field(17, len(good))),
        ("lengths that leave bytes over", with_field(21, 0)),
        ("text that is not UTF-8", with_byte(HEADER.size, 0xFF)),
        ("a surrogate in text", with_metadata(b"").replace(b"tea", b"\xed\xa0\x80")),
        ("an evidence list cut by a byte", HEADER.pack(*head) + evidence_cut[HEADER.size : at] + evidence_cut[at + 1 :]),
        ("metadata: a space", with_metadata(b'{"a": 1}')),
        ("metadata: keys out of order", with_metadata(b'{"b":1,"a":2}')),
        ("metadata: a needless escape", with_metadata(b'{"a":"\\u00e9"}')),
        ("metadata: another form of a number", with_metadata(b'{"a":1e-7}')),
        ("metadata: a number with a needless zero", with_metadata(b'{"a":1.50}')),
        ("metadata: a key twice", with_metadata(b'{"a":1,"a":1}')),
        ("metadata: NaN", with_metadata(b'{"a":NaN}')),
        ("metadata: infinity", with_metadata(b'{"a":-Infinity}')),
        ("metadata: an integer beyond 64 bits", with_metadata(b'{"a":9223372036854775808}')),
        ("metadata: nine levels deep", with_metadata(b'{"a":' * 9 + b"1" + b"}" * 9)),
        ("metadata: a lone surrogate", with_metadata(b'{"a":"\\ud800"}')),
        ("metadata: a byte order mark", with_metadata(b'\xef\xbb\xbf{"a":1}')),
        ("metadata: an empty object instead of nothing", with_metadata(b"{}")),
        ("metadata: an array", with_metadata(b"[1]")),
        ("metadata: a string", with_metadata(b'"a"')),
        ("metadata: null", with_metadata(b"null")),
        ("metadata: two values", with_metadata(b'{"a":1}{"a":1}')),
        ("metadata: a byte above the limit", with_metadata(b'{"a":"' + b"x" * (MAX_METADATA_BYTES - 7) + b'"}')),
    ]


def record_vectors() -> dict[str, Any]:
    """Encoding of records, what a decoder refuses, and the payload of a tombstone."""
    marks = [numbered(f"mark {i}", 16) for i in range(3)]
    seqs = [9, 2, 3, 4, 9, 7]
    return {
        "spec": "docs/spec/record.md",
        "encode": [
            {"name": name, "record": shown_record(record), "content": encode(record).hex()} for name, record in encoded_cases()
        ],
        "refuse": [{"name": name, "content": content.hex()} for name, content in refused_records()],
        "tombstone": {
            "marks": [mark.hex() for mark in marks],
            "positions": seqs,
            "payload": write_tombstone(marks, seqs).hex(),
            "mark_of": [
                {"value": value.hex(), "mark": hmac.digest(KEYS.tombstone, value, "sha256")[:16].hex()}
                for value in (numbered("id", 16), numbered("fingerprint", 16))
            ],
        },
    }


def key_vectors() -> dict[str, Any]:
    """From 32 bytes of entropy to every key."""
    other = bytes(range(0xB0, 0xC0))
    return {
        "spec": "docs/spec/record.md",
        "entropy": ENTROPY.hex(),
        "root": MASTER.root.hex(),
        "naming": MASTER.naming.hex(),
        "signer_seed": hkdf(ENTROPY, "signer").hex(),
        "public_key": MASTER.public_key.hex(),
        "stores": [
            {
                "store_id": store_id.hex(),
                "seal": keys.seal.hex(),
                "digest": keys.digest.hex(),
                "mask": keys.mask.hex(),
                "cache": keys.cache.hex(),
                "anchor": keys.anchor.hex(),
                "owner": keys.owner.hex(),
                "tombstone": keys.tombstone.hex(),
            }
            for store_id in (STORE_ID, other)
            for keys in (StoreKeys.derive(MASTER, store_id),)
        ],
        "owner_keys": [{"partition": name, "owner_key": KEYS.owner_key(name).hex()} for name in PARTITIONS],
        "cache": {
            "owner_key": KEYS.owner_key("user:alice").hex(),
            "epoch": numbered("epoch", 16).hex(),
            "file_name": hmac.digest(KEYS.cache, KEYS.owner_key("user:alice"), "sha256")[:16].hex() + ".view",
            "key": hmac.digest(KEYS.cache, b"epoch" + numbered("epoch", 16), "sha256").hex(),
            "header": (b"WTC1" + KEYS.owner_key("user:alice") + hashlib.sha256(numbered("epoch", 16)).digest()).hex(),
        },
    }


def seal_vectors() -> dict[str, Any]:
    """Seals, elements of the digest, and leaves."""
    owner, other = KEYS.owner_key("user:alice"), KEYS.owner_key("user:bob")
    content = encode(plain_record())
    seal = make_seal(KEYS, owner, 2, content)
    sealed = []
    for name, seq, data, vector in (
        ("first row", 2, content, b""),
        ("the same bytes in another place", 3, content, b""),
        ("every field", 2**40, encode(full_record()), b""),
        ("with a vector", 2, content, VECTOR),
    ):
        made = make_seal(KEYS, owner, seq, data, vector)
        sealed.append(
            {
                "name": name,
                "owner": owner.hex(),
                "seq": seq,
                "content": data.hex(),
                "vector": vector.hex(),
                "seal": made.hex(),
                "element": f"{element(KEYS, made):064x}",
            }
        )
    flipped = bytearray(content)
    flipped[-1] ^= 1
    with_vector = bytes.fromhex(sealed[3]["seal"])
    refuse = [
        ("another place", 3, owner, content, seal, b""),
        ("another owner", 2, other, content, seal, b""),
        ("one bit of the content", 2, owner, bytes(flipped), seal, b""),
        ("one bit of the seal", 2, owner, content, seal[:-1] + bytes([seal[-1] ^ 1]), b""),
        ("another algorithm byte", 2, owner, content, b"\x02" + seal[1:], b""),
        ("a seal that is too short", 2, owner, content, seal[:-1], b""),
        ("no seal", 2, owner, content, b"", b""),
        ("a vector that was not there", 2, owner, content, seal, VECTOR),
        ("another vector", 2, owner, content, with_vector, VECTOR[:-1] + b"\x02"),
        ("no vector any more", 2, owner, content, with_vector, b""),
        ("the last byte of the content moved to the vector", 2, owner, content[:-1], seal, content[-1:]),
    ]
    total = sum(int(case["element"], 16) for case in sealed)
    leaves = [
        Leaf(owner, 0, 0, 0, numbered("leaf nonce 0", 16), numbered("leaf epoch 0", 16)),
        Leaf(owner, 3, 2**40, total % 2**256, numbered("leaf nonce 1", 16), numbered("leaf epoch 1", 16)),
    ]
    return {
        "spec": "docs/spec/record.md",
        "store_id": STORE_ID.hex(),
        "seal_key": KEYS.seal.hex(),
        "digest_key": KEYS.digest.hex(),
        "mask_key": KEYS.mask.hex(),
        "seal": sealed,
        "refuse": [
            {"name": name, "seq": seq, "owner": who.hex(), "content": data.hex(), "seal": made.hex(), "vector": vector.hex()}
            for name, seq, who, data, made, vector in refuse
        ],
        "leaf": [
            {
                "owner": leaf.owner.hex(),
                "count": leaf.count,
                "last_seq": leaf.last_seq,
                "digest": f"{leaf.digest:064x}",
                "nonce": leaf.nonce.hex(),
                "epoch": leaf.epoch.hex(),
                "leaf": leaf.encode(KEYS).hex(),
            }
            for leaf in leaves
        ],
        "refuse_leaf": [
            {"name": name, "leaf": data.hex()}
            for name, data in (
                ("too short", leaves[0].encode(KEYS)[:-1]),
                ("too long", leaves[0].encode(KEYS) + b"\x00"),
                ("another format", b"\x02" + leaves[0].encode(KEYS)[1:]),
            )
        ],
    }


def log_vectors() -> dict[str, Any]:
    """Log entries with their commitments, and the Merkle tree over 1 to 17 leaves."""
    owner = KEYS.owner_key("user:alice")
    first = plain_record()
    second = plain_record(
        version=2, text="I like black tea.", op=Op.UPDATE, kind=Kind.FACT, salt=numbered("salt 2", 16), actor="agent:planner"
    )
    rows = []
    for seq, record, before in ((2, first, None), (4, second, encode(first))):
        entry = row_entry(
            seq,
            record.op,
            at=record.recorded_at,
            salt=record.salt,
            actor=record.actor,
            target=record.id + record.version.to_bytes(4, "big"),
            owner=owner,
            before=before,
            content=encode(record),
        )
        rows.append(
            {
                "seq": seq,
                "owner": owner.hex(),
                "content": encode(record).hex(),
                "before": None if before is None else before.hex(),
                "entry": entry.hex(),
                "leaf_hash": merkle.leaf_hash(entry).hex(),
            }
        )
    commit = Entry(5, NOON, Op.COMMIT, before=numbered("map before", 32), after=numbered("map after", 32)).encode()
    good = bytes.fromhex(rows[0]["entry"])
    refuse = [
        ("one byte short", good[:-1]),
        ("one byte more", good + b"\x00"),
        ("format 2", b"\x02" + good[1:]),
        ("unknown op", good[:17] + b"\xff" + good[18:]),
        ("empty", b""),
    ]
    return {
        "spec": "docs/spec/log.md",
        "row_entry": rows,
        "commit_entry": {
            "seq": 5,
            "at": NOON,
            "map_before": numbered("map before", 32).hex(),
            "map_after": numbered("map after", 32).hex(),
            "entry": commit.hex(),
        },
        "refuse_entry": [{"name": name, "entry": data.hex()} for name, data in refuse],
        "merkle": merkle_vectors(),
    }


def merkle_vectors() -> dict[str, Any]:
    """Roots, frontiers, inclusion and consistency proofs of trees of 1 to 17 leaves, and proofs that must fail."""
    leaves = [f"entry {i}".encode() for i in range(17)]
    hashes = [merkle.leaf_hash(leaf) for leaf in leaves]
    trees = []
    for size in range(1, 18):
        frontier, _ = merkle.extend([], 0, leaves[:size])
        trees.append(
            {
                "size": size,
                "root": merkle.tree_root(hashes[:size]).hex(),
                "frontier": [peak.hex() for peak in frontier],
                "inclusion": [[node.hex() for node in merkle.inclusion_proof(hashes[:size], i)] for i in range(size)],
                "consistency": [[node.hex() for node in merkle.consistency_proof(hashes[:size], m)] for m in range(size + 1)],
            }
        )
    path = merkle.inclusion_proof(hashes[:11], 6)
    proof = merkle.consistency_proof(hashes[:11], 6)
    root = {size: merkle.tree_root(hashes[:size]) for size in range(1, 18)}
    wrong = bytes([path[0][0] ^ 1]) + path[0][1:]
    inclusion = [
        ("another leaf", hashes[7], 6, 11, path, root[11]),
        ("another place", hashes[6], 7, 11, path, root[11]),
        ("another size", hashes[6], 6, 17, path, root[11]),
        ("another root", hashes[6], 6, 11, path, root[10]),
        ("a node missing", hashes[6], 6, 11, path[:-1], root[11]),
        ("a node too many", hashes[6], 6, 11, [*path, path[0]], root[11]),
        ("a node altered", hashes[6], 6, 11, [wrong, *path[1:]], root[11]),
        ("two nodes swapped", hashes[6], 6, 11, [path[1], path[0], *path[2:]], root[11]),
        ("a place beyond the tree", hashes[6], 11, 11, path, root[11]),
        ("a negative place", hashes[6], -1, 11, path, root[11]),
        ("an empty tree", hashes[0], 0, 0, [], merkle.EMPTY_ROOT),
    ]
    consistency = [
        ("another old root", 6, root[5], 11, root[11], proof),
        ("another new root", 6, root[6], 11, root[10], proof),
        ("another old size", 7, root[6], 11, root[11], proof),
        ("a node missing", 6, root[6], 11, root[11], proof[:-1]),
        ("a node too many", 6, root[6], 11, root[11], [*proof, proof[0]]),
        ("no proof", 6, root[6], 11, root[11], []),
        ("the same size and another root", 11, root[10], 11, root[11], []),
        ("the same size and a proof", 11, root[11], 11, root[11], proof),
        ("an older tree as the newer one", 11, root[11], 6, root[6], proof),
        ("a negative size", -1, root[6], 11, root[11], proof),
    ]
    return {
        "leaves": [leaf.hex() for leaf in leaves],
        "empty_root": merkle.EMPTY_ROOT.hex(),
        "trees": trees,
        "refuse_inclusion": [
            {
                "name": name,
                "leaf_hash": leaf.hex(),
                "index": index,
                "size": size,
                "proof": [node.hex() for node in nodes],
                "root": top.hex(),
            }
            for name, leaf, index, size, nodes, top in inclusion
        ],
        "refuse_consistency": [
            {
                "name": name,
                "old_size": old_size,
                "old_root": old_root.hex(),
                "size": size,
                "root": top.hex(),
                "proof": [node.hex() for node in nodes],
            }
            for name, old_size, old_root, size, top, nodes in consistency
        ],
    }


def map_vectors() -> dict[str, Any]:
    """Owner maps of 0 to 17 owners, some with long common prefixes."""
    far = [numbered(f"owner {i}", 16) for i in range(17)]
    near = [bytes(15) + bytes([i]) for i in range(3)] + [bytes.fromhex("00" * 8 + "f0" * 8), bytes.fromhex("01" * 16)]
    cases = [
        ("no owner", []),
        ("one owner", far[:1]),
        ("two owners", far[:2]),
        ("three owners", far[:3]),
        ("seventeen owners", far),
        ("three owners that differ in the last digit", near[:3]),
        ("common beginnings of several lengths", near),
    ]
    shown = []
    for name, owners in cases:
        leaves = {owner: numbered(f"leaf of {owner.hex()}", 32) * 3 + b"\x00" for owner in owners}
        root, nodes = ownermap.update_map(ownermap.EMPTY, leaves, lambda path: None) if leaves else (ownermap.EMPTY, {})
        absent = numbered("an owner without rows", 16)
        slots = {owner: ownermap.find_slot(root, owner, nodes.get) for owner in [*owners, absent]}
        shown.append(
            {
                "name": name,
                "leaves": [{"owner": owner.hex(), "leaf": leaf.hex()} for owner, leaf in leaves.items()],
                "root": root.hex(),
                "nodes": {path.hex(): hashlib.sha256(node).hexdigest() for path, node in sorted(nodes.items())},
                "slots": {owner.hex(): None if slot is None else slot.hex() for owner, slot in slots.items()},
            }
        )
    return {"spec": "docs/spec/log.md", "maps": shown}


def note_with(note: bytes, old: str, new: str) -> str:
    """A signed note with some text replaced; the text must be there."""
    text = note.decode()
    assert old in text, old
    return text.replace(old, new, 1)


def respelled(encoded: str) -> str:
    """Another text that ordinary decoders read as the same bytes: a stray bit under the last letter before the padding."""
    letters = string.ascii_uppercase + string.ascii_lowercase + string.digits + "+/"
    body, padding = encoded.rstrip("="), "=" * encoded.count("=")
    other = body[:-1] + letters[letters.index(body[-1]) + 1] + padding
    assert other != encoded and base64.b64decode(other) == base64.b64decode(encoded)
    return other


def checkpoint_vectors() -> dict[str, Any]:
    """Signed notes and checkpoints, and notes that must be refused."""
    root = numbered("root", 32)
    note = notes.sign_checkpoint(STORE_ID, 6, root, SIGNER)
    stranger = SeedSigner(numbered("stranger", 32))
    other_origin = notes.origin_of(bytes(16))
    lines = note.decode().split("\n")
    signature = lines[4]
    cosigned = note.decode() + "— witness.example/w1 " + base64.b64encode(bytes(4) + bytes(64)).decode() + "\n"
    encoded = signature.rsplit(" ", 1)[1]
    raw = bytearray(base64.b64decode(encoded))
    raw[-1] ^= 1
    refuse = [
        ("empty", ""),
        ("no signature", "\n".join(lines[:4])),
        ("no empty line", note.decode().replace("\n\n", "\n")),
        ("no last line break", note.decode()[:-1]),
        ("another size", note_with(note, "\n6\n", "\n7\n")),
        ("a size with a leading zero", notes.sign_note(f"{ORIGIN}\n06\n{lines[2]}\n", ORIGIN, SIGNER).decode()),
        ("a negative size", notes.sign_note(f"{ORIGIN}\n-6\n{lines[2]}\n", ORIGIN, SIGNER).decode()),
        ("a root that is too short", notes.sign_note(f"{ORIGIN}\n6\nAAAA\n", ORIGIN, SIGNER).decode()),
        ("a fourth line", notes.sign_note(f"{ORIGIN}\n6\n{lines[2]}\nmore\n", ORIGIN, SIGNER).decode()),
        ("two lines", notes.sign_note(f"{ORIGIN}\n6\n", ORIGIN, SIGNER).decode()),
        ("a control character", notes.sign_note(f"{ORIGIN}\n6\n{lines[2]}\r\n", ORIGIN, SIGNER).decode()),
        ("another log's text under our key", notes.sign_note(f"{other_origin}\n6\n{lines[2]}\n", ORIGIN, SIGNER).decode()),
        ("another key", notes.sign_note("\n".join(lines[:3]) + "\n", ORIGIN, stranger).decode()),
        ("another name", notes.sign_note("\n".join(lines[:3]) + "\n", other_origin, SIGNER).decode()),
        ("one bit of the signature", note_with(note, encoded, base64.b64encode(bytes(raw)).decode())),
        ("a signature that is no base64", note_with(note, encoded, "!" + encoded[1:])),
        ("stray bits under a signature's last letter", note_with(note, encoded, respelled(encoded))),
        ("a short signature", note_with(note, encoded, "AAAA")),
        ("a hyphen for the dash", note_with(note, "— ", "- ")),
        ("a broken second signature line", note.decode() + "— witness\n"),
        ("a second empty line", note_with(note, "\n\n", "\n\n\n")),
    ]
    text = f"witnesstree_export\n{ORIGIN}\nsha256 {numbered('lines', 32).hex()}\n"
    return {
        "spec": "docs/spec/checkpoint.md",
        "store_id": STORE_ID.hex(),
        "origin": ORIGIN,
        "public_key": MASTER.public_key.hex(),
        "key_id": notes.key_id(ORIGIN, MASTER.public_key).hex(),
        "verifier_key": notes.verifier_key(ORIGIN, MASTER.public_key),
        "checkpoint": {"size": 6, "root": root.hex(), "note": note.decode()},
        "cosigned": {"size": 6, "root": root.hex(), "note": cosigned},
        "refuse": [{"name": name, "note": bad} for name, bad in refuse],
        "export": {"text": text, "note": notes.sign_note(text, ORIGIN, SIGNER).decode()},
        "refuse_verifier_key": [
            {"name": name, "key": key}
            for name, key in (
                ("no parts", "witnesstree"),
                ("another id", f"{ORIGIN}+00000000+{base64.b64encode(notes.ED25519 + MASTER.public_key).decode()}"),
                (
                    "another algorithm",
                    f"{ORIGIN}+{notes.key_id(ORIGIN, MASTER.public_key).hex()}+"
                    + base64.b64encode(b"\x02" + MASTER.public_key).decode(),
                ),
                ("no base64", f"{ORIGIN}+{notes.key_id(ORIGIN, MASTER.public_key).hex()}+***"),
            )
        ],
    }


def proof_vectors() -> dict[str, Any]:
    """A proof of one memory, an erasure receipt, and an anchor slot."""
    owner = KEYS.owner_key("user:alice")
    record = plain_record(text="I like green tea. 🍵", metadata={"x": 0.1})
    content = encode(record)
    entry = row_entry(
        2,
        record.op,
        at=record.recorded_at,
        salt=record.salt,
        actor=record.actor,
        target=record.id + record.version.to_bytes(4, "big"),
        owner=owner,
        before=None,
        content=content,
    )
    others = [numbered(f"other entry {i}", 178) * 6 for i in range(5)]
    entries = [*[other[:178] for other in others[:2]], entry, *[other[:178] for other in others[2:]]]
    hashes = [merkle.leaf_hash(data) for data in entries]
    note = notes.sign_checkpoint(STORE_ID, len(entries), merkle.tree_root(hashes), SIGNER)
    proof = make_proof(entry, content, 2, merkle.inclusion_proof(hashes, 2), note)
    lines = proof.split("\n")
    altered = encode(record.with_changes(text="I like green beer.🍺"))
    stranger = SeedSigner(numbered("stranger", 32))
    forged_note = notes.sign_checkpoint(STORE_ID, len(entries), merkle.tree_root(hashes), stranger)
    facts = {
        "position": "6",
        "leaf": numbered("leaf", 32).hex(),
        "memories": "1",
        "versions": "2",
        "bytes": "overwritten",
        "at": "2026-11-30T12:00:00Z",
    }
    receipt = make_receipt(STORE_ID, SIGNER, facts)
    frontier, size = merkle.extend([], 0, entries)
    state = AnchorState(size, merkle.tree_root(hashes), tuple(frontier))
    body = struct.pack(">4s16sQ32sB", b"WTA1", STORE_ID, size, state.root, len(frontier)) + b"".join(frontier)
    slot = (body + hmac.digest(KEYS.anchor, body, "sha256")).ljust(SLOT_BYTES, b"\x00")
    return {
        "spec": "docs/spec/checkpoint.md",
        "verifier_key": notes.verifier_key(ORIGIN, MASTER.public_key),
        "proof": {
            "entries": [data.hex() for data in entries],
            "index": 2,
            "content": content.hex(),
            "text": record.text,
            "actor": record.actor,
            "proof": proof,
        },
        "refuse_proof": [
            {"name": name, "proof": bad}
            for name, bad in (
                ("empty", ""),
                ("another first line", proof.replace("@v1", "@v2", 1)),
                ("another content", proof.replace(lines[1], "extra " + base64.b64encode(entry + altered).decode())),
                ("another entry", proof.replace(lines[1], "extra " + base64.b64encode(entries[3] + content).decode())),
                ("another place", proof.replace("index 2", "index 3")),
                ("a place with a leading zero", proof.replace("index 2", "index 02")),
                ("a node missing", "\n".join([*lines[:3], *lines[4:]])),
                ("a node that is too short", proof.replace(lines[3], "AAAA")),
                ("stray bits under a node's last letter", proof.replace(lines[3], respelled(lines[3]))),
                ("no extra line", "\n".join([lines[0], *lines[2:]])),
                ("no checkpoint", proof.partition("\n\n")[0]),
                ("a checkpoint of another key", proof.partition("\n\n")[0] + "\n\n" + forged_note.decode()),
            )
        ],
        "receipt": {"facts": facts, "receipt": receipt},
        "refuse_receipt": [
            {"name": name, "receipt": bad}
            for name, bad in (
                ("empty", ""),
                ("another number of memories", receipt.replace("memories 1", "memories 2")),
                ("a checkpoint instead", note.decode()),
                ("another key", make_receipt(STORE_ID, stranger, facts)),
                ("another log", make_receipt(bytes(16), SIGNER, facts)),
            )
        ],
        "anchor": {
            "key": KEYS.anchor.hex(),
            "store_id": STORE_ID.hex(),
            "size": size,
            "root": state.root.hex(),
            "frontier": [peak.hex() for peak in frontier],
            "slot": slot.rstrip(b"\x00").hex(),
            "slot_bytes": SLOT_BYTES,
        },
    }


VECTORS = {
    "keys.json": key_vectors,
    "record.json": record_vectors,
    "seal.json": seal_vectors,
    "log.json": log_vectors,
    "map.json": map_vectors,
    "checkpoint.json": checkpoint_vectors,
    "proof.json": proof_vectors,
}


def vector_bytes(name: str) -> bytes:
    """The file's content."""
    return (json.dumps(VECTORS[name](), indent=1) + "\n").encode()


if __name__ == "__main__":
    for file_name in VECTORS:
        (FOLDER / file_name).write_bytes(vector_bytes(file_name))
        print(file_name)
