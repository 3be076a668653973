"""Rows P about sizes, limits, odd text, a store that is full, and limits of the engine."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from witnesstree import Memory
from witnesstree.errors import InputError, StoreError
from witnesstree.rules.budget import count_tokens
from witnesstree.types.limits import MAX_TEXT_BYTES


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    """One open store."""
    with Memory.open(str(tmp_path / "a.db"), user="u") as opened:
        opened.add("a pear")
        yield opened


# -- sizes --------------------------------------------------------------------------------------------------------------------


def test_correction_of_a_megabyte_is_kept_whole_or_refused_whole(memory: Memory):
    """Row P-010: up to the limit it is kept byte for byte and found by its last word; beyond it, nothing changes."""
    made = memory.list().items[0].id
    text = "word " * ((MAX_TEXT_BYTES - 8) // 5) + "zqxjwv"
    assert len(text) <= MAX_TEXT_BYTES
    assert memory.update(made, text).version == 2
    assert memory.get(made).text == text
    assert memory.search("zqxjwv").hits[0].id == made
    for long in ("x" * (MAX_TEXT_BYTES + 1), "é" * MAX_TEXT_BYTES, text * 3):
        with pytest.raises(InputError):
            memory.update(made, long)
    assert memory.get(made).version == 2
    assert memory.audit().ok


def test_tool_message_of_three_megabytes_is_refused_before_any_write(memory: Memory):
    """Row P-024: alone, in a list, in an import; what is good in the same call is kept."""
    head = memory.checkpoint()
    huge = {"role": "tool", "content": "pear " * 600_000, "name": "web"}
    with pytest.raises(InputError):
        memory.add(huge)
    assert memory.checkpoint() == head
    assert [bad.index for bad in memory.add(["b pear", huge, "c pear"]).rejected] == [1]
    assert [bad.index for bad in memory.import_([huge]).rejected] == [0]
    assert [item.text for item in memory.list().items] == ["a pear", "b pear", "c pear"]


# -- what is no message -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("odd", [123, None, 1.5, True, [], ["a pear"], {"role": 5, "content": "x"}, b"x", {"content": {"a": 1}}])
def test_list_of_what_is_no_message_is_reported_item_by_item(memory: Memory, odd: Any):
    """Row P-021: [123], [null] and the like: each is reported with its place, the good ones are kept."""
    result = memory.add([odd, "b pear", odd])
    assert [bad.index for bad in result.rejected] == [0, 2]
    assert all(bad.message and bad.field for bad in result.rejected)
    assert [item.text for item in memory.list().items] == ["a pear", "b pear"]


@pytest.mark.parametrize("user", ["\x01", "\ud83d", "a\x00b", "\u202e", "x" * 600, " "], ids=ascii)
def test_question_of_a_malformed_user_is_a_typed_refusal(memory: Memory, user: str):
    """Row P-022: asking works without any model; a user that can't be one, or an id that can't, is never a raw error."""
    assert memory.answer("Which pear?").text == "a pear"
    made = memory.list().items[0].id
    for call in (
        lambda: memory.answer("Which pear?", user=user),
        lambda: memory.search("pear", user=user),
        lambda: memory.prove(made, user=user),
        lambda: memory.forget(made, user=user),
    ):
        with pytest.raises(InputError) as caught:
            call()
        assert caught.value.attributes["field"] == "user"
    assert memory.get(made).text == "a pear"


# -- limits -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 60, 500, 999, 1000])
def test_search_gives_as_many_of_a_thousand_matches_as_were_asked_for(k: int):
    """Row P-070: no silent ceiling anywhere below the documented one; pages of a list as well."""
    with Memory.open("ram:", user="u") as memory:
        memory.add([f"pear number {n}" for n in range(1000)])
        assert len({hit.id for hit in memory.search("pear", k=k).hits}) == k
        assert len(memory.list(limit=k).items) == k


@pytest.mark.parametrize("kinds", ["paragraph", "Turn", "", ["turn", "sentence"], "turn,fact", "%"], ids=str)
def test_unknown_kind_is_refused_and_not_passed_over(memory: Memory, kinds: Any):
    """Row P-070: a granularity that does not exist is an InputError that names the known ones."""
    assert memory.search("pear", kinds="turn").hits
    with pytest.raises(InputError, match="turn"):
        memory.search("pear", kinds=kinds)


def context_within(memory: Memory, budget: int) -> str:
    """The context within a budget; nothing where the budget is refused as too small."""
    try:
        return memory.search("pear").context(budget)
    except InputError:
        return ""


def test_budget_too_small_for_the_fence_is_refused(memory: Memory):
    """Row P-114: fence, labels and tail count; where not even they fit, it is said, and never more is used than was allowed."""
    memory.add(["pear " * 50, "pear tree in the garden"])
    texts = {budget: context_within(memory, budget) for budget in range(1, 200)}
    smallest = min(budget for budget, text in texts.items() if text)
    assert 10 < smallest < 100, "the fence alone has a price"
    for budget, text in texts.items():
        assert bool(text) is (budget >= smallest)
        assert count_tokens(text) <= budget
        assert not text or text.splitlines()[-1].startswith("[end of memory ")


# -- words --------------------------------------------------------------------------------------------------------------------

PAIRS = [
    ("caf\u00e9 near the station", "cafe\u0301"),
    ("cafe\u0301 near the station", "caf\u00e9"),
    ("Stra\u00dfe nach Linz", "STRASSE"),
    ("STRASSE nach Linz", "stra\u00dfe"),
    ("この建物の高さは三百メートルです", "高さ"),
    ("建物の高さ", "高さ"),
    ("\uff30\uff21\uff32\uff29\uff33 trip", "paris"),
    ("zero\u200bwidth words", "zero\u200bwidth"),
]


@pytest.mark.parametrize(("text", "query"), PAIRS)
def test_other_spelling_of_a_word_finds_it(text: str, query: str):
    """Row P-115: composed or not, sharp s or double s, wide or narrow, two characters in the middle of a sentence; words only."""
    with Memory.open("ram:", user="u", embedder="none") as memory:
        memory.add(["something else entirely", text, "全く別の文"])
        found = memory.search(query).hits
        assert [hit.text for hit in found] == [text]


@pytest.mark.parametrize("name", ["caf\u00e9", "M\u00fcller", "\ud55c\uae00", "\u1e9b\u0323"])
def test_composed_and_decomposed_names_are_one(memory: Memory, name: str):
    """Row P-115: user, session and scope have one form, so that two spellings are not two memories."""
    one, two = unicodedata.normalize("NFC", name), unicodedata.normalize("NFD", name)
    assert one != two
    memory.add("one pear", user=one, session=one, scope=one)
    assert [item.text for item in memory.list(user=two, session=two, scope=two).items] == ["one pear"]
    assert memory.add("one pear", user=two, session=two, scope=two).added == 0
    for hidden in ("caf\u00e9\u200b", "\ufeffcaf\u00e9"):
        with pytest.raises(InputError):
            memory.add("two pears", user=hidden)


# -- the engine's own limits --------------------------------------------------------------------------------------------------


def connections(memory: Memory) -> list[apsw.Connection]:
    """The reading and the writing connection of a store."""
    store: Any = memory._store.store
    return [store._reader, store._open_writer()]


def test_full_store_says_that_it_is_full_and_heals(memory: Memory):
    """Row P-060: SQLite's own limit of pages is reached in the middle of a transaction: the real cause surfaces, nothing is half
    written, reads go on, and with room again everything works."""
    writer = connections(memory)[1]
    [(pages,)] = writer.execute("PRAGMA page_count").fetchall()
    assert isinstance(pages, int)
    writer.execute(f"PRAGMA max_page_count = {pages + 4}")
    made = memory.list().items[0].id
    for call in (
        lambda: memory.add(["filler " * 3_000 + str(n) for n in range(5)]),
        lambda: memory.update(made, "filler " * 30_000),
        lambda: memory.import_([{"content": "filler " * 30_000}]),
    ):
        with pytest.raises(StoreError) as caught:
            call()
        assert (caught.value.reason, "full" in str(caught.value)) == ("full", True)
        assert [item.text for item in memory.list().items] == ["a pear"]
        assert [hit.id for hit in memory.search("pear").hits] == [made]
        assert memory.audit().ok
    writer.execute("PRAGMA max_page_count = 1000000")
    assert memory.add(["filler " * 3_000 + str(n) for n in range(5)]).added == 5
    assert memory.audit().ok


def test_few_variables_in_a_statement_are_enough_for_every_verb(tmp_path: Path):
    """Row P-061: SQLite allows ten variables in a statement: no verb binds more, however many rows it works on."""
    place = str(tmp_path / "a.db")
    with Memory.open(place, user="u") as memory, Memory.open(place, user="u") as other:
        for connection in (*connections(memory), *connections(other)):
            connection.limit(apsw.SQLITE_LIMIT_VARIABLE_NUMBER, 10)
            with pytest.raises(apsw.Error):
                connection.execute(f"SELECT {', '.join('?' * 11)}", range(11))
        made = memory.add([f"line {n} pear" for n in range(3_000)]).episodes
        assert len(other.search("pear", k=1000).hits) == 1000
        other.update(made[7], "line 7 apple")
        assert memory.forget(where={"source": {"in": [""] + [f"m-{n}" for n in range(900)]}}, dry_run=True).memories == 3_000
        assert len(memory.list(limit=1000, where={"id": {"in": list(made[:1000])}}).items) == 1000
        exported = memory.export()
        assert memory.import_(exported).added == 0
        memory.backup(str(tmp_path / "b.db"))
        assert memory.repair() == ()
        assert memory.forget(everything=True).memories == 3_000
        assert other.list(include_inactive=True).items == ()
        assert other.audit().ok
