"""The byte formats of docs/spec: the product, the vectors and a second implementation agree, bit for bit."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.vectors import from_spec
from tests.vectors.make_vectors import FOLDER, VECTORS, vector_bytes
from witnesstree.anchors.base import AnchorState
from witnesstree.anchors.file import FileAnchor
from witnesstree.errors import LogError, PackError, SealError
from witnesstree.flow.cache import VIEW_MAGIC, ViewCache
from witnesstree.proof import checkpoint as notes
from witnesstree.proof import merkle, ownermap
from witnesstree.proof.digest import Leaf, decode_leaf, element
from witnesstree.proof.encoding import decode_entry
from witnesstree.proof.keys import MasterKey, StoreKeys
from witnesstree.proof.mac import hmac_sha256
from witnesstree.proof.receipt import verify_proof, verify_receipt
from witnesstree.proof.seal import make_seal, verify_seal
from witnesstree.types.record import Record, SealedRecord, Span
from witnesstree.types.tombstone import read_tombstone, write_tombstone
from witnesstree.types.trust import Authority, Kind, Op, Role, Status, Trust
from witnesstree.types.wire import decode, encode

SEEN = {name: json.loads((FOLDER / name).read_bytes()) for name in VECTORS}
RECORD, KEY, SEAL = SEEN["record.json"], SEEN["keys.json"], SEEN["seal.json"]
LOG, MAP, NOTE, PROOF = SEEN["log.json"], SEEN["map.json"], SEEN["checkpoint.json"], SEEN["proof.json"]
MERKLE = LOG["merkle"]
HEX = bytes.fromhex


def named(cases: list[dict[str, Any]]) -> pytest.MarkDecorator:
    """One test a case, called as in the file."""
    return pytest.mark.parametrize("case", cases, ids=[case["name"] for case in cases])


def as_record(shown: dict[str, Any]) -> Record:
    """The product's record of a vector."""
    kinds = {"kind": Kind, "role": Role, "authority": Authority, "trust": Trust, "status": Status, "op": Op}
    values = {name: kinds[name](value) if name in kinds else value for name, value in shown.items()}
    for name in ("id", "salt", "fingerprint", "nonce", "signature", "payload"):
        values[name] = HEX(values[name])
    values["evidence"] = tuple(Span(HEX(source), *place) for source, *place in values["evidence"])
    values["purposes"] = tuple(values["purposes"])
    return Record(**values)


def store_keys(store_id: str) -> StoreKeys:
    """The keys of a store under the vectors' entropy."""
    return StoreKeys.derive(MasterKey.from_entropy(HEX(KEY["entropy"])), HEX(store_id))


ALICE = store_keys(SEAL["store_id"])


@pytest.mark.parametrize("name", sorted(VECTORS))
def test_making_the_vectors_again_gives_the_same_bytes(name: str):
    """A changed format shows here first."""
    assert vector_bytes(name) == (FOLDER / name).read_bytes(), "if this is meant: python -m tests.vectors.make_vectors"


def test_every_vector_file_is_named_by_its_page():
    """Who reads a page finds its vectors."""
    root = Path(__file__).resolve().parents[2]
    for name, vectors in SEEN.items():
        assert f"tests/vectors/{name}" in (root / vectors["spec"]).read_text(encoding="utf-8"), name


# -- keys -------------------------------------------------------------------------------------------------------------------


def test_keys_follow_from_entropy_as_the_spec_says():
    """Root, naming and signer seed come from the entropy alone."""
    entropy = HEX(KEY["entropy"])
    for label, field in (("root", "root"), ("naming", "naming"), ("signer", "signer_seed")):
        assert from_spec.derived(entropy, label).hex() == KEY[field]
    master = MasterKey.from_entropy(entropy)
    assert (master.root.hex(), master.naming.hex(), master.public_key.hex()) == (KEY["root"], KEY["naming"], KEY["public_key"])


