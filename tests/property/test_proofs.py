"""Properties of the pure parts: codec, Merkle tree, owner map, notes, and that nothing but ``Error`` ever leaves a check."""

from __future__ import annotations

import hashlib
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from witnesstree.errors import Error, LogError, PackError, SealError
from witnesstree.flow.columns import LATEST, LAYOUT, Columns
from witnesstree.proof import merkle, ownermap
from witnesstree.proof.checkpoint import (
    parse_checkpoint,
    parse_verifier_key,
    sign_note,
    verifier_key,
    verify_checkpoint,
    verify_note,
)
from witnesstree.proof.digest import Leaf, decode_leaf
from witnesstree.proof.encoding import ENTRY, Entry, decode_entry
from witnesstree.proof.keys import MasterKey, SeedSigner, StoreKeys
from witnesstree.proof.receipt import verify_proof, verify_receipt
from witnesstree.proof.seal import Sealer, seal_row, verify_seal
from witnesstree.types.facts import audit_facts, read_parts
from witnesstree.types.record import Record, Span
from witnesstree.types.trust import Authority, Kind, Op, Role, Status, Trust
from witnesstree.types.wire import ABSENT, decode, encode

SIGNER = SeedSigner(bytes(32))
KEYS = StoreKeys.derive(MasterKey.from_entropy(bytes(32)), bytes(16))
instants = st.none() | st.integers(-(2**62), 2**62)
words = st.text(max_size=40)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=8,
)
records = st.builds(
    Record,
    id=st.binary(min_size=16, max_size=16),
    version=st.integers(1, 2**32 - 1),
    kind=st.sampled_from(Kind),
    role=st.sampled_from(Role),
    authority=st.sampled_from(Authority),
    trust=st.sampled_from(Trust),
    status=st.sampled_from(Status),
    op=st.sampled_from(Op),
    recorded_at=st.integers(-(2**62), 2**62),
    salt=st.binary(min_size=16, max_size=16),
    fingerprint=st.binary(min_size=16, max_size=16),
    said_at=instants,
    valid_from=instants,
    valid_to=instants,
    expires_at=instants,
    text=words,
    user=words,
    actor=words,
    agent=words,
    session=words,
    scope=words,
    name=words,
    source=words,
    subject=words,
    predicate=words,
    metadata=st.dictionaries(words, json_values, max_size=4),
    evidence=st.lists(st.builds(Span, st.binary(min_size=16, max_size=16), *[st.integers(0, 2**32 - 1)] * 3), max_size=3).map(
        tuple
    ),
    purposes=st.lists(st.text("abc", min_size=1, max_size=5), max_size=3).map(tuple),
    origin=words,
    nonce=st.binary(max_size=20),
    signature=st.binary(max_size=70),
    payload=st.binary(max_size=50),
)


@given(records)
def test_record_comes_back_from_its_bytes(record: Record) -> None:
    """Encoding loses nothing, and there is one encoding."""
    content = encode(record)
    assert decode(content) == record
    assert encode(decode(content)) == content


@given(records, st.data())
def test_changed_record_bytes_are_refused_or_another_canonical_record(record: Record, data: st.DataObject) -> None:
    """Whatever is accepted is canonical: it encodes to exactly the bytes that were read."""
    content = bytearray(encode(record))
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    try:
        found = decode(bytes(content))
    except SealError:
        return
    assert encode(found) == bytes(content)


@given(st.binary(max_size=400))
def test_any_bytes_give_an_error_of_ours_or_a_value(data: bytes) -> None:
    """No input makes a check raise anything outside the error tree."""
    text = data.decode("latin-1")
    for check in (
        lambda: decode(data),
        lambda: decode_entry(data),
        lambda: decode_leaf(KEYS, data),
        lambda: verify_note(data, "n", SIGNER.public_key),
        lambda: verify_checkpoint(data, bytes(16), SIGNER.public_key),
        lambda: parse_checkpoint(text),
        lambda: parse_verifier_key(text),
        lambda: verify_proof(text, verifier_key("n", SIGNER.public_key)),
        lambda: verify_receipt(text, verifier_key("n", SIGNER.public_key)),
    ):
        with suppress(Error):
            check()


@given(st.integers(0, 70), st.data())
def test_frontier_grows_to_the_same_root_as_the_whole_tree(size: int, data: st.DataObject) -> None:
    """Appending step by step or at once, root and frontier agree with the plain definition."""
    entries = [bytes([i, i ^ 5]) for i in range(size)]
    cut = data.draw(st.integers(0, size))
    first, count = merkle.extend([], 0, entries[:cut])
    peaks, total = merkle.extend(first, count, entries[cut:])
    hashes = [merkle.leaf_hash(entry) for entry in entries]
    assert total == size and len(peaks) == size.bit_count()
    assert merkle.frontier_root(peaks) == merkle.tree_root(hashes) == _rfc6962(entries)


