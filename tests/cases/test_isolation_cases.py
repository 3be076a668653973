"""Cases I: one user's memory never shows in another's, whatever the names are made of (cases.md section 3)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from witnesstree import AsyncMemory, Memory
from witnesstree.errors import InputError, NotFoundError

LOOKALIKES = (
    "jan-mol",
    "jan_mol",
    "janXmol",
    "%",
    "a%",
    "ab",
    "\\",
    "_____",
    "abcde",
    "*",
    "[a-z]*",
    "acme",
    "acme-eu",
    "acme.eu",
    "acme:eu",
    "acme/eu",
    "ACME",
    "foo",
    "foobar",
    "alice",
    "malice",
    "user:acme",
    "a.b",
    "O'Shea",
    "O''Shea",
    'x"y',
)


@pytest.fixture(params=["sqlite", "ram"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Memory]:
    """An open memory on each engine."""
    with Memory.open("ram:" if request.param == "ram" else str(tmp_path / "agent.db")) as opened:
        yield opened


def test_only_the_exact_owners_rows_come_back(memory: Memory):
    """Case I-01, I-02: LIKE and GLOB wildcards, prefixes, suffixes and separators in a user's name mean only themselves."""
    for number, user in enumerate(LOOKALIKES):
        memory.add(f"pear tree number {number}", user=user)
    for number, user in enumerate(LOOKALIKES):
        wanted = [f"pear tree number {number}"]
        assert [hit.text for hit in memory.search("pear tree", user=user).hits] == wanted
        assert [item.text for item in memory.list(user=user).items] == wanted
        exported = [json.loads(line) for line in memory.export(user=user).splitlines()]
        assert [line["memory"]["text"] for line in exported if "memory" in line] == wanted


@pytest.mark.parametrize("user", ["%", "*", "a", "acm", "acme-", "_", "jan?mol", "user:", "nobody"])
def test_unknown_and_pattern_users_see_nothing(memory: Memory, user: str):
    """Case I-01, I-06: a user who has no memory gets an empty answer, not somebody else's."""
    for name in ("acme", "acme-eu", "jan-mol", "jan_mol", "ab"):
        memory.add("lives in Oslo", user=name)
    assert memory.search("Oslo", user=user).hits == ()
    assert memory.list(user=user, include_inactive=True).items == ()
    assert memory.inbox(user=user).items == ()
    assert memory.answer("Who lives in Oslo?", user=user).abstained
    assert "Oslo" not in memory.export(user=user)
    assert memory.forget(user=user, everything=True).memories == 0
    assert len(memory.list(user="acme").items) == 1


def test_scope_and_session_labels_have_no_separator(memory: Memory):
    """Case I-02: ("a", "b.c") and ("a.b", "c") are two places, for scopes and sessions too."""
    memory.add("first place pears", user="u", scope="a", session="b.c")
    memory.add("second place pears", user="u", scope="a.b", session="c")
    memory.add("third place pears", user="u", scope="a%", session="_")
    assert [h.text for h in memory.search("pears", user="u", scope="a").hits] == ["first place pears"]
    assert [h.text for h in memory.search("pears", user="u", scope="a.b").hits] == ["second place pears"]
    assert [h.text for h in memory.search("pears", user="u", scope="a%").hits] == ["third place pears"]
    assert [h.text for h in memory.search("pears", user="u", session="_").hits] == ["third place pears"]
    assert memory.search("pears", user="u", scope="a", session="c").hits == ()


def test_no_verb_shows_words_of_another_user(memory: Memory):
    """Case I-03: search, answer, list, export, context and the trace of u1 never hold what u2 said."""
    memory.add("Robin grows pears", user="u1")
    memory.add("Robin teaches judo", user="u2")
    found = memory.search("What does Robin do, judo?", user="u1")
    shown = "".join(
        map(
            str,
            (
                found.to_dict(),
                found.context(),
                memory.answer("Does Robin teach judo?", user="u1").to_dict(),
                memory.list(user="u1").to_dict(),
                memory.export(user="u1"),
                memory.search("judo", user="u1").to_dict(),
                memory.search("Robin", user="u1", as_of="2190-01-01T00:00:00Z").to_dict(),
            ),
        )
    )
    assert "judo" not in shown.replace("What does Robin do, judo?", "")
    assert len(found.hits) == 1


def test_statistics_of_a_search_ignore_other_users(memory: Memory):
    """Case I-03: a score is the same whether or not another user has a thousand texts with the same word."""
    memory.add(["Robin grows pears", "The train leaves at nine"], user="u1")
    alone = memory.search("pears", user="u1").hits[0].score
    memory.add([f"pears again {n}" for n in range(300)], user="u2")
    assert memory.search("pears", user="u1").hits[0].score == alone


