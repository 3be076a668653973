"""Rows P about erasure, isolation, what replaces what, and export and import of a plain store."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.cases.bytes_on_disk import files_with
from witnesstree import Memory
from witnesstree.errors import Error, InputError, NotFoundError, StoreError
from witnesstree.flow import items
from witnesstree.proof.checkpoint import origin_of, sign_note
from witnesstree.types.record import Record
from witnesstree.types.trust import Authority, Kind, Status, Trust
from witnesstree.types.wire import decode, encode

TOKEN = "zqxjwv"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder for stores alone."""
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


@pytest.fixture
def memory(data: Path) -> Iterator[Memory]:
    """An open store with a memory of alice and one of bob."""
    with Memory.open(str(data / "a.db")) as opened:
        opened.add("my payee for rent is Anna", user="alice")
        opened.add("bob pays rent too", user="bob")
        yield opened


def texts(memory: Memory, user: str) -> list[str]:
    """All texts of a user, withdrawn ones included."""
    return [item.text for item in memory.list(user=user, include_inactive=True, limit=1000).items]


# -- erasure ------------------------------------------------------------------------------------------------------------------


def digests_of(words: str) -> list[bytes]:
    """Hashes of some words that anybody can compute: raw and in hex."""
    found = []
    for name in ("md5", "sha1", "sha256", "sha512", "blake2b", "blake2s"):
        raw = hashlib.new(name, words.encode()).digest()
        found += [raw, raw.hex().encode(), base64.b64encode(raw)]
    return found


def test_erased_user_leaves_neither_names_nor_plain_hashes(data: Path, home: Path):
    """Row P-048: after everything of a user was erased, no file holds the name, the session, the words, or a hash of them that
    anybody could compute; under the same name a new life begins with nothing."""
    said = f"{TOKEN} lives in Graz"
    names = ["qalicex", "qsessionx", "qagentx", "qscopex"]
    with Memory.open(str(data / "a.db")) as memory:
        memory.add("bob stays", user="bob")
        kept = memory.export(user="bob")
        made = memory.add(said, user=names[0], session=names[1], agent=names[2], scope=names[3]).episodes[0]
        memory.update(made, said + " now", user=names[0])
        before = memory.export(user=names[0])
        assert TOKEN in before
        memory.forget(user=names[0], everything=True)
        leftovers = {path: path.read_bytes() for folder in (data, home) for path in folder.rglob("*") if path.is_file()}
        for words in (said, said + " now", TOKEN, *names, f"user:{names[0]}", f"agent:{names[2]}"):
            assert files_with(words, data, home) == []
            for digest in digests_of(words):
                assert [path for path, held in leftovers.items() if digest in held] == []
        assert texts(memory, names[0]) == []
        with pytest.raises(NotFoundError):
            memory.history(made, user=names[0])
        again = memory.add("a new life", user=names[0])
        assert [change.what for change in again.changes] == ["added"]
        assert texts(memory, names[0]) == ["a new life"]
        assert len(memory.history(again.episodes[0], user=names[0])) == 1
        assert {change.what for change in memory.import_(before, user=names[0]).changes} == {"erased_before"}
        assert json.loads(memory.export(user="bob").splitlines()[1]) == json.loads(kept.splitlines()[1])
        assert memory.audit().ok


@pytest.mark.parametrize("last", ["corrected", "withdrawn", "held"])
def test_erasing_a_user_takes_superseded_words_too(data: Path, home: Path, last: str):
    """Row P-049: a text that was corrected, withdrawn, or never approved goes with the rest."""
    with Memory.open(str(data / "a.db"), user="u") as memory:
        made = memory.add(f"{TOKEN}one in Graz", hold=last == "held").episodes[0]
        if last != "held":
            memory.update(made, f"{TOKEN}two in Linz")
            memory.update(made, f"{TOKEN}three in Wien")
        if last == "withdrawn":
            memory.retract(made)
        assert files_with(TOKEN, data)
        receipt = memory.forget(everything=True)
        assert (receipt.memories, receipt.state) == (1, "done")
        assert files_with(TOKEN, data, home) == []
        assert memory.list(include_inactive=True).items == memory.inbox().items == ()


