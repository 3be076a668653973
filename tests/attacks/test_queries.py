"""Queries and filters: operators mean themselves, and nothing a caller asks for is unbounded (T-I3, T-D5)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from witnesstree import Memory
from witnesstree.errors import InputError
from witnesstree.types.limits import MAX_BUDGET_TOKENS, MAX_QUERY_CHARS, MAX_QUERY_TERMS, MAX_RESULTS, MAX_WHERE_TERMS

OPERATORS = [
    'owner:"bob"',
    '"green" OR "safe"',
    "NEAR(green safe, 10)",
    "green NOT tea",
    "{owner content} : safe",
    "^safe",
    "saf*",
    "%",
    "_",
    "'; DROP TABLE memory; --",
    "' UNION SELECT content FROM memory --",
    '") OR owner MATCH ("bob',
    "(((((",
    '"',
    "\\",
    "\x00",
    "\ud800",
    "-safe +number",
    "/safe|number/",
    "$where: 1",
    "../../etc/passwd",
]


@pytest.fixture(params=["ram", "sqlite"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Memory]:
    """Alice likes tea, Bob has a safe."""
    with Memory.open("ram:" if request.param == "ram" else str(tmp_path / "agent.db"), user="alice") as opened:
        opened.add(["I like green tea.", "The letter was signed NOT OR AND."], metadata={"level": 3})
        opened.add("The safe's number is 4711.", user="bob")
        yield opened


def state(memory: Memory) -> tuple[str, bool, list[str]]:
    """What a query may not change."""
    return memory.checkpoint(), memory.audit().ok, [item.text for item in memory.list(user="bob").items]


@pytest.mark.parametrize("query", OPERATORS)
def test_operators_in_a_query_are_only_text(memory: Memory, query: str):
    """T-I3: no character commands the engine, and none makes an error."""
    assert memory.search("green tea").hits[0].text == "I like green tea."
    before = state(memory)
    for result in (memory.search(query, k=1000), memory.search(f"tea {query}", k=1000)):
        assert {hit.user for hit in result.hits} <= {"alice"}
    memory.answer(query)
    assert state(memory) == before


def test_words_that_are_operators_elsewhere_are_found(memory: Memory):
    """T-I3: and so are memories that hold them."""
    before = state(memory)
    assert memory.search("NOT OR AND").hits[0].text == "The letter was signed NOT OR AND."
    assert memory.search("NEAR(").hits == ()
    assert state(memory) == before


@pytest.mark.parametrize(
    "where",
    [
        {"user": "bob"},
        {"owner": "bob"},
        {"1=1 OR role": "user"},
        {"role": "user' OR '1'='1"},
        {"role": {"in": ["%", "*", "user' --"]}},
        {"metadata.level') OR ('1": "1"},
        {"__class__": {"exists": True}},
        {"metadata.__class__": {"exists": True}},
        {"metadata": {"exists": True}},
    ],
)
def test_no_filter_reaches_the_engine_or_python(memory: Memory, where: dict[str, Any]):
    """T-I3: a field that is none matches nothing; a value is compared and never run."""
    assert len(memory.search("green tea", where={"role": "user", "metadata.level": {"gte": 3}}).hits) == 1
    before = state(memory)
    assert memory.search("green tea", where=where).hits == ()
    assert memory.list(where=where).items == ()
    assert memory.forget(where=where).memories == 0
    assert state(memory) == before


@pytest.mark.parametrize(
    "where",
    [
        {"role": {"regex": "(a+)+$"}},
        {"role": {"$ne": "user"}},
        {"role": {}},
        {},
        [],
        "role = 'user'",
        {"and": []},
        {"or": {"role": "user"}},
        {"not": None},
        {"role": {"in": "user"}},
        {"role": {"exists": 1}},
        {"role": {"gt": None}},
        {"at": {"gt": 5}},
        {"at": "yesterday"},
    ],
)
def test_a_malformed_filter_is_refused_by_name(memory: Memory, where: object):
    """T-I3: an unknown operator or shape is an error that says where, also before anything is erased."""
    assert len(memory.list(where={"role": {"in": ["user"]}}).items) == 2
    before = state(memory)
    for call in (memory.list, memory.forget):
        with pytest.raises(InputError) as caught:
            call(where=where)
        assert str(caught.value.attributes["field"]).startswith("where")
    assert state(memory) == before


def nested(depth: int) -> dict[str, Any]:
    """A filter inside so many ``not``."""
    where: dict[str, Any] = {"role": "user"}
    for _ in range(depth):
        where = {"not": where}
    return where


@pytest.mark.parametrize(
    "where",
    [
        {"or": [{"role": "user"}] * (MAX_WHERE_TERMS + 1)},
        {"and": [{"or": [{"role": "user"}] * 20}, {"or": [{"role": "user"}] * 20}]},
        {f"metadata.k{i}": i for i in range(MAX_WHERE_TERMS + 1)},
        nested(50_000),
    ],
    ids=["many in or", "many in and", "many fields", "deep"],
)
def test_a_filter_beyond_the_limit_is_refused(memory: Memory, where: dict[str, Any]):
    """T-D5: the number of comparisons and the depth are bounded."""
    assert memory.list(where={"or": [{"role": "user"}] * MAX_WHERE_TERMS}).items
    assert memory.list(where=nested(2)).items
    before = state(memory)
    with pytest.raises(InputError):
        memory.list(where=where)
    assert state(memory) == before


def test_a_huge_query_is_refused_and_a_long_one_is_bounded(memory: Memory):
    """T-D5: of a long query the first words count; beyond the limit it is refused."""
    before = state(memory)
    many = " ".join(f"word{i}" for i in range(MAX_QUERY_TERMS))
    assert memory.search(f"tea {many}").hits[0].text == "I like green tea."
    assert memory.search(f"{many} tea").hits == ()
    assert memory.search("(" * MAX_QUERY_CHARS).hits == ()
    for query in ("x" * (MAX_QUERY_CHARS + 1), "tea " * MAX_QUERY_CHARS):
        with pytest.raises(InputError):
            memory.search(query)
        with pytest.raises(InputError):
            memory.answer(query)
    assert state(memory) == before


@pytest.mark.parametrize("value", [0, -1, MAX_RESULTS + 1, 10**30, 1.0, True, "10", None])
def test_a_number_of_results_out_of_range_is_refused(memory: Memory, value: object):
    """T-D5: a page and a result have a largest size."""
    before = state(memory)
    assert len(memory.list(limit=1).items) == 1
    assert len(memory.search("tea", k=MAX_RESULTS).hits) == 1
    with pytest.raises(InputError):
        memory.list(limit=value)  # type: ignore[arg-type]
    with pytest.raises(InputError):
        memory.search("tea", k=value)  # type: ignore[arg-type]
    assert state(memory) == before


@pytest.mark.parametrize("budget", [0, -5, MAX_BUDGET_TOKENS + 1, 2.5, True, "100", 3])
def test_a_budget_out_of_range_is_refused(memory: Memory, budget: object):
    """T-D5: also one that is too small for the fence itself."""
    before = state(memory)
    result = memory.search("tea")
    assert "green tea" in result.context(200)
    with pytest.raises(InputError):
        result.context(budget)  # type: ignore[arg-type]
    assert state(memory) == before