@pytest.mark.parametrize("case", KEY["stores"], ids=lambda case: case["store_id"][:4])
def test_store_keys_follow_from_root_and_naming(case: dict[str, str]):
    """Four keys die with a rotation, three outlive it."""
    root, naming, store_id = HEX(KEY["root"]), HEX(KEY["naming"]), HEX(case["store_id"])
    keys = store_keys(case["store_id"])
    for label in ("seal", "digest", "mask", "cache"):
        assert from_spec.derived(root, label, store_id).hex() == case[label] == getattr(keys, label).hex()
    assert from_spec.derived(naming, "anchor", store_id).hex() == case["anchor"] == keys.anchor.hex()
    for label in ("owner", "tombstone"):
        assert from_spec.derived(naming, label).hex() == case[label] == getattr(keys, label).hex()


@pytest.mark.parametrize("case", KEY["owner_keys"], ids=lambda case: case["partition"])
def test_owner_keys_are_keyed_names_of_partitions(case: dict[str, str]):
    """Two partitions that look alike have nothing in common."""
    made = from_spec.hmac.digest(HEX(KEY["stores"][0]["owner"]), case["partition"].encode(), "sha256")[:16]
    assert made.hex() == case["owner_key"] == ALICE.owner_key(case["partition"]).hex()


def test_cache_file_has_the_name_key_and_header_of_the_spec(tmp_path: Path):
    """The folder tells nobody whose cache it is."""
    case, key = KEY["cache"], HEX(KEY["stores"][0]["cache"])
    owner, epoch = HEX(case["owner_key"]), HEX(case["epoch"])
    files = ViewCache(tmp_path, ALICE).files
    assert (
        from_spec.hmac.digest(key, owner, "sha256")[:16].hex() + ".view" == case["file_name"] == files._path(owner, "view").name
    )
    assert from_spec.hmac.digest(key, b"epoch" + epoch, "sha256").hex() == case["key"] == files._key(epoch).hex()
    assert (b"WTC1" + owner + from_spec.sha256(epoch)).hex() == case["header"]
    assert VIEW_MAGIC == b"WTC1"


# -- records ----------------------------------------------------------------------------------------------------------------


@named(RECORD["encode"])
def test_a_record_has_exactly_one_encoding(case: dict[str, Any]):
    """Spec, vectors and product give the same bytes, and reading gives the record back."""
    content = HEX(case["content"])
    record = as_record(case["record"])
    assert from_spec.record_bytes(case["record"]) == content
    assert encode(record) == content
    assert decode(content) == record
    assert encode(decode(content)) == content


@named(RECORD["refuse"])
def test_bytes_that_are_no_record_are_refused(case: dict[str, str]):
    """Nothing but the one encoding is accepted."""
    with pytest.raises(SealError) as caught:
        decode(HEX(case["content"]))
    assert caught.value.reason == "undecodable"


def test_the_key_order_in_which_metadata_came_does_not_matter():
    """Two dicts that are equal are one encoding."""
    shown = dict(RECORD["encode"][0]["record"])
    one = as_record(shown | {"metadata": {"a": 1, "b": {"c": 1, "d": 2}}})
    two = as_record(shown | {"metadata": {"b": {"d": 2, "c": 1}, "a": 1}})
    assert encode(one) == encode(two)


def test_a_tombstone_has_sorted_marks_and_joined_ranges():
    """The payload of the row that stands for what was erased."""
    case = RECORD["tombstone"]
    marks, payload = [HEX(mark) for mark in case["marks"]], HEX(case["payload"])
    assert from_spec.tombstone(marks, case["positions"]) == payload == write_tombstone(marks, case["positions"])
    assert read_tombstone(payload) == (sorted(marks), [(2, 4), (7, 7), (9, 9)])
    for item in case["mark_of"]:
        key = HEX(KEY["stores"][0]["tombstone"])
        assert from_spec.hmac.digest(key, HEX(item["value"]), "sha256")[:16].hex() == item["mark"]


# -- seals and leaves -------------------------------------------------------------------------------------------------------


def sealed_row(case: dict[str, Any]) -> SealedRecord:
    """The row that a case describes."""
    return SealedRecord(case["seq"], *(HEX(case[name]) for name in ("owner", "content", "seal", "vector")))