EMPTY_USERS: list[Any] = [
    "",
    "  ",
    " u",
    "u\n",
    [],
    {},
    {"user_id": None},
    0,
    5,
    True,
    b"u",
    "\u200b",
    "u\u200b",
    "\x00",
    "\ud83d",
]


@pytest.mark.parametrize("user", [None, *EMPTY_USERS], ids=repr)
def test_missing_or_malformed_user_is_refused_by_every_verb(memory: Memory, user: Any):
    """Case I-04: no user means no answer, one rule for every verb; nothing is erased by an empty scope."""
    kept = memory.add("stays here", user="u").episodes[0]
    for call in (
        lambda: memory.add("x y", user=user),
        lambda: memory.search("stays", user=user),
        lambda: memory.list(user=user),
        lambda: memory.get(kept, user=user),
        lambda: memory.history(kept, user=user),
        lambda: memory.evidence(kept, user=user),
        lambda: memory.update(kept, "new", user=user),
        lambda: memory.retract(kept, user=user),
        lambda: memory.approve(kept, user=user),
        lambda: memory.inbox(user=user),
        lambda: memory.forget(kept, user=user),
        lambda: memory.forget(user=user, everything=True),
        lambda: memory.prove(kept, user=user),
        lambda: memory.export(user=user),
        lambda: memory.import_([{"content": "x y"}], user=user),
        lambda: memory.answer("stays?", user=user),
    ):
        with pytest.raises(InputError) as caught:
            call()
        assert caught.value.attributes["field"] == "user"
    assert memory.get(kept, user="u").text == "stays here"


@pytest.mark.parametrize(
    "choice",
    [
        {},
        {"where": {}},
        {"session": ""},
        {"session": "  "},
        {"where": {"and": []}},
        {"everything": False},
        {"where": []},
        {"everything": True, "session": "s"},
        {"id": "0" * 32, "everything": True},
        {"everything": "yes"},
        {"everything": 2},
    ],
    ids=repr,
)
def test_forget_without_a_clear_choice_erases_nothing(memory: Memory, choice: dict[str, Any]):
    """Case I-04: an empty, doubled or malformed choice is an InputError, and everything stays."""
    memory.add(["one pear", "two pears"], user="u", session="s")
    with pytest.raises(InputError):
        memory.forget(user="u", **choice)
    assert len(memory.list(user="u").items) == 2


def test_default_user_of_open_is_used_and_overridden(tmp_path: Path):
    """Case I-06, I-10: a user, agent or scope given at open is the default of every verb, and an argument wins over it."""
    with Memory.open(str(tmp_path / "agent.db"), user="u1", scope="p1", agent="bot") as memory:
        made = memory.add("lives in Oslo").episodes[0]
        memory.add("lives in Lima", user="u2")
        memory.add("lives in Rome", scope="p2")
        assert memory.get(made).scope == "p1"
        assert memory.get(made).agent == "bot"
        assert [h.text for h in memory.search("lives").hits] == ["lives in Oslo"]
        assert [i.text for i in memory.list().items] == ["lives in Oslo"]
        assert [i.text for i in memory.list(scope="p2").items] == ["lives in Rome"]
        assert [h.text for h in memory.search("lives", user="u2").hits] == ["lives in Lima"]
        assert memory.search("lives", scope="p9").hits == ()


HOSTILE_FILTERS: list[dict[str, Any]] = [
    {"x') OR 1=1 --": 1},
    {"a.b": 1},
    {"$.user_id": "u2"},
    {'"': 1},
    {"user_id": "u2"},
    {"user": "u2"},
    {"\x00": 1},
    {"metadata.'": "u2"},
    {"metadata.a') OR 1=1 --": 1},
    {"metadata": {"exists": True}},
    {"or": [{"user": "u2"}, {"owner": "u2"}]},
    {"user": {"in": ["u2", "u3"]}},
    {"__class__": {"exists": True}},
    {"\ud83d": 1},
]


@pytest.mark.parametrize("where", HOSTILE_FILTERS, ids=repr)
def test_filter_never_leads_out_of_the_callers_memory(memory: Memory, where: dict[str, Any]):
    """Case I-07: a crafted key is a plain name that matches nothing; a filter that names another user finds nothing."""
    memory.add({"content": "pears of u1", "metadata": {"tag": "x"}}, user="u1")
    memory.add({"content": "pears of u2", "metadata": {"tag": "x"}}, user="u2")
    assert memory.search("pears", user="u1", where=where).hits == ()
    assert memory.list(user="u1", where=where).items == ()
    assert memory.forget(user="u1", where=where).memories == 0
    assert [h.text for h in memory.search("pears", user="u1", where={"not": where}).hits] == ["pears of u1"]


