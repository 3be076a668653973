"""Cases U: corrections, contradictions, duplicates, as far as no model is needed (cases.md section 7)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from witnesstree import Memory, Message
from witnesstree.errors import ConflictError, InputError, NotFoundError


@pytest.fixture(params=["sqlite", "ram"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Memory]:
    """An open memory on each engine."""
    with Memory.open("ram:" if request.param == "ram" else str(tmp_path / "agent.db"), user="u") as opened:
        yield opened


def test_correction_leaves_one_current_statement(memory: Memory):
    """Case U-02: after a correction the default view has the new one only; the old one is in the history."""
    made = memory.add("My favourite singer is Rosa").episodes[0]
    change = memory.update(made, "My favourite singer is now Ilse")
    assert (change.what, change.version, change.id) == ("updated", 2, made)
    assert [hit.text for hit in memory.search("favourite singer").hits] == ["My favourite singer is now Ilse"]
    assert [item.text for item in memory.list().items] == ["My favourite singer is now Ilse"]
    assert [v.text for v in memory.history(made)] == ["My favourite singer is Rosa", "My favourite singer is now Ilse"]
    assert memory.answer("Who is my favourite singer?").text == "My favourite singer is now Ilse"


def test_correction_of_an_assistant_line_is_the_users_own(memory: Memory):
    """Case U-02: what the user corrects is the user's statement; what was said before keeps its speaker in the history."""
    made = memory.add({"role": "assistant", "content": "You like Rosa"}).episodes[0]
    memory.update(made, "I like Ilse")
    assert [(v.role, v.authority) for v in memory.history(made)] == [("assistant", "unendorsed"), ("user", "authorized")]


def test_same_text_again_is_the_same_memory(tmp_path: Path):
    """Case U-05: twice in one call, in two calls and after a restart there is one current record, never zero."""
    path = str(tmp_path / "agent.db")
    with Memory.open(path, user="u") as memory:
        result = memory.add(["keeps bees", "keeps bees"])
        assert [change.what for change in result.changes] == ["added", "duplicate"]
        assert len(set(result.episodes)) == 1
        assert result.added == 1
        again = memory.add("keeps bees")
        assert (again.added, again.episodes[0]) == (0, result.episodes[0])
    with Memory.open(path, user="u") as memory:
        assert memory.add("keeps bees").episodes[0] == result.episodes[0]
        assert [item.text for item in memory.list(include_inactive=True).items] == ["keeps bees"]


def test_retry_with_the_same_message_id_is_the_same_memory(memory: Memory):
    """Case U-05: the sender's id makes a retry safe, also after the memory was corrected or withdrawn since."""
    message = {"content": "keeps bees", "id": "m-1"}
    made = memory.add(message).episodes[0]
    assert memory.add(message).episodes[0] == made
    memory.update(made, "keeps wasps")
    assert [c.what for c in memory.add(message).changes] == ["duplicate"]
    memory.retract(made)
    assert [c.what for c in memory.add(message).changes] == ["duplicate"]
    assert len(memory.list(include_inactive=True).items) == 1


@pytest.mark.parametrize("variant", ["keeps  bees", "Keeps bees", "keeps bees.", "keeps bees\n", "KEEPS BEES!"])
def test_variant_of_a_text_never_makes_the_memory_vanish(memory: Memory, variant: str):
    """Case U-05: turns are verbatim, so other white space, case or punctuation is its own turn; both are found."""
    memory.add("keeps bees")
    memory.add(variant)
    assert sorted(item.text for item in memory.list().items) == sorted(["keeps bees", variant])
    assert len(memory.search("bees").hits) == 2


def test_same_text_of_another_speaker_is_another_memory(memory: Memory):
    """Case U-05: speaker, name, session and scope keep two utterances apart."""
    memory.add({"role": "user", "content": "keeps bees"})
    memory.add({"role": "assistant", "content": "keeps bees"})
    memory.add({"role": "user", "content": "keeps bees", "name": "guest"})
    memory.add("keeps bees", session="s")
    memory.add("keeps bees", scope="p")
    assert len(memory.list().items) == 5