@named(SEAL["seal"])
def test_a_seal_binds_store_owner_place_content_and_vector(case: dict[str, Any]):
    """Spec, vectors and product give the same seal and the same element."""
    row = sealed_row(case)
    seq, owner, content, seal, vector = row
    assert from_spec.seal(HEX(SEAL["seal_key"]), HEX(SEAL["store_id"]), owner, seq, content, vector) == seal
    assert make_seal(ALICE, owner, seq, content, vector) == seal
    assert from_spec.element(HEX(SEAL["digest_key"]), seal).hex() == case["element"] == f"{element(ALICE, seal):064x}"
    assert verify_seal(ALICE, owner, row, seal) is row


@named(SEAL["refuse"])
def test_a_row_with_another_seal_is_refused(case: dict[str, Any]):
    """Moved, altered, shortened: never taken for the row that was written."""
    row = sealed_row(case)
    with pytest.raises(SealError):
        verify_seal(ALICE, row.owner, row)


def test_a_genuine_seal_other_than_the_expected_one_is_refused():
    """An older row in the place of a newer one is genuine and still wrong."""
    case = SEAL["seal"][0]
    row = sealed_row(case)
    with pytest.raises(SealError):
        verify_seal(ALICE, row.owner, row, HEX(SEAL["seal"][1]["seal"]))
    with pytest.raises(SealError):
        verify_seal(ALICE, ALICE.owner_key("user:bob"), row)


@pytest.mark.parametrize("case", SEAL["leaf"], ids=lambda case: str(case["count"]))
def test_a_leaf_hides_the_digest_under_a_mask(case: dict[str, Any]):
    """97 bytes that only the key's holder can open."""
    owner, nonce, epoch, digest = (HEX(case[name]) for name in ("owner", "nonce", "epoch", "digest"))
    made = from_spec.leaf(HEX(SEAL["mask_key"]), owner, case["count"], case["last_seq"], digest, nonce, epoch)
    assert made.hex() == case["leaf"]
    leaf = Leaf(owner, case["count"], case["last_seq"], int.from_bytes(digest, "big"), nonce, epoch)
    assert leaf.encode(ALICE) == made
    assert decode_leaf(ALICE, made) == leaf


@named(SEAL["refuse_leaf"])
def test_bytes_that_are_no_leaf_are_refused(case: dict[str, str]):
    """A leaf has one length and one format."""
    with pytest.raises(LogError):
        decode_leaf(ALICE, HEX(case["leaf"]))


# -- log --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", LOG["row_entry"], ids=lambda case: str(case["seq"]))
def test_a_log_entry_follows_from_the_row(case: dict[str, Any]):
    """Whoever holds the row can make its entry; whoever holds the entry learns nothing."""
    before = None if case["before"] is None else HEX(case["before"])
    made = from_spec.row_entry(case["seq"], HEX(case["owner"]), HEX(case["content"]), before)
    assert made.hex() == case["entry"]
    assert len(made) == 178
    assert from_spec.sha256(b"\x00" + made).hex() == case["leaf_hash"]
    assert decode_entry(made).encode() == made


def test_a_commit_entry_holds_the_two_map_roots():
    """It is all that ties the rows to the signed root."""
    case = LOG["commit_entry"]
    made = from_spec.commit_entry(case["seq"], case["at"], HEX(case["map_before"]), HEX(case["map_after"]))
    assert made.hex() == case["entry"]
    assert decode_entry(made).after.hex() == case["map_after"]


@named(LOG["refuse_entry"])
def test_bytes_that_are_no_entry_are_refused(case: dict[str, str]):
    """An entry has one length, one format and a known operation."""
    with pytest.raises(LogError):
        decode_entry(HEX(case["entry"]))


