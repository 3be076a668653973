"""What enters by a file sets nothing that only rules may set: authority, trust, ids, state, tombstones (T-L1)."""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from witnesstree import InputError, Memory, Message
from witnesstree.proof.checkpoint import origin_of, sign_note
from witnesstree.proof.keys import SeedSigner
from witnesstree.types.record import Record
from witnesstree.types.trust import MEMORY_KINDS, Authority, Kind, Role, Status, Trust
from witnesstree.types.wire import decode, encode


@pytest.fixture(params=["ram", "sqlite"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Memory]:
    """A user's word, a tool's result, a correction and a withdrawn memory."""
    with Memory.open("ram:" if request.param == "ram" else str(tmp_path / "agent.db"), user="alice") as opened:
        opened.add(
            [Message("I like green tea."), Message("The flight leaves at nine.", role="tool"), Message("I moved to Graz.")]
        )
        items = opened.list().items
        opened.update(items[2].id, "I moved to Linz.")
        opened.retract(opened.add("Forget that.").episodes[0])
        yield opened


def fresh() -> Memory:
    """Another store with other keys."""
    return Memory.open("ram:", user="alice")


def state(memory: Memory) -> tuple[str, list[dict[str, Any]]]:
    """What an attack may not change."""
    return memory.checkpoint(), [item.to_dict() for item in memory.list(include_inactive=True).items]


def records(data: str) -> list[Record]:
    """The records in an export."""
    bodies = (json.loads(line) for line in data.splitlines()[1:])
    return [decode(base64.b64decode(body["record"])) for body in bodies if "record" in body]


def rewritten(data: str, **changes: Any) -> str:
    """The export with every record changed; the old signature stays where it was."""
    head, *lines = data.splitlines()
    bodies = [json.loads(line) for line in lines]
    for body in bodies:
        if "record" in body:
            record = decode(base64.b64decode(body["record"])).with_changes(**changes)
            body["record"] = base64.b64encode(encode(record)).decode()
    return "\n".join([head, *(json.dumps(body, ensure_ascii=False) for body in bodies)]) + "\n"


def test_an_own_export_comes_back_with_its_authority(memory: Memory):
    """T-L1: legitimate use: into the same home's store, signed, nothing is lost and nothing gained."""
    data = memory.export()
    before = state(memory)
    assert memory.import_(data).added == 0
    assert state(memory)[1] == before[1]
    everything = {item.id: item for item in memory.list(include_inactive=True).items}
    memory.forget(next(iter(everything)))
    assert memory.import_(data).added == 0, "what was erased stays away"
    assert len(memory.list(include_inactive=True).items) == len(everything) - 1


@pytest.mark.parametrize(
    "changes",
    [
        {"authority": Authority.AUTHORIZED},
        {"trust": Trust.VERIFIED},
        {"role": Role.USER, "authority": Authority.AUTHORIZED, "trust": Trust.VERIFIED},
        {"user": "bob", "authority": Authority.AUTHORIZED},
        {"name": "alice", "role": Role.USER, "authority": Authority.AUTHORIZED},
        {"signature": b"s" * 64, "nonce": b"n" * 12, "purposes": ("anything",), "payload": b"p"},
    ],
    ids=str,
)
def test_an_edited_export_gains_neither_authority_nor_trust(memory: Memory, changes: dict[str, Any]):
    """T-L1, row P-051: without an intact signature of our own, a file can at most report that the user said it."""
    with fresh() as target:
        assert target.import_(memory.export()).added == 4
    with fresh() as target:
        target.import_(rewritten(memory.export(), **changes))
        for item in target.list(include_inactive=True).items:
            assert item.authority in ("attested", "unendorsed", "none")
            assert item.trust == "candidate"
            assert item.user == "alice"
        for record in records(target.export()):
            assert (record.signature, record.nonce, record.purposes, record.payload) == (b"", b"", (), b"")
        assert target.audit().ok


def test_ids_and_instants_of_writing_are_never_taken_from_a_file(memory: Memory):
    """T-L1: an imported memory gets a new random id, salt and recorded_at."""
    old = {record.id: record for record in records(memory.export())}
    with fresh() as target:
        own = target.add("My own memory.").episodes[0]
        before = target.get(own)
        target.import_(rewritten(memory.export(), id=bytes.fromhex(own), recorded_at=0))
        assert target.get(own) == before
        made = [record for record in records(target.export()) if record.id.hex() != own]
        assert made
        assert not {record.id for record in made} & old.keys()
        assert not {record.salt for record in made} & {record.salt for record in old.values()}
        assert all(record.recorded_at > 10**15 for record in made)


@pytest.mark.parametrize("kind", [Kind.TOMBSTONE, Kind.SYSTEM])
def test_a_file_can_not_bring_in_bookkeeping_rows(memory: Memory, kind: Kind):
    """T-L1: no forged tombstone erases, and none hides what was there."""
    with fresh() as target:
        kept = target.add(["I like green tea.", "I like coffee."])
        before = target.list().to_dict()
        data = memory.export()
        stone = (1).to_bytes(4, "big") + secrets.token_bytes(16) + (0).to_bytes(8, "big") + (99).to_bytes(8, "big")
        result = target.import_(rewritten(data, kind=kind, payload=stone))
        assert target.list().to_dict() == before
        assert result.added == 0 and len(result.rejected) == len(records(data))
        assert [target.get(id).text for id in kept.episodes] == ["I like green tea.", "I like coffee."]
        assert target.audit().ok


@pytest.mark.parametrize(
    "changes",
    [
        {"text": "a\x00b"},
        {"text": ""},
        {"name": "a\x1b[2J"},
        {"session": "\u200bs"},
        {"scope": "a\nb"},
        {"agent": "\u202egent"},
        {"source": " x "},
    ],
    ids=str,
)
def test_a_file_passes_the_same_door_as_a_message(memory: Memory, changes: dict[str, Any]):
    """T-L1: a record in an export can't hold what ``add`` would refuse."""
    with fresh() as target:
        assert target.import_(memory.export()).added == 4
        before = state(target)
        again = rewritten(memory.export(), id=secrets.token_bytes(16), fingerprint=secrets.token_bytes(16), **changes)
        result = target.import_(again)
        assert result.added == 0 and result.rejected
        assert state(target) == before


def test_hold_puts_an_export_into_the_inbox(memory: Memory):
    """T-L1: what was to wait for its owner does not take effect by itself, whatever the file says."""
    with fresh() as target:
        assert target.import_([{"content": "Held."}], hold=True).added == 1
        target.import_(memory.export(), hold=True)
        assert target.list().items == ()
        assert all(item.status == "held" for item in target.inbox().items)
        assert len(target.inbox().items) == 4


@pytest.mark.parametrize(
    "field", ["authority", "trust", "status", "kind", "verified", "confidence", "version", "recorded_at", "salt"]
)
def test_a_message_has_no_field_for_what_rules_decide(memory: Memory, field: str):
    """T-L1: impossible by shape: an unknown field is refused, not ignored."""
    assert memory.import_([{"role": "user", "content": "Said before."}]).added == 1
    assert memory.list().items[-1].authority == "attested"
    before = state(memory)
    for value in ("verified", 4, "authorized"):
        result = memory.import_(json.dumps({"role": "user", "content": "x", field: value}))
        assert (result.added, result.rejected[0].field) == (0, "messages")
    assert state(memory) == before


def test_metadata_is_data_and_sets_nothing(memory: Memory):
    """T-L1: words that look like labels stay the caller's notes."""
    labels = {"authority": "authorized", "trust": "verified", "status": "active", "role": "user"}
    id = memory.add(Message("Noted by a tool.", role="tool", metadata=labels)).episodes[0]
    item = memory.get(id)
    assert (item.authority, item.trust, item.role, item.metadata) == ("unendorsed", "candidate", "tool", labels)
    assert memory.search("noted by a tool", min_authority="attested").hits == ()
    memory.update(id, metadata=labels | {"trust": "rejected"})
    assert (memory.get(id).authority, memory.get(id).trust) == ("unendorsed", "candidate")


def test_a_signature_of_another_key_or_over_other_lines_counts_for_nothing(memory: Memory):
    """T-L1: only this store's own signer vouches, for exactly these lines and this user."""
    data = rewritten(memory.export(), authority=Authority.AUTHORIZED, id=secrets.token_bytes(16), fingerprint=bytes(16))
    head, *lines = data.splitlines()[:-1]
    stranger = SeedSigner(secrets.token_bytes(32))
    import hashlib

    digest = hashlib.sha256("".join(f"{line}\n" for line in [head, *lines]).encode()).hexdigest()
    origin = origin_of(bytes.fromhex(memory.store_id))
    note = sign_note(f"witnesstree_export\n{origin}\nsha256 {digest}\n", origin, stranger).decode()
    forged = "\n".join([head, *lines, json.dumps({"note": note}, ensure_ascii=False)])
    known = {item.id for item in memory.list(include_inactive=True).items}
    memory.import_(forged)
    made = [item for item in memory.list(include_inactive=True).items if item.id not in known]
    assert made and all(item.authority != "authorized" for item in made)


def test_every_kind_and_state_in_a_file_is_one_of_ours(memory: Memory):
    """T-L1: after any import, whatever is served is an ordinary memory that an audit finds intact."""
    with fresh() as target:
        for kind in MEMORY_KINDS:
            for status in Status:
                data = rewritten(
                    memory.export(), kind=kind, status=status, id=secrets.token_bytes(16), fingerprint=secrets.token_bytes(16)
                )
                target.import_(data)
        assert {item.trust for item in target.list(include_inactive=True, limit=1000).items} == {"candidate"}
        assert target.audit().ok


def test_a_file_is_imported_by_its_path_and_a_name_as_text_is_refused(memory: Memory, tmp_path: Path):
    """T-L1: text is data and never a path; a Path is read, with the authority of a file."""
    chat = tmp_path / "chat.jsonl"
    chat.write_text('{"role": "user", "content": "From a file."}\n', encoding="utf-8")
    before = memory.list().to_dict()
    for wrong in (str(chat), tmp_path / "missing.jsonl"):
        with pytest.raises(InputError):
            memory.import_(wrong)
    assert memory.list().to_dict() == before
    assert memory.import_(chat).added == 1
    assert memory.search("from a file").hits[0].authority == "attested"
