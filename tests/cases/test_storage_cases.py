"""Cases G: what a backend may not trip over (cases.md section 9)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from witnesstree import Memory
from witnesstree.errors import InputError

NAMES = [
    "O'Shea",
    "x' OR '1'='1",
    "x' OR 1=1 --",
    'a"b',
    "a\\",
    "%",
    "?",
    ":x",
    "$1",
    "{0}",
    "a;b",
    "ü",
    "字",
    "a b",
    "x" * 512,
    "-- x",
    "NULL",
    "0",
]


@pytest.mark.parametrize("engine", ["sqlite", "ram"])
def test_hostile_names_are_only_names(tmp_path: Path, engine: str):
    """Case G-04: user, session, scope, source id and speaker with quotes and SQL in them; each erasure takes exactly its own."""
    with Memory.open("ram:" if engine == "ram" else str(tmp_path / "a.db")) as memory:
        for name in NAMES:
            memory.add({"content": f"pear of {name}", "id": name, "name": name}, user=name, session=name, scope=name)
        for number, name in enumerate(NAMES):
            item = memory.list(user=name, session=name, scope=name, where={"source": name}).items[0]
            assert (item.user, item.session, item.scope, item.source, item.name) == (name,) * 5
            assert memory.forget(user=name, session=NAMES[number - 1]).memories == 0
            assert memory.forget(user=name, session=name).memories == 1
            left = [other for other in NAMES if memory.list(user=other).items]
            assert left == NAMES[number + 1 :]
        assert memory.audit().ok


@pytest.mark.parametrize(
    "name",
    ["a'b.db", "a%20b.db", "a?x=1.db", "a#b.db", "a b.db", "ü字.db", "a;b.db", "a\\b.db", "-x.db", ":memory:x.db", 'a"b.db'],
)
def test_hostile_paths_are_only_paths(tmp_path: Path, name: str):
    """Case G-04: the file's name is not read as a URL, an option or SQL."""
    path = tmp_path / name
    with Memory.open(str(path), user="u") as memory:
        memory.add("a pear")
    with Memory.open(str(path), user="u") as memory:
        assert len(memory.list().items) == 1
        memory.backup(str(tmp_path / f"copy of {name}"))
    assert path.is_file()
    assert sorted(item.name for item in tmp_path.iterdir() if item.name != "home") == sorted([name, f"copy of {name}"])


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), float("-inf"), {"deep": [1.0, float("nan")]}, 10**400, 2**63], ids=ascii
)
def test_numbers_that_json_has_not_are_refused(tmp_path: Path, value: Any):
    """Case G-06, row P-096: NaN and infinities in metadata are an InputError, in one message, a list, an update, an import."""
    with Memory.open(str(tmp_path / "a.db"), user="u") as memory:
        made = memory.add("a pear").episodes[0]
        with pytest.raises(InputError) as caught:
            memory.add({"content": "b pear", "metadata": {"score": value}})
        json.dumps(caught.value.to_dict(), allow_nan=False)
        assert [bad.index for bad in memory.add(["c pear", {"content": "d pear", "metadata": {"score": value}}]).rejected] == [1]
        with pytest.raises(InputError):
            memory.update(made, metadata={"score": value})
        assert len(memory.import_([{"content": "e pear", "metadata": {"score": value}}]).rejected) == 1
        line = json.dumps({"content": "f pear", "metadata": {"score": value}})
        assert len(memory.import_(line).rejected) == 1
        assert len(memory.list().items) == 2


@pytest.mark.parametrize(
    "line",
    [
        '{"content": "x", "metadata": {"a": NaN}}',
        '{"content": "x", "metadata": {"a": -Infinity}}',
        '{"content": "x", "metadata": {"a": 1e999}}',
        '{"content": "x", "content": "y"}',
        '{"content": "x"',
        '{"content": "\\ud83d"}',
        '{"content": "a\\u0000b"}',
        "[" * 100_000,
        '{"content": ' + "9" * 5_000 + "}",
        '{"content": "x", "metadata": {"a": ' + "9" * 5_000 + "}}",
        "null",
        "5",
        '"x"',
        "[]",
        "{}",
        "\x00",
    ],
    ids=lambda v: v[:40],
)
def test_hostile_import_line_is_reported_and_the_rest_is_kept(tmp_path: Path, line: str):
    """Case G-06, L-06, rows P-015 and P-016: NaN, 1e999, doubled keys, deep nesting, huge numbers: rejected with their index."""
    with Memory.open(str(tmp_path / "a.db"), user="u") as memory:
        result = memory.import_(['{"content": "first pear"}', line, '{"content": "last pear"}'])
        assert [bad.index for bad in result.rejected] == [1]
        assert [item.text for item in memory.list().items] == ["first pear", "last pear"]


def test_every_result_is_strict_json(tmp_path: Path):
    """Case G-06: to_dict of every result goes through a strict JSON encoder, scores included."""
    with Memory.open(str(tmp_path / "a.db"), user="u") as memory:
        added = memory.add(
            [
                {"content": "a pear", "metadata": {"f": 0.1, "z": -0.0, "big": 2**53 + 1, "n": None, "t": [1, {"k": "v"}]}},
                "",
                "b pear",
            ]
        )
        made = added.episodes[0]
        results = [
            added,
            memory.search("pear"),
            memory.search("nothing here"),
            memory.list(),
            memory.get(made),
            memory.evidence(made)[0],
            memory.history(made)[0],
            memory.update(made, "c pear"),
            memory.answer("pear?"),
            memory.audit(),
            memory.forget(made),
            memory.inbox(),
        ]
        for result in results:
            json.loads(json.dumps(result.to_dict(), allow_nan=False))