@pytest.mark.parametrize("case", MERKLE["trees"], ids=lambda case: str(case["size"]))
def test_tree_roots_and_proofs_hold_for_each_size(case: dict[str, Any]):
    """Root, frontier, every inclusion proof, every consistency proof."""
    size, root = case["size"], HEX(case["root"])
    leaves = [HEX(leaf) for leaf in MERKLE["leaves"][:size]]
    hashes = [merkle.leaf_hash(leaf) for leaf in leaves]
    assert from_spec.tree_root(leaves) == root == merkle.tree_root(hashes)
    peaks, _ = merkle.extend([], 0, leaves)
    assert [peak.hex() for peak in peaks] == case["frontier"] == [peak.hex() for peak in from_spec.frontier(leaves)]
    assert merkle.frontier_root(peaks) == root
    for index, path in enumerate(case["inclusion"]):
        assert merkle.verify_inclusion(hashes[index], index, size, [HEX(node) for node in path], root) == root
    for old_size, path in enumerate(case["consistency"]):
        old_root = from_spec.tree_root(leaves[:old_size])
        assert merkle.verify_consistency(old_size, old_root, size, root, [HEX(node) for node in path]) == root


def test_the_empty_tree_has_the_hash_of_nothing():
    """As RFC 6962 has it."""
    assert from_spec.tree_root([]).hex() == MERKLE["empty_root"] == merkle.EMPTY_ROOT.hex()


@named(MERKLE["refuse_inclusion"])
def test_a_wrong_inclusion_proof_is_refused(case: dict[str, Any]):
    """A path leads from one leaf at one place to one root."""
    path = [HEX(node) for node in case["proof"]]
    with pytest.raises(PackError):
        merkle.verify_inclusion(HEX(case["leaf_hash"]), case["index"], case["size"], path, HEX(case["root"]))


@named(MERKLE["refuse_consistency"])
def test_a_wrong_consistency_proof_is_refused(case: dict[str, Any]):
    """Two roots belong to one log only if the proof says so."""
    path = [HEX(node) for node in case["proof"]]
    with pytest.raises(PackError):
        merkle.verify_consistency(case["old_size"], HEX(case["old_root"]), case["size"], HEX(case["root"]), path)


@named(MAP["maps"])
def test_the_owner_map_has_one_root_for_a_set_of_leaves(case: dict[str, Any]):
    """Built at once, one by one, or backwards: the same root, and a path for each owner and each absence."""
    leaves = {HEX(item["owner"]): HEX(item["leaf"]) for item in case["leaves"]}
    assert from_spec.map_root(leaves).hex() == case["root"]
    for order in (list(leaves), list(reversed(leaves))):
        root, nodes = ownermap.EMPTY, {}
        for owner in order:
            root, written = ownermap.update_map(root, {owner: leaves[owner]}, nodes.get)
            nodes |= written
        assert root.hex() == case["root"]
        assert {path.hex(): from_spec.sha256(node).hex() for path, node in nodes.items()} == case["nodes"]
        for owner, slot in case["slots"].items():
            found = ownermap.find_slot(root, HEX(owner), nodes.get)
            assert (None if found is None else found.hex()) == slot


def test_an_altered_map_node_is_refused_on_every_path():
    """No owner's presence or absence can be faked."""
    case = MAP["maps"][4]
    leaves = {HEX(item["owner"]): HEX(item["leaf"]) for item in case["leaves"]}
    root, nodes = ownermap.update_map(ownermap.EMPTY, leaves, lambda path: None)
    for path in nodes:
        altered = dict(nodes)
        altered[path] = bytes([nodes[path][0] ^ 1]) + nodes[path][1:]
        below = [owner for owner in leaves if ownermap.nibbles(owner).startswith(path)]
        for owner in below:
            with pytest.raises(LogError):
                ownermap.find_slot(root, owner, altered.get)
            with pytest.raises(LogError):
                ownermap.find_slot(root, owner, {p: n for p, n in nodes.items() if p != path}.get)


# -- notes, checkpoints, proofs ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["checkpoint", "cosigned"])
def test_a_checkpoint_is_verified_with_the_verifier_key(name: str):
    """A second, unknown signature changes nothing."""
    case = NOTE[name]
    key_name, public_key = notes.parse_verifier_key(NOTE["verifier_key"])
    assert (key_name, public_key.hex()) == (NOTE["origin"], NOTE["public_key"])
    checkpoint = notes.verify_checkpoint(case["note"].encode(), HEX(NOTE["store_id"]), public_key)
    assert (checkpoint.origin, checkpoint.size, checkpoint.root.hex()) == (NOTE["origin"], case["size"], case["root"])


