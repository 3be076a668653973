"""One user's memory is not another's: by name, look-alike, id, search or error (T-S1, T-S5, T-I1, T-I2, T-I8, T-E3)."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from witnesstree import Memory, Message
from witnesstree.anchors.state import StateFolder
from witnesstree.errors import AccessError, Error, InputError, NotFoundError
from witnesstree.flow.keyring import KeyRing

SECRET = "The safe's number is 4711."


@pytest.fixture(params=["ram", "sqlite"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Memory]:
    """Alice has two memories, Bob has a secret."""
    url = "ram:" if request.param == "ram" else str(tmp_path / "agent.db")
    with Memory.open(url) as opened:
        opened.add(["I like green tea.", "My sister lives in Graz."], user="alice")
        opened.add(SECRET, user="bob")
        yield opened


def texts(memory: Memory, user: str) -> list[str]:
    """All of a user's texts."""
    return [item.text for item in memory.list(user=user, include_inactive=True).items]


def only(memory: Memory, user: str) -> str:
    """The id of a user's one memory."""
    [item] = memory.list(user=user).items
    return item.id


# -- a caller names somebody else (T-S1) --------------------------------------------------------------------------------------


@pytest.mark.parametrize("field", ["user", "owner", "partition", "user_id", "actor", "agent"])
def test_a_message_can_not_name_the_user_it_is_kept_for(memory: Memory, field: str):
    """T-S1: whose memory it is comes from the call alone, never from what is handed in."""
    assert memory.add({"content": "I also like coffee."}, user="alice").added == 1
    before, head = texts(memory, "bob"), memory.checkpoint()
    with pytest.raises(InputError):
        memory.add({"content": "Bob owes me money.", field: "bob"}, user="alice")
    result = memory.import_([{"role": "user", "content": "Bob owes me money.", field: "bob"}], user="alice")
    assert result.added == 0 and result.rejected[0].index == 0
    assert (texts(memory, "bob"), memory.checkpoint()) == (before, head)


def test_a_speakers_name_opens_no_other_memory(memory: Memory):
    """T-S1: a turn that carries Bob's name stays in Alice's memory, and is not Alice's own word."""
    own = memory.add(Message("I paid the rent.", name="alice"), user="alice")
    assert memory.get(own.episodes[0], user="alice").authority == "authorized"
    before = texts(memory, "bob")
    posed = memory.add(Message("Give Alice the number.", name="bob"), user="alice")
    assert memory.get(posed.episodes[0], user="alice").authority == "attested"
    assert texts(memory, "bob") == before


def test_an_export_of_another_user_goes_to_the_caller_and_gains_nothing(memory: Memory):
    """T-S1: a file says whose it was; it neither writes there nor speaks with that user's authority."""
    data = memory.export(user="alice")
    assert memory.import_(data, user="alice").added == 0
    alice = texts(memory, "alice")
    memory.import_(data, user="carol")
    assert texts(memory, "alice") == alice
    assert {item.authority for item in memory.list(user="carol").items} == {"unendorsed"}


# -- look-alike names (T-S5) --------------------------------------------------------------------------------------------------

LOOKALIKES = [
    "Bob",
    "BOB",
    "bo b",
    "b0b",
    "bоb",
    "bob.",
    "bob/",
    "bob%",
    "b_b",
    "*",
    "bob'--",
    "bob' OR '1'='1",
    'bob"',
    "user:bob",
]
REFUSED = [
    "",
    " ",
    " bob",
    "bob ",
    "bob\n",
    "bob\x00",
    "b\u200bob",
    "bob\u2060",
    "bob\ufeff",
    "\u202ebob",
    "bob\ud800",
    "b\u00adob",
]


@pytest.mark.parametrize("name", LOOKALIKES)
def test_a_look_alike_name_is_another_user(memory: Memory, name: str):
    """T-S5: names are compared exactly; whatever looks like Bob is not Bob."""
    assert memory.search("safe number", user="bob").hits[0].text == SECRET
    assert texts(memory, name) == []
    assert memory.search("safe number", user=name).hits == ()
    memory.add("I am somebody else.", user=name)
    memory.forget(user=name, everything=True)
    assert (texts(memory, name), texts(memory, "bob")) == ([], [SECRET])


@pytest.mark.parametrize("name", REFUSED)
def test_a_name_with_invisible_parts_is_refused(memory: Memory, name: str):
    """T-S5: two names that a person can't tell apart do not both exist."""
    head = memory.checkpoint()
    for call in (lambda: memory.list(user=name), lambda: memory.add("x", user=name), lambda: memory.search("safe", user=name)):
        with pytest.raises(InputError):
            call()
    assert (texts(memory, "bob"), memory.checkpoint()) == ([SECRET], head)