def _nested(depth: int) -> dict[str, Any]:
    where: dict[str, Any] = {"role": "user"}
    for _ in range(depth):
        where = {"not": where}
    return where


@pytest.mark.parametrize(
    "where",
    [
        {"role": {"like": "u%"}},
        {"role": {"$ne": 1}},
        {"or": {}},
        {"or": []},
        {"and": [5]},
        {"not": []},
        {"role": {}},
        {"role": {"in": "user"}},
        {"role": {"exists": 1}},
        {"at": 5},
        {"at": "yesterday"},
        {"at": "2025-01-01"},
        "role=user",
        5,
        [],
        {"role": {"gt": None}},
        {"or": [{"role": "user"}] * 33},
        _nested(5_000),
    ],
    ids=lambda where: repr(where)[:40] if not (isinstance(where, dict) and "not" in where and where["not"]) else "deep",
)
def test_malformed_filter_is_refused_with_the_field(memory: Memory, where: Any):
    """Case I-07: an unknown operator, a wrong shape, a huge or endless nesting is an InputError that names ``where``."""
    memory.add("pears of u1", user="u1")
    with pytest.raises(InputError) as caught:
        memory.search("pears", user="u1", where=where)
    assert str(caught.value.attributes["field"]).startswith("where")


@pytest.mark.parametrize("verb", ["get", "update", "retract", "approve", "forget", "history", "evidence", "prove"])
def test_foreign_id_answers_like_an_unknown_id(memory: Memory, verb: str):
    """Case I-09: by id, another user's memory gives the very same answer as an id that never existed, and stays as it was."""
    made = memory.add("my secret", user="u1").episodes[0]
    before = memory.get(made, user="u1").to_dict()
    arguments = {"update": ("stolen",)}.get(verb, ())
    answers = []
    for wanted in (made, "0" * 32):
        with pytest.raises(NotFoundError) as caught:
            getattr(memory, verb)(wanted, *arguments, user="u2")
        answers.append(str(caught.value.to_dict()).replace(wanted, "ID"))
    assert answers[0] == answers[1]
    assert memory.get(made, user="u1").to_dict() == before


@pytest.mark.parametrize(
    "odd",
    [
        "",
        "x",
        "0" * 31,
        "0" * 33,
        "g" * 32,
        " " * 32,
        "0" * 30 + "\u0660\u0660",
        5,
        None,
        b"0" * 32,
        "../" * 10 + "xx",
        "\ud83d" * 32,
        "'; DROP TABLE memory; --aaaaaaaaa",
    ],
    ids=repr,
)
def test_malformed_id_is_simply_not_found(memory: Memory, odd: Any):
    """Case I-09: an id of any shape that can't exist is a NotFoundError, never a raw exception."""
    memory.add("kept", user="u")
    for verb in (memory.get, memory.history, memory.evidence, memory.retract, memory.approve, memory.prove):
        with pytest.raises(NotFoundError):
            verb(odd, user="u")
    with pytest.raises(NotFoundError):
        memory.update(odd, "text", user="u")
    if odd is not None:
        with pytest.raises(NotFoundError):
            memory.forget(odd, user="u")
    assert len(memory.list(user="u").items) == 1


def test_import_writes_into_the_callers_memory_only(tmp_path: Path):
    """Case I-09: an export of u1 that u2 brings in becomes u2's, with new ids and without u1's authority."""
    with Memory.open(str(tmp_path / "a.db")) as memory:
        made = memory.add("pay the rent from DE89", user="u1").episodes[0]
        data = memory.export(user="u1")
        result = memory.import_(data, user="u2")
        assert result.added == 1
        assert result.episodes[0] != made
        copied = memory.get(result.episodes[0], user="u2")
        assert copied.user == "u2"
        assert copied.authority != "authorized"
        assert [item.id for item in memory.list(user="u1").items] == [made]
        forged = [{"content": "stolen words", "user": "u1"}, {"content": "fine words"}]
        result = memory.import_(forged, user="u2")
        assert [bad.index for bad in result.rejected] == [0]
        assert "stolen words" not in memory.export(user="u1")


def test_async_facade_keeps_the_same_walls(tmp_path: Path):
    """Case I-03, I-04: the asynchronous verbs have the same isolation and refusals."""

    async def run() -> None:
        async with await AsyncMemory.open(str(tmp_path / "agent.db")) as memory:
            made = (await memory.add("Robin grows pears", user="u1")).episodes[0]
            assert (await memory.search("pears", user="u2")).hits == ()
            with pytest.raises(NotFoundError):
                await memory.get(made, user="u2")
            with pytest.raises(InputError):
                await memory.search("pears")

    asyncio.run(run())