def test_a_key_id_is_the_beginning_of_a_hash():
    """As the C2SP page has it."""
    made = from_spec.sha256(NOTE["origin"].encode() + b"\n\x01" + HEX(NOTE["public_key"]))[:4]
    assert made.hex() == NOTE["key_id"]


@named(NOTE["refuse"])
def test_a_note_that_is_no_checkpoint_of_this_log_is_refused(case: dict[str, str]):
    """Altered, unsigned, of another log, or not in the one form."""
    with pytest.raises(LogError) as caught:
        notes.verify_checkpoint(case["note"].encode(), HEX(NOTE["store_id"]), HEX(NOTE["public_key"]))
    assert caught.value.reason == "head_invalid"


@named(NOTE["refuse_verifier_key"])
def test_a_damaged_verifier_key_is_refused(case: dict[str, str]):
    """Its id is a check sum."""
    with pytest.raises(PackError):
        notes.parse_verifier_key(case["key"])


def test_an_export_is_signed_by_a_note_over_its_lines():
    """The last line of an export."""
    case = NOTE["export"]
    assert notes.verify_note(case["note"].encode(), NOTE["origin"], HEX(NOTE["public_key"])) == case["text"]


def test_a_proof_shows_the_memory_and_its_place():
    """With the verifier key and nothing else."""
    case = PROOF["proof"]
    proven = verify_proof(case["proof"], PROOF["verifier_key"])
    assert (proven.record.text, proven.record.actor) == (case["text"], case["actor"])
    assert (proven.entry.seq, proven.size) == (case["index"], len(case["entries"]))
    entry = from_spec.row_entry(case["index"], ALICE.owner_key("user:alice"), HEX(case["content"]), None)
    assert entry.hex() == case["entries"][case["index"]]


@named(PROOF["refuse_proof"])
def test_a_proof_of_something_else_is_refused(case: dict[str, str]):
    """Every line is bound."""
    with pytest.raises(PackError):
        verify_proof(case["proof"], PROOF["verifier_key"])


def test_a_receipt_gives_its_facts_back():
    """Signed lines of key and value."""
    case = PROOF["receipt"]
    facts = verify_receipt(case["receipt"], PROOF["verifier_key"])
    assert {key: facts[key] for key in case["facts"]} == case["facts"]


@named(PROOF["refuse_receipt"])
def test_a_receipt_of_something_else_is_refused(case: dict[str, str]):
    """Another text, key or log."""
    with pytest.raises(PackError):
        verify_receipt(case["receipt"], PROOF["verifier_key"])


def test_an_anchor_slot_is_written_and_read_as_the_spec_says(tmp_path: Path):
    """A MAC over magic, store, size, root and frontier; either slot alone is enough."""
    case = PROOF["anchor"]
    state = AnchorState(case["size"], HEX(case["root"]), tuple(HEX(peak) for peak in case["frontier"]))
    body = b"WTA1" + HEX(case["store_id"]) + from_spec.struct.pack(">Q", state.size) + state.root
    body += bytes([len(state.frontier)]) + b"".join(state.frontier)
    slot = (body + from_spec.hmac.digest(HEX(case["key"]), body, "sha256")).ljust(case["slot_bytes"], b"\x00")
    assert slot.rstrip(b"\x00").hex() == case["slot"]
    anchor = FileAnchor(tmp_path / "a.anchor", partial(hmac_sha256, HEX(case["key"])), HEX(case["store_id"]))
    anchor.advance(state)
    anchor.close()
    assert (tmp_path / "a.anchor").read_bytes() == slot + bytes(case["slot_bytes"])
    for name, data in (("first", slot), ("second", bytes(case["slot_bytes"]) + slot)):
        (tmp_path / name).write_bytes(data)
        read = FileAnchor(tmp_path / name, partial(hmac_sha256, HEX(case["key"])), HEX(case["store_id"]))
        assert read.read() == state
        read.close()
    (tmp_path / "bad").write_bytes(bytes([slot[0] ^ 1]) + slot[1:])
    damaged = FileAnchor(tmp_path / "bad", partial(hmac_sha256, HEX(case["key"])), HEX(case["store_id"]))
    with pytest.raises(LogError):
        damaged.read()
    damaged.close()