def test_withdrawn_address_answers_no_question(memory: Memory):
    """Row P-046: after a withdrawal no way of asking serves the raw turn."""
    made = memory.add("my home address is 12 Elm Street", user="alice").episodes[0]
    question = "exactly what is my home address"
    assert memory.search(question, user="alice").hits[0].id == made
    memory.retract(made, user="alice")
    for inactive in (
        memory.search(question, user="alice", k=1000).to_dict(),
        memory.search("12 Elm Street", user="alice", k=1000).context(),
        memory.answer(question, user="alice").to_dict(),
        memory.list(user="alice").to_dict(),
    ):
        assert "Elm" not in str(inactive)


# -- whose memory it is -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("absent", [None, ""], ids=["none", "empty"])
def test_call_without_a_user_writes_to_nobody(memory: Memory, absent: str | None):
    """Row P-056: no user: nothing is written for "default", for the operator, or for anybody else."""
    head, rows = memory.checkpoint(), memory.audit().rows
    calls: list[Callable[[], object]] = [
        lambda: memory.add("orphaned words", user=absent),
        lambda: memory.import_([{"content": "orphaned words"}], user=absent),
        lambda: memory.search("rent", user=absent),
        lambda: memory.forget(everything=True, user=absent),
        lambda: memory.export(user=absent),
    ]
    for call in calls:
        with pytest.raises(InputError) as caught:
            call()
        assert caught.value.attributes["field"] == "user"
    assert (memory.checkpoint(), memory.audit().rows) == (head, rows)
    for name in ("default", "operator", "system", "None", "user", "*"):
        assert texts(memory, name) == []


def test_same_words_and_ids_of_another_user_change_nothing_of_mine(memory: Memory):
    """Row P-098: bob says what alice said, under her message id, her session and her speaker's name: each has their own."""
    said = {"content": "the code is 4711", "id": "m-1", "session": "s", "at": "2026-01-01T00:00:00Z"}
    mine = memory.add(said, user="alice").episodes[0]
    before = memory.get(mine, user="alice").to_dict()
    his = memory.add({**said, "name": "alice"}, user="bob").episodes[0]
    same = memory.add(said, user="bob").episodes[0]
    assert len({mine, his, same}) == 3
    for id in (mine, his):
        with pytest.raises(NotFoundError):
            memory.update(id, "the code is 0815", user={mine: "bob", his: "alice"}[id])
    memory.update(same, "the code is 0815", user="bob")
    memory.forget(his, user="bob")
    assert memory.get(mine, user="alice").to_dict() == before
    assert [hit.text for hit in memory.search("code", user="alice").hits] == ["the code is 4711"]


# -- what replaces what -------------------------------------------------------------------------------------------------------

LATER: dict[str, Any] = {
    "a tool": {"role": "tool", "content": "my payee for rent is Mallory", "name": "web"},
    "a guest": {"role": "user", "content": "my payee for rent is Mallory", "name": "mallory"},
    "the assistant": {"role": "assistant", "content": "my payee for rent is Mallory"},
    "a document": {"role": "document", "content": "my payee for rent is Mallory"},
    "the same words": {"role": "tool", "content": "my payee for rent is Anna"},
    "the user": {"role": "user", "content": "my payee for rent is Mallory"},
}


@pytest.mark.parametrize("name", LATER)
def test_later_line_takes_nothing_from_what_the_user_said(memory: Memory, name: str):
    """Rows P-078, P-093 and P-099: a later contrary line stands beside: it neither replaces the user's own corrected word nor
    lowers its authority, and one that is not the user's has less."""
    mine = memory.list(user="alice").items[0].id
    memory.update(mine, "my payee for rent is Anna Berg", user="alice", metadata={"pinned": True})
    before = memory.get(mine, user="alice").to_dict()
    other = memory.add(LATER[name], user="alice").episodes[0]
    assert other != mine
    assert memory.get(mine, user="alice").to_dict() == before
    assert before["authority"] == "authorized"
    assert (memory.get(other, user="alice").authority == "authorized") is (name == "the user")
    best = memory.search("payee rent", user="alice", min_authority="authorized").hits
    assert mine in {hit.id for hit in best}
    assert len(memory.history(mine, user="alice")) == 2