@pytest.mark.parametrize(
    "arguments",
    [
        {"k": 0},
        {"k": -1},
        {"k": 10**9},
        {"k": float("nan")},
        {"k": "5"},
        {"k": 5.0},
        {"k": True},
        {"k": None},
        {"budget_tokens": 0},
        {"budget_tokens": -5},
        {"budget_tokens": float("inf")},
        {"budget_tokens": 10**9},
        {"kinds": "root"},
        {"kinds": 5},
        {"kinds": [5]},
        {"kinds": ["tombstone"]},
        {"min_authority": "root"},
        {"min_authority": 3},
        {"min_trust": "certain"},
        {"min_trust": []},
        {"session": 5},
        {"scope": ["x"]},
        {"agent": "\x00"},
    ],
    ids=ascii,
)
def test_search_argument_out_of_range_is_refused(tmp_path: Path, arguments: dict[str, Any]):
    """Case G-06, row P-070: no silent ceiling and no raw error: an InputError that names the argument."""
    with Memory.open(str(tmp_path / "a.db"), user="u") as memory:
        memory.add("a pear")
        with pytest.raises(InputError) as caught:
            memory.search("pear", **arguments)
        assert caught.value.attributes["field"] in arguments


def test_optional_fields_may_come_and_go(tmp_path: Path):
    """Case G-07: without, with, empty, null and of another type: all rows are kept and can be filtered, also after a restart."""
    path = str(tmp_path / "a.db")
    values: list[Any] = [
        {},
        {"isDeleted": True, "tags": ["x"]},
        {},
        {"tags": []},
        {"tags": None},
        {"isDeleted": 0},
        {"isDeleted": "no"},
        {"n": 1.5},
        {"n": 1},
    ]
    for number, value in enumerate(values):
        with Memory.open(path, user="u") as memory:
            memory.add({"content": f"pear {number}", "metadata": value})

    with Memory.open(path, user="u") as memory:

        def found(where: dict[str, Any]) -> list[int]:
            return [int(item.text.split()[1]) for item in memory.list(where=where).items]

        assert [item.metadata for item in memory.list().items] == values
        assert found({"metadata.isDeleted": True}) == [1]
        assert found({"metadata.isDeleted": 0}) == [5]
        assert found({"metadata.isDeleted": {"exists": True}}) == [1, 5, 6]
        assert found({"metadata.tags": ["x"]}) == [1]
        assert found({"metadata.tags": {"exists": True}}) == [1, 3]
        assert found({"metadata.n": {"gt": 0}}) == [7, 8]
        assert found({"metadata.n": {"lte": 1}}) == [8]
        assert found({"metadata.isdeleted": {"exists": True}}) == []
        assert found({"not": {"metadata.tags": {"exists": True}}}) == [0, 2, 4, 5, 6, 7, 8]
        assert [int(hit.text.split()[1]) for hit in memory.search("pear", where={"metadata.isDeleted": "no"}).hits] == [6]


@pytest.mark.parametrize("limit", [0, -1, 10**9, "5", 2.0, True, None, float("nan")], ids=ascii)
def test_page_limit_out_of_range_is_refused(tmp_path: Path, limit: Any):
    """Row P-070: list and inbox say that a limit is wrong instead of using another one."""
    with Memory.open(str(tmp_path / "a.db"), user="u") as memory:
        memory.add("a pear")
        for verb in (memory.list, memory.inbox):
            with pytest.raises(InputError) as caught:
                verb(limit=limit)
            assert caught.value.attributes["field"] == "limit"


@pytest.mark.parametrize(
    "cursor",
    ["x", "", "YWZ0ZXI6eA==", "YWZ0ZXI6LTU=", 5, b"x", [], "\ud83d", "YWZ0ZXI6" + "OTk5" * 3000],
    ids=lambda c: ascii(c)[:20],
)
def test_cursor_that_no_page_gave_is_refused(tmp_path: Path, cursor: Any):
    """Case M-10, row P-070: a made-up cursor is an InputError, never a raw exception or the first page again."""
    with Memory.open(str(tmp_path / "a.db"), user="u") as memory:
        memory.add("a pear")
        with pytest.raises(InputError) as caught:
            memory.list(cursor=cursor)
        assert caught.value.attributes["field"] == "cursor"


def test_pages_have_no_gap_while_memories_come_and_go(tmp_path: Path):
    """Case M-10: inserts, corrections and erasures between two pages: no double, no gap among what stays."""
    with Memory.open(str(tmp_path / "a.db"), user="u") as memory:
        made = memory.add([f"pear {n}" for n in range(30)]).episodes
        first = memory.list(limit=10)
        memory.forget(first.items[-1].id)
        memory.update(made[2], "pear 2 corrected")
        memory.update(made[15], "pear 15 corrected")
        memory.forget(made[12])
        memory.add("pear 30")
        rest = []
        cursor = first.cursor
        while cursor:
            page = memory.list(limit=10, cursor=cursor)
            rest += [item.text for item in page.items]
            cursor = page.cursor
        assert rest == [f"pear {n}" + (" corrected" if n == 15 else "") for n in range(10, 31) if n != 12]