def test_saying_it_again_after_a_correction_is_a_new_statement(memory: Memory):
    """Case U-05: A, corrected to B, then said A again: both the correction and the new statement stand."""
    made = memory.add("lives in Oslo").episodes[0]
    memory.update(made, "lives in Lima")
    again = memory.add("lives in Oslo")
    assert [change.what for change in again.changes] == ["added"]
    assert sorted(item.text for item in memory.list().items) == ["lives in Lima", "lives in Oslo"]


def test_change_there_and_back_keeps_three_versions(memory: Memory):
    """Case U-05: A to B to A is three versions of one memory, and A is current."""
    made = memory.add("lives in Oslo").episodes[0]
    assert memory.update(made, "lives in Lima").version == 2
    assert memory.update(made, "lives in Oslo").version == 3
    assert [v.text for v in memory.history(made)] == ["lives in Oslo", "lives in Lima", "lives in Oslo"]
    assert [hit.version for hit in memory.search("Oslo").hits] == [3]
    assert memory.search("Lima").hits == ()


def test_saying_the_current_text_again_is_a_duplicate_after_there_and_back(memory: Memory):
    """Case U-05: after A to B to A the current text is A, so A said again is no second record."""
    made = memory.add("lives in Oslo").episodes[0]
    memory.update(made, "lives in Lima")
    memory.update(made, "lives in Oslo")
    assert memory.add("lives in Oslo").episodes == (made,)
    assert len(memory.list().items) == 1


def test_saying_what_a_correction_already_says_is_a_duplicate(memory: Memory):
    """Case U-05: a memory that was corrected to B is repeated by B said once more."""
    made = memory.add("lives in Oslo").episodes[0]
    memory.update(made, "lives in Lima")
    assert memory.add("lives in Lima").episodes == (made,)
    assert [item.text for item in memory.list().items] == ["lives in Lima"]


def test_withdrawn_and_erased_texts_can_be_said_again(memory: Memory):
    """Case U-05: words that were withdrawn, or erased, may be said anew."""
    first = memory.add("keeps bees").episodes[0]
    memory.retract(first)
    second = memory.add("keeps bees").episodes[0]
    memory.forget(second)
    third = memory.add("keeps bees").episodes[0]
    assert len({first, second, third}) == 3
    assert [item.id for item in memory.list().items] == [third]


def test_update_of_text_leaves_the_other_fields_alone(memory: Memory):
    """Case U-06: a new text keeps metadata, session, scope, source id and the time it came in; the reverse too."""
    made = memory.add(
        {"content": "lives in Oslo", "id": "m-1", "metadata": {"tags": ["a"], "n": 1}, "at": "2024-01-01T00:00:00Z"},
        session="s",
        scope="p",
    ).episodes[0]
    memory.update(made, "lives in Lima")
    after = memory.get(made)
    assert (after.metadata, after.session, after.scope, after.source) == ({"tags": ["a"], "n": 1}, "s", "p", "m-1")
    memory.update(made, metadata={"tags": []})
    last = memory.get(made)
    assert (last.text, last.metadata, last.version, last.role) == ("lives in Lima", {"tags": []}, 3, "user")


def test_metadata_update_keeps_speaker_and_authority(memory: Memory):
    """Case U-06: new metadata on an assistant's line does not make the line the user's."""
    made = memory.add({"role": "assistant", "content": "You like Rosa", "at": "2024-01-01T00:00:00Z"}).episodes[0]
    memory.update(made, metadata={"seen": True})
    after = memory.get(made)
    assert (after.role, after.authority, after.at) == ("assistant", "unendorsed", "2024-01-01T00:00:00Z")


def test_update_without_a_change_makes_no_version(memory: Memory):
    """Case U-06: the same text, the same metadata, or both: no new version; nothing at all is refused."""
    made = memory.add({"content": "lives in Oslo", "metadata": {"a": 1}}).episodes[0]
    size = memory.audit().size
    for arguments in ({"text": "lives in Oslo"}, {"metadata": {"a": 1}}, {"text": "lives in Oslo", "metadata": {"a": 1}}):
        assert memory.update(made, **arguments).what == "unchanged"
    with pytest.raises(InputError):
        memory.update(made)
    with pytest.raises(TypeError):
        memory.update(made, tags=["x"])  # type: ignore[call-arg]
    assert memory.get(made).version == 1
    assert memory.audit().size == size