def _rfc6962(entries: list[bytes]) -> bytes:
    """The recursive definition of RFC 6962 section 2.1."""
    if not entries:
        return hashlib.sha256(b"").digest()
    if len(entries) == 1:
        return hashlib.sha256(b"\x00" + entries[0]).digest()
    k = 1
    while k * 2 < len(entries):
        k *= 2
    return hashlib.sha256(b"\x01" + _rfc6962(entries[:k]) + _rfc6962(entries[k:])).digest()


@given(st.integers(1, 40), st.data())
def test_inclusion_proof_proves_its_leaf_and_no_other(size: int, data: st.DataObject) -> None:
    """A good proof verifies; for another leaf, index or root it does not."""
    hashes = [merkle.leaf_hash(bytes([i])) for i in range(size)]
    index = data.draw(st.integers(0, size - 1))
    proof, root = merkle.inclusion_proof(hashes, index), merkle.tree_root(hashes)
    assert merkle.verify_inclusion(hashes[index], index, size, proof, root) == root
    wrong = data.draw(st.integers(0, size).filter(lambda i: i != index))
    for leaf, at, path in (
        (hashes[index], wrong, proof),
        (merkle.leaf_hash(b"other"), index, proof),
        (hashes[index], index, [*proof, root]),
        (hashes[index], index, [bytes(32)] * max(1, len(proof))),
    ):
        with pytest.raises(PackError):
            merkle.verify_inclusion(leaf, at, size, path, root)


@given(st.integers(1, 40), st.data())
def test_consistency_proof_holds_for_prefixes_only(size: int, data: st.DataObject) -> None:
    """A later tree extends an earlier one exactly when the earlier leaves are its prefix."""
    hashes = [merkle.leaf_hash(bytes([i])) for i in range(size)]
    old = data.draw(st.integers(1, size))
    proof = merkle.consistency_proof(hashes, old)
    root, old_root = merkle.tree_root(hashes), merkle.tree_root(hashes[:old])
    assert merkle.verify_consistency(old, old_root, size, root, proof) == root
    forged = merkle.tree_root([merkle.leaf_hash(b"x"), *hashes[1:old]])
    with pytest.raises(PackError):
        merkle.verify_consistency(old, forged, size, root, proof)


owners = st.binary(min_size=16, max_size=16) | st.integers(0, 15).map(lambda n: bytes(15) + bytes([n]))


@given(st.lists(st.tuples(owners, st.binary(min_size=1, max_size=8)), max_size=25), st.lists(owners, max_size=5))
def test_owner_map_is_a_map_that_proves_presence_and_absence(changes: list[tuple[bytes, bytes]], strangers: list[bytes]) -> None:
    """Updates one by one or at once give one root; each owner is found; a stranger is proven absent."""
    nodes: dict[bytes, bytes] = {}
    root = ownermap.EMPTY
    model: dict[bytes, bytes] = {}
    for owner, leaf in changes:
        root, written = ownermap.update_map(root, {owner: leaf}, nodes.get)
        nodes |= written
        model[owner] = leaf
    at_once, fresh = ownermap.update_map(ownermap.EMPTY, model, lambda path: None)
    assert root == at_once and (not model or fresh == nodes)
    for owner, leaf in model.items():
        assert ownermap.find_slot(root, owner, nodes.get) == ownermap.leaf_slot(owner, leaf)
    for stranger in set(strangers) - model.keys():
        assert ownermap.find_slot(root, stranger, nodes.get) is None


@given(st.dictionaries(owners, st.binary(min_size=1, max_size=8), min_size=1, max_size=20), st.data())
def test_owner_map_refuses_a_changed_or_missing_node_on_the_path(model: dict[bytes, bytes], data: st.DataObject) -> None:
    """No node can be altered, swapped or dropped so that an owner reads differently."""
    root, nodes = ownermap.update_map(ownermap.EMPTY, model, lambda path: None)
    path = data.draw(st.sampled_from(sorted(nodes)))
    broken = dict(nodes)
    change = data.draw(st.sampled_from(["drop", "flip", "swap", "short"]))
    if change == "drop":
        del broken[path]
    elif change == "flip":
        at = data.draw(st.integers(0, len(nodes[path]) - 1))
        broken[path] = nodes[path][:at] + bytes([nodes[path][at] ^ 1]) + nodes[path][at + 1 :]
    elif change == "swap":
        broken[path] = nodes[data.draw(st.sampled_from(sorted(nodes)))]
    else:
        broken[path] = nodes[path][:-1]
    for owner, leaf in model.items():
        try:
            found = ownermap.find_slot(root, owner, broken.get)
        except LogError:
            continue
        assert found == ownermap.leaf_slot(owner, leaf)


@given(st.integers(0, 2**40), st.integers(0, 2**40), st.integers(0, 2**256 - 1), st.binary(min_size=16, max_size=16))
def test_leaf_hides_its_digest_and_gives_it_back(count: int, last_seq: int, digest: int, nonce: bytes) -> None:
    """The masked sum in the stored leaf is not the sum, and unmasks to it under the key."""
    leaf = Leaf(bytes(16), count, last_seq, digest, nonce, bytes(16))
    data = leaf.encode(KEYS)
    assert decode_leaf(KEYS, data) == leaf
    assert digest.to_bytes(32, "big") != data[49:81]