def test_memories_without_labels_do_not_share_a_place(memory: Memory):
    """Row P-116: no session, no scope, no id, no speaker: each is a memory of its own."""
    made = memory.add([{"content": f"fact {n}", "session": "", "id": "", "name": ""} for n in range(20)], user="carol").episodes
    assert len(set(made)) == 20
    assert texts(memory, "carol") == [f"fact {n}" for n in range(20)]


# -- export and import --------------------------------------------------------------------------------------------------------


def fill(memory: Memory) -> None:
    """A life with every kind of step, for user u."""
    made = memory.add(
        [
            {
                "content": "one pear",
                "id": "m-1",
                "session": "s",
                "at": "2024-01-01T00:00:00.000001Z",
                "metadata": {"k": [1, None]},
            },
            {"content": "two pears", "role": "tool", "name": "web"},
            {"content": "three pears", "role": "assistant"},
            {"content": "four \u2028 pears \U0001f350"},
        ],
        user="u",
        scope="p",
    ).episodes
    memory.update(made[0], "one apple", user="u")
    memory.update(made[0], metadata={"k": 2}, user="u")
    memory.retract(made[2], user="u")
    memory.add("held pear", user="u", hold=True)


NEW_BY_NATURE = {"id", "recorded_at", "origin", "source"}


def same(value: Any) -> Any:
    """The value without what must differ in another store: ids, the instant of writing, where it came from."""
    if isinstance(value, dict):
        return {key: same(item) for key, item in value.items() if key not in NEW_BY_NATURE or (key == "source" and item == "m-1")}
    return [same(item) for item in value] if isinstance(value, list | tuple) else value


def shape(memory: Memory) -> list[list[dict[str, Any]]]:
    """Every version of every memory of user u."""
    items = memory.list(user="u", include_inactive=True).items
    return sorted(([same(version.to_dict()) for version in memory.history(item.id, user="u")] for item in items), key=str)


def test_export_comes_back_with_every_version_and_field(data: Path):
    """Row P-053: into an empty store of the same home: texts, versions, times, labels, metadata, authority, state. The log begins
    anew, says that it was an import, and verifies."""
    with Memory.open(str(data / "a.db")) as memory:
        fill(memory)
        exported, before = memory.export(user="u"), shape(memory)
        assert [len(versions) for versions in before] != [1] * 5
    with Memory.open(str(data / "b.db")) as memory:
        result = memory.import_(exported, user="u")
        assert (result.added, result.rejected) == (5, ())
        assert shape(memory) == before
        assert [item.text for item in memory.inbox(user="u").items] == ["held pear"]
        assert memory.import_(exported, user="u").added == 0
        assert memory.audit().ok
        assert memory.export(user="u").count('"record"') == exported.count('"record"')


def test_import_that_fails_halfway_leaves_whole_memories_and_can_be_repeated(data: Path, monkeypatch: pytest.MonkeyPatch):
    """Row P-052: an export comes in by several transactions; the third one fails: no memory is half there, and the second run
    brings the rest and nothing twice."""
    monkeypatch.setattr(items, "CHUNK", 2)
    with Memory.open(str(data / "a.db")) as memory:
        fill(memory)
        memory.add([f"pear number {n}" for n in range(5)], user="u")
        exported, before = memory.export(user="u"), shape(memory)
    with Memory.open(str(data / "b.db")) as memory:
        store, count = memory._store, []
        real = type(store).write

        def failing(self: Any, *arguments: Any, **options: Any) -> Any:
            count.append(1)
            if len(count) == 3:
                raise StoreError("the disk is full", reason="full")
            return real(self, *arguments, **options)

        with monkeypatch.context() as patch:
            patch.setattr(type(store), "write", failing)
            with pytest.raises(StoreError):
                memory.import_(exported, user="u")
        half = shape(memory)
        assert 0 < len(half) < len(before)
        assert all(versions in before for versions in half)
        assert memory.audit().ok
        memory.import_(exported, user="u")
        assert shape(memory) == before
        assert memory.audit().ok