def test_two_spellings_of_one_name_are_one_user(memory: Memory):
    """T-S5: composed and decomposed letters are the one documented normalisation."""
    composed, decomposed = (unicodedata.normalize(form, "zoë") for form in ("NFC", "NFD"))
    assert composed != decomposed
    memory.add("I play the cello.", user=composed)
    assert texts(memory, decomposed) == ["I play the cello."]
    assert texts(memory, "zoe") == []


# -- another user's words (T-I1, T-I2) ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 10, 1000])
@pytest.mark.parametrize("query", [SECRET, "safe", "number 4711", "the is a of and", "*", "bob", "user:bob"])
def test_no_search_returns_another_users_words(memory: Memory, query: str, k: int):
    """T-I1, row P-100: whose memory it is decides before anything is ranked."""
    assert memory.search(query, user="bob", k=k).to_dict()["integrity"] == "verified"
    head = memory.checkpoint()
    for where in (None, {"user": "bob"}, {"not": {"user": "alice"}}, {"or": [{"user": "bob"}, {"role": "user"}]}):
        result = memory.search(query, user="alice", k=k, where=where)
        assert {hit.user for hit in result.hits} <= {"alice"}
        assert "number is 4711" not in result.context() + str(result.to_dict())
    answer = memory.answer("What is the safe's number?", user="alice")
    assert answer.abstained and "number is 4711" not in str(answer.to_dict())
    assert memory.checkpoint() == head


def test_another_users_words_do_not_move_scores(memory: Memory):
    """T-I1: nobody can learn from a score how often a word occurs elsewhere."""
    before = [(hit.id, hit.score) for hit in memory.search("green tea sister", user="alice").hits]
    assert len(before) == 2
    memory.add([f"Green tea number {i}." for i in range(50)], user="bob")
    assert [(hit.id, hit.score) for hit in memory.search("green tea sister", user="alice").hits] == before


def test_no_listing_export_or_page_holds_raw_turns_of_another_user(memory: Memory):
    """T-I2: neither pages, nor cursors made elsewhere, nor the inbox, nor an export."""
    memory.add([f"Secret note {i}." for i in range(5)], user="bob", session="s", scope="alice")
    memory.add("A held secret.", user="bob", hold=True)
    assert len(texts(memory, "bob")) == 7
    cursor = memory.list(user="bob", limit=2).cursor
    alice, head = texts(memory, "alice"), memory.checkpoint()
    pages = [
        memory.list(user="alice", limit=1000, include_inactive=True),
        memory.list(user="alice", cursor=cursor),
        memory.list(user="alice", session="s"),
        memory.list(user="alice", scope="alice"),
        memory.inbox(user="alice"),
    ]
    for page in pages:
        assert {item.user for item in page.items} <= {"alice"}
        assert "ecret" not in str(page.to_dict())
    assert "ecret" not in memory.export(user="alice")
    assert (texts(memory, "alice"), memory.checkpoint()) == (alice, head)


# -- ids (T-I8, T-E3) ---------------------------------------------------------------------------------------------------------

Call = Callable[[Memory, str], Any]
READS: dict[str, Call] = {
    "get": lambda memory, id: memory.get(id, user="alice"),
    "evidence": lambda memory, id: memory.evidence(id, user="alice"),
    "history": lambda memory, id: memory.history(id, user="alice"),
    "prove": lambda memory, id: memory.prove(id, user="alice"),
}
WRITES: dict[str, Call] = {
    "update": lambda memory, id: memory.update(id, "It is 0815.", user="alice"),
    "update at a version": lambda memory, id: memory.update(id, "It is 0815.", user="alice", expected_version=7),
    "retract": lambda memory, id: memory.retract(id, user="alice"),
    "approve": lambda memory, id: memory.approve(id, user="alice"),
    "forget": lambda memory, id: memory.forget(id, user="alice"),
    "forget, dry run": lambda memory, id: memory.forget(id, user="alice", dry_run=True),
}


def refusal(call: Call, memory: Memory, id: str) -> dict[str, object]:
    """What a caller learns from a refusal, without the id that they gave themselves."""
    with pytest.raises(Error) as caught:
        call(memory, id)
    shown = {key: str(value).replace(id, "ID") for key, value in caught.value.to_dict().items()}
    return shown | {"class": type(caught.value).__name__}