@given(st.binary(max_size=60), st.binary(min_size=16, max_size=16), st.integers(0, 2**40), st.data())
def test_seal_binds_content_owner_and_place(content: bytes, owner: bytes, seq: int, data: st.DataObject) -> None:
    """A row verifies where it was sealed and nowhere else; moving a byte between fields does not help."""
    row = seal_row(KEYS, owner, seq, content)
    assert verify_seal(KEYS, owner, row) == row
    other = data.draw(st.sampled_from(["content", "owner", "seq", "seal", "longer"]))
    changed = {
        "content": row._replace(content=content + b"x"),
        "owner": row._replace(owner=bytes(b ^ 1 for b in owner)),
        "seq": row._replace(seq=seq + 1),
        "seal": row._replace(seal=row.seal[:-1] + bytes([row.seal[-1] ^ 1])),
        "longer": row._replace(content=b"\x00" + content),
    }[other]
    with pytest.raises(SealError):
        verify_seal(KEYS, owner, changed)


@given(st.text(st.characters(blacklist_categories=("Cs", "Cc")), max_size=60), st.data())
def test_signed_note_gives_back_its_text_and_no_changed_one(line: str, data: st.DataObject) -> None:
    """One flipped bit anywhere in a note, and it is refused or still says exactly what was signed."""
    text = f"first\n{line}\n"
    note = sign_note(text, "name", SIGNER)
    assert verify_note(note, "name", SIGNER.public_key) == text
    at = data.draw(st.integers(0, len(note) - 1))
    broken = note[:at] + bytes([note[at] ^ (1 << data.draw(st.integers(0, 7)))]) + note[at + 1 :]
    try:
        assert verify_note(broken, "name", SIGNER.public_key) == text
    except PackError:
        pass


@given(st.integers(0, 2**60), st.sampled_from(Op), st.binary(min_size=32, max_size=32))
def test_log_entry_has_one_fixed_size_encoding(seq: int, op: Op, value: bytes) -> None:
    """178 bytes, no more and no less, and back."""
    entry = Entry(seq, -5, op, value, value[::-1], value, bytes(32), value)
    assert decode_entry(entry.encode()) == entry and len(entry.encode()) == ENTRY.size == 178


def _column(columns: Columns, name: str) -> object:
    """The only entry of a column, as ``RowFacts`` gives it."""
    if name in ("id", "fingerprint"):
        return columns.raw(0, name)
    value = columns[name].tolist()[0]
    texts = {"session": columns.sessions, "scope": columns.scopes, "name": columns.speakers}
    return texts[name].texts[value] if name in texts else None if value == ABSENT else value


@given(records, st.integers(0, 2**40))
def test_quick_readers_read_what_the_codec_decodes(record: Record, seq: int) -> None:
    """Views and audits read single fields from verified content; they must be those of the whole record."""
    content = encode(record)
    whole = decode(content)
    parts = read_parts(seq, content)
    for name in ("text", "payload", "session", "scope", "name"):
        assert getattr(parts, name) == getattr(whole, name), name
    columns = Columns()
    names = (parts.session, parts.scope, parts.name)
    document = columns.append(parts.fixed, (b"s" * 33, b"i" * 32), seq=seq, first_seq=seq, names=names, marks=0, state=LATEST)
    facts = columns.facts(document)
    for name in facts._fields:
        if name not in ("document", "seq", "first_seq", "seal", "inner"):
            assert getattr(facts, name) == getattr(whole, name), name
            assert name not in LAYOUT.names or _column(columns, name) == getattr(facts, name), name
    assert (facts.document, facts.seq, facts.first_seq, facts.seal, facts.inner) == (0, seq, seq, b"s" * 33, b"i" * 32)
    audited = audit_facts(content)
    for name in audited._fields:
        assert getattr(audited, name) == getattr(whole, name), name


@given(st.binary(max_size=300), st.binary(max_size=300), st.integers(0, 2**40), st.data())
def test_row_is_taken_again_only_as_it_was_proven(content: bytes, vector: bytes, seq: int, data: st.DataObject) -> None:
    """edit-I1, edit-I3: any change of any column, a move, or another genuine row is refused by the quick second check too."""
    keys = StoreKeys.derive(MasterKey.from_entropy(bytes(32)), bytes(16))
    owner = keys.owner_key("user:ana")
    sealer = Sealer(keys, owner)
    row = seal_row(keys, owner, seq, content, vector)
    inner = sealer.prove(row)
    assert sealer.again(row, row.seal, inner) is row
    field = data.draw(st.sampled_from(["seq", "owner", "content", "seal", "vector"]))
    old = getattr(row, field)
    new = old + 1 if field == "seq" else data.draw(st.binary(max_size=300).filter(lambda value: value != old))
    other = seal_row(keys, owner, seq, content + b"x", vector)
    for wrong in (row._replace(**{field: new}), other, row._replace(content=content + vector, vector=b"") if vector else other):
        with pytest.raises(SealError):
            sealer.again(wrong, row.seal, inner)