@pytest.mark.parametrize("fails_at", [0, 1, 2, 3, 4])
def test_memory_that_was_withdrawn_and_said_again_survives_export_and_import(
    data: Path, monkeypatch: pytest.MonkeyPatch, fails_at: int
):
    """The second one has the words of the first and stands a chunk later; the import may be cut off anywhere between."""
    monkeypatch.setattr(items, "CHUNK", 2)
    with Memory.open(str(data / "a.db")) as memory:
        memory.retract(memory.add("The rent account is DE89.", user="u").episodes[0], user="u")
        memory.add(["filler one", "filler two", "filler three"], user="u")
        memory.add("The rent account is DE89.", user="u")
        exported, before = memory.export(user="u"), shape(memory)
    with Memory.open(str(data / "b.db")) as memory:
        real, count = type(memory._store).write, []

        def failing(self: Any, *arguments: Any, **options: Any) -> Any:
            count.append(1)
            if len(count) == fails_at:
                raise StoreError("the disk is full", reason="full")
            return real(self, *arguments, **options)

        with monkeypatch.context() as patch, suppress(StoreError):
            patch.setattr(type(memory._store), "write", failing)
            memory.import_(exported, user="u")
        memory.import_(exported, user="u")
        assert shape(memory) == before
        assert [hit.text for hit in memory.search("rent account", user="u").hits] == ["The rent account is DE89."]
        for item in memory.list(user="u").items:
            memory.retract(item.id, user="u")
        assert memory.import_(exported, user="u").added == 0  # what was withdrawn here does not come back
        assert memory.list(user="u").items == ()
        assert memory.audit().ok


def test_ids_of_an_import_are_this_homes_own(memory: Memory, data: Path):
    """Nobody who writes an export can say which id its memories get; the same export for another user gets others."""
    exported = memory.export(user="alice")
    with Memory.open(str(data / "b.db")) as other:
        ids = {change.id for user in ("alice", "carol") for change in other.import_(exported, user=user).changes}
    assert len(ids) == 2
    assert not ids & {item.id for item in memory.list(user="alice").items}


def test_export_whose_quotes_point_nowhere_is_taken_in_whole(memory: Memory, data: Path):
    """Row P-052: a record that rests on a memory that is not in the file: no raw error, nothing half, other lines unharmed."""
    missing = bytes(range(16))
    from witnesstree.types.record import Span

    exported = changed(memory, lambda record: record.with_changes(evidence=(Span(missing, 1, 0, 4),)))
    with Memory.open(str(data / "b.db"), user="u") as other:
        result = other.import_([*exported.splitlines(), '{"record": "AAAA"}'])
        assert (result.added, len(result.rejected)) == (1, 1)
        [item] = other.list().items
        assert item.text == "my payee for rent is Anna"
        assert {quote.source for quote in other.evidence(item.id)} <= {item.id}
        assert other.audit().ok


def changed(memory: Memory, change: Callable[[Record], Record], *, user: str = "alice", sign: bool = False) -> str:
    """An export whose first record was changed; signed anew with the store's own key if ``sign``."""
    head, line, *rest = memory.export(user=user).splitlines()
    body = json.loads(line)
    body["record"] = base64.b64encode(encode(change(decode(base64.b64decode(body["record"]))))).decode()
    lines = [head, json.dumps(body), *rest]
    if sign:
        signer = memory._store.master.signer
        origin = origin_of(memory._store.keys.store_id)
        digest = hashlib.sha256("".join(f"{text}\n" for text in lines[:-1]).encode()).hexdigest()
        note = sign_note(f"{items.FORMAT_KEY}\n{origin}\nsha256 {digest}\n", origin, signer).decode()
        lines[-1] = json.dumps({"note": note})
    return "\n".join(lines) + "\n"