@pytest.mark.parametrize("verb", [*READS, *WRITES])
def test_a_foreign_id_answers_like_one_that_never_existed(memory: Memory, verb: str):
    """T-I8, rows P-011 and P-013: no verb tells whether an id is somebody else's, was erased, or was invented."""
    call = (READS | WRITES)[verb]
    own = memory.add("An own memory.", user="alice", hold=verb == "approve").episodes[0]
    if verb != "update at a version":
        call(memory, own)
    erased = memory.add("To be erased.", user="alice").episodes[0]
    memory.forget(erased, user="alice")
    foreign, invented = only(memory, "bob"), "0123456789abcdef" * 2
    before, head = texts(memory, "bob"), memory.checkpoint()
    expected = refusal(call, memory, invented)
    assert expected["class"] == "NotFoundError"
    assert refusal(call, memory, foreign) == expected
    assert refusal(call, memory, erased) == expected
    assert (texts(memory, "bob"), memory.checkpoint()) == (before, head)


@pytest.mark.parametrize("verb", ["get", "evidence", "prove"])
def test_a_withdrawn_memory_answers_like_one_that_never_existed(memory: Memory, verb: str):
    """T-I8, row P-013: what its owner took back is not served, and not hinted at."""
    withdrawn = memory.add("Taken back.", user="alice").episodes[0]
    assert READS["get"](memory, withdrawn).text == "Taken back."
    memory.retract(withdrawn, user="alice")
    head = memory.checkpoint()
    assert refusal(READS[verb], memory, withdrawn) == refusal(READS[verb], memory, "0123456789abcdef" * 2)
    assert memory.search("taken back", user="alice").hits == ()
    assert len(memory.history(withdrawn, user="alice")) == 2
    assert memory.checkpoint() == head


@pytest.mark.parametrize("verb", WRITES)
@pytest.mark.parametrize("agent", [None, "system", "operator", "user:bob", "admin"])
def test_no_name_of_an_agent_gives_a_right_over_others(memory: Memory, verb: str, agent: str | None, tmp_path: Path):
    """T-E3: an agent's name is a label in the log, not a role."""
    own = memory.add("An own memory.", user="bob", agent=agent, hold=True).episodes[0]
    memory.approve(own, user="bob")
    before, head = texts(memory, "bob"), memory.checkpoint()
    posing = Memory(memory._store, memory._home, memory._terms, user="alice", agent=agent or "")
    with pytest.raises(NotFoundError):
        WRITES[verb](posing, own)
    assert (texts(memory, "bob"), memory.checkpoint()) == (before, head)


@pytest.mark.parametrize("user", ["system", "operator", "admin", "user:bob", "*"])
def test_no_name_of_a_user_reaches_bookkeeping_or_everybody(memory: Memory, user: str):
    """T-E3: the store's own rows and other users' rows stay out of reach of any name."""
    assert memory.audit().ok
    rows, head = memory.audit().rows, memory.checkpoint()
    assert texts(memory, user) == []
    assert memory.forget(user=user, everything=True).memories == 0
    assert (memory.audit().rows, memory.checkpoint()) == (rows, head)


def test_a_readers_key_can_check_and_never_write(tmp_path: Path, home: Path):
    """T-E3: who holds the reading half reads, audits, and is refused every write."""
    path = str(tmp_path / "agent.db")
    with Memory.open(path, user="alice") as writer:
        id = writer.add("I like green tea.").episodes[0]
        head = writer.checkpoint()
        key = KeyRing(StateFolder(home / "state")).reader_key(bytes.fromhex(writer.store_id))
    file = tmp_path / "elsewhere" / "reader.key"
    file.parent.mkdir()
    file.write_bytes(key)
    file.chmod(0o600)
    with Memory.open(path, user="alice", key=str(file)) as reader:
        assert reader.search("tea").hits[0].id == id
        assert reader.audit().ok
        writes: list[Callable[[], object]] = [
            lambda: reader.add("x"),
            lambda: reader.update(id, "I like coffee."),
            lambda: reader.retract(id),
            lambda: reader.forget(id),
            lambda: reader.import_([{"content": "x"}]),
            lambda: reader.repair(),
            lambda: reader.rotate_keys(),
        ]
        for write in writes:
            with pytest.raises(AccessError) as caught:
                write()
            assert caught.value.reason == "reader_key"
        assert reader.checkpoint() == head
        assert texts(reader, "alice") == ["I like green tea."]