@pytest.mark.parametrize(
    "metadata",
    [
        5,
        "abc",
        [1],
        [("a", 1)],
        {"a": float("nan")},
        {1: 2},
        {"a": {1, 2}},
        {"a": b"x"},
        {"a": "\ud83d"},
        {"a": "x" * 20_000},
        {"a": 2**63},
    ],
    ids=lambda m: ascii(m)[:20],
)
def test_update_with_malformed_metadata_is_refused(memory: Memory, metadata: Any):
    """Case U-06: anything but a JSON object within the limits is an InputError; the memory stays as it is."""
    made = memory.add("lives in Oslo").episodes[0]
    with pytest.raises(InputError) as caught:
        memory.update(made, metadata=metadata)
    assert caught.value.attributes["field"] == "metadata"
    assert memory.get(made).version == 1


@pytest.mark.parametrize("text", ["", "  ", "\x00", "a\x00b", "\ud83d", 5, ["x"], {"text": "x"}, b"x"], ids=ascii)
def test_update_with_malformed_text_is_refused(memory: Memory, text: Any):
    """Case U-06, row P-017: a text that can't be kept verbatim is an InputError, never a crash or an emptied memory."""
    made = memory.add("lives in Oslo").episodes[0]
    with pytest.raises(InputError) as caught:
        memory.update(made, text)
    assert caught.value.attributes["field"] == "text"
    assert memory.get(made).text == "lives in Oslo"


def test_withdrawn_memory_can_not_be_changed(memory: Memory):
    """Case U-01, U-06: withdrawing twice, or correcting what is withdrawn, is a conflict; its history stays."""
    made = memory.add("I love running at dawn").episodes[0]
    assert memory.retract(made).what == "retracted"
    for step in (lambda: memory.retract(made), lambda: memory.update(made, "x y"), lambda: memory.approve(made)):
        with pytest.raises(ConflictError):
            step()
    with pytest.raises(NotFoundError):
        memory.get(made)
    assert [v.status for v in memory.history(made)] == ["active", "retracted"]


def test_thirty_corrections_keep_every_version_whole(memory: Memory):
    """Row P-119: all 31 versions are there, nothing shortened."""
    made = memory.add("version 0 " + "x" * 500).episodes[0]
    for number in range(1, 31):
        memory.update(made, f"version {number} " + "x" * 500)
    assert [v.text for v in memory.history(made)] == [f"version {n} " + "x" * 500 for n in range(31)]


@pytest.mark.parametrize(
    "message",
    [
        MappingProxyType({"role": "user", "content": "lives in Oslo"}),
        {"content": "lives in Oslo"},
        Message("lives in Oslo"),
        "lives in Oslo",
    ],
    ids=["mapping", "dict", "message", "text"],
)
def test_one_message_of_any_kind_is_one_memory(memory: Memory, message: Any):
    """Case U-05: text, Message and every mapping stand for one message."""
    assert memory.add(message).added == 1
    assert [item.text for item in memory.list().items] == ["lives in Oslo"]


@pytest.mark.parametrize(
    "message",
    [
        None,
        5,
        b"lives in Oslo",
        True,
        1.5,
        {},
        {"content": None},
        {"content": "x", "text": "x"},
        {"content": "x", "extra": 1},
        {"content": "x", "metadata": []},
        {"content": "x", "metadata": 0},
        {"content": "x", "metadata": "m"},
        {"content": "x", "role": "root"},
        {"content": "x", "role": 5},
        {"content": "x", "id": 5},
        {"content": "x", "name": "\x01"},
        {"content": {"a": 1}},
    ],
    ids=ascii,
)
def test_one_malformed_message_is_refused_with_an_error(memory: Memory, message: Any):
    """Row P-021: what is no message at all is an InputError, never kept and never silently dropped."""
    with pytest.raises(InputError):
        memory.add(message)
    assert memory.list(include_inactive=True).items == ()


def test_explicit_none_in_a_message_takes_the_default_of_the_call(memory: Memory):
    """Case U-06: null means "not given": the instant of the call is used, as for a missing key."""
    memory.add([{"content": "one pear", "at": None}, {"content": "two pears"}], at="2024-01-01T00:00:00Z")
    assert [item.at for item in memory.list().items] == ["2024-01-01T00:00:00Z"] * 2