FORGED: dict[str, dict[str, Any]] = {
    "text": {"text": "my payee for rent is Mallory"},
    "version": {"text": "my payee for rent is Mallory", "version": 9},
    "authority": {"text": "my payee for rent is Mallory", "authority": Authority.AUTHORIZED, "trust": Trust.VERIFIED},
    "kind": {"text": "my payee for rent is Mallory", "kind": Kind.FACT},
    "withdrawal": {"status": Status.RETRACTED, "version": 2},
}


@pytest.mark.parametrize("name", FORGED)
def test_forged_export_over_an_own_memory_changes_nothing_of_it(memory: Memory, name: str):
    """Row P-105: a file that does not verify and names a memory that is there: the memory keeps text, version and authority."""
    mine = memory.list(user="alice").items[0]
    memory.import_(changed(memory, lambda record: record.with_changes(**FORGED[name])), user="alice")
    assert memory.get(mine.id, user="alice") == mine
    assert len(memory.history(mine.id, user="alice")) == 1
    for item in memory.list(user="alice", include_inactive=True).items:
        assert item.id == mine.id or item.authority != "authorized"
    assert memory.audit().ok


@pytest.mark.parametrize("field", ["valid_to", "expires_at"])
def test_memory_past_its_end_is_not_served(memory: Memory, data: Path, field: str):
    """Row P-118: what has expired, or is no longer valid, is in no search, list or answer; asked about an earlier time, it is."""
    end = 1_700_000_000_000_000  # 2023-11-14

    def bounded(record: Record) -> Record:
        return record.with_changes(said_at=end - 10**12, valid_from=end - 10**12, **{field: end})

    exported = changed(memory, bounded, sign=True)
    with Memory.open(str(data / "b.db"), user="alice") as other:
        other.add("rent is due on Friday")
        assert other.import_(exported).added == 1
        assert [hit.text for hit in other.search("payee rent").hits] == ["rent is due on Friday"]
        assert [item.text for item in other.list().items] == ["rent is due on Friday"]
        assert "Anna" not in other.answer("Who is my payee for rent?").text
        assert [hit.text for hit in other.search("payee", as_of="2023-11-10T00:00:00Z").hits] == ["my payee for rent is Anna"]
        assert len(other.list(include_inactive=True).items) == 2


# -- secrets of the caller ----------------------------------------------------------------------------------------------------


def test_key_that_is_handed_in_is_kept_and_shown_nowhere(data: Path, home: Path):
    """Row P-106: a key given with the call is in no file of store or home, in no result, and in no error."""
    secret = hashlib.sha256(b"a key of this test").hexdigest()
    with Memory.open(str(data / "a.db"), user="u", key=secret) as memory:
        made = memory.add("a pear").episodes[0]
        shown = [memory.search("pear").to_dict(), memory.get(made).to_dict(), memory.audit().to_dict(), memory.export()]
        shown += [
            memory.checkpoint(),
            memory.prove(made),
            memory.verifier_key,
            memory.forget(made).to_dict(),
            vars(memory)["_scope"],
        ]
        assert secret not in str(shown)
    held = {path: path.read_bytes() for folder in (data, home) for path in folder.rglob("*") if path.is_file()}
    for needle in (secret.encode(), secret.upper().encode(), bytes.fromhex(secret), base64.b64encode(bytes.fromhex(secret))):
        assert [path for path, content in held.items() if needle in content] == []
    wrong = hashlib.sha256(b"another key").hexdigest()
    with pytest.raises(Error) as caught:
        Memory.open(str(data / "a.db"), user="u", key=wrong)
    assert wrong not in str(caught.value.to_dict())
    with Memory.open(str(data / "a.db"), user="u", key=secret) as memory:
        assert memory.audit().ok
