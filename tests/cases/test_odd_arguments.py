"""Arguments and paths of a wrong kind, through the facade: one typed error in one line, and the store goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from witnesstree import Memory
from witnesstree.errors import Error, InputError, NotFoundError

HUGE = 10**5000
"""More digits than Python turns into text."""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder of its own, with an intact store and a backup of it."""
    folder = tmp_path / "data"
    folder.mkdir()
    with Memory.open(str(folder / "a.db"), user="u") as memory:
        memory.add({"content": "a pear", "metadata": {"n": 3}})
        memory.backup(str(folder / "b.db"))
    return folder


@pytest.fixture
def memory(place: Path) -> Iterator[Memory]:
    """The open store."""
    with Memory.open(str(place / "a.db"), user="u") as opened:
        yield opened


def refused(call: Callable[[], object]) -> Error:
    """The typed error that a call ends with, in one printable line of bearable length."""
    with pytest.raises(Error) as caught:
        call()
    text = str(caught.value)
    assert text
    assert text.isprintable(), text
    assert len(text) < 2_000
    caught.value.to_dict()
    return caught.value


def goes_on(memory: Memory) -> None:
    """The memory is what it was, and can be written and read."""
    [item] = memory.list(include_inactive=True).items
    assert (item.text, item.version, item.metadata) == ("a pear", 1, {"n": 3})
    made = memory.add("b pear").episodes[0]
    assert len(memory.search("pear").hits) == 2
    memory.forget(made)
    assert memory.audit().ok


# -- ids ----------------------------------------------------------------------------------------------------------------------

ODD_IDS: dict[str, Any] = {
    "5000 digits": HUGE,
    "none": None,
    "lone surrogate": "\ud83d",
    "32 lone surrogates": "\ud83d" * 32,
    "empty": "",
    "bytes": b"0" * 32,
    "true": True,
    "nan": float("nan"),
    "list": [],
    "32 NULs": "\x00" * 32,
    "digits of another script": "\u0660" * 32,
    "a megabyte": "0" * 1_000_000,
    "numpy": np.int64(7),
    "sixteen bytes": bytes(16),
}
BY_ID: dict[str, Callable[[Memory, Any], object]] = {
    "get": lambda memory, id: memory.get(id),
    "evidence": lambda memory, id: memory.evidence(id),
    "history": lambda memory, id: memory.history(id),
    "prove": lambda memory, id: memory.prove(id),
    "update": lambda memory, id: memory.update(id, "c pear"),
    "retract": lambda memory, id: memory.retract(id),
    "approve": lambda memory, id: memory.approve(id),
    "forget": lambda memory, id: memory.forget(id),
}


@pytest.mark.parametrize("verb", BY_ID)
@pytest.mark.parametrize("name", ODD_IDS)
def test_id_that_can_be_none_is_not_found(memory: Memory, verb: str, name: str):
    """Whatever it is, it names no memory; only forget takes "no id" for "you did not say what"."""
    error = refused(lambda: BY_ID[verb](memory, ODD_IDS[name]))
    assert isinstance(error, InputError if (verb, name) == ("forget", "none") else NotFoundError)
    goes_on(memory)


# -- filters ------------------------------------------------------------------------------------------------------------------

ODD_FILTERS: dict[str, Any] = {
    "numpy integer": {"metadata.n": np.int64(3)},
    "numpy float of 32 bits": {"metadata.n": np.float32(3)},
    "numpy truth": {"metadata.n": np.bool_(True)},
    "numpy array": {"metadata.n": np.array([3])},
    "numpy instant": {"at": np.datetime64("2020-01-01")},
    "numpy after gt": {"metadata.n": {"gt": np.int64(1)}},
    "numpy in a list": {"metadata.n": {"in": [1, np.int64(3)]}},
    "numpy array as list": {"metadata.n": {"in": np.array([1, 3])}},
    "numpy truth after exists": {"metadata.n": {"exists": np.bool_(True)}},
    "numpy in session": {"session": np.int64(3)},
    "1001 options": {"metadata.n": {"in": list(range(1001))}},
    "100,000 options": {"metadata.n": {"in": list(range(100_000))}},
    "33 comparisons": {f"metadata.k{number}": 1 for number in range(33)},
    "instant of 5000 digits": {"at": HUGE},
    "field of 5000 digits": {HUGE: 1},
    "and of a number": {"and": [HUGE]},
    "or of nothing": {"or": []},
    "complex": {"metadata.n": 3j},
    "bytes": {"metadata.n": b"3"},
    "set": {"metadata.n": {3}},
    "no comparison": {"metadata.n": {}},
    "empty": {},
    "number": HUGE,
    "text": "metadata.n = 3",
    "list": [],
}


def deep_filter(levels: int) -> dict[str, Any]:
    """A filter inside a filter inside a filter."""
    where: dict[str, Any] = {"role": "user"}
    for _ in range(levels):
        where = {"not": where}
    return where


FILTERING: dict[str, Callable[[Memory, Any], object]] = {
    "search": lambda memory, where: memory.search("pear", where=where),
    "list": lambda memory, where: memory.list(where=where),
    "answer": lambda memory, where: memory.answer("Which pear?", where=where),
    "forget": lambda memory, where: memory.forget(where=where),
}


@pytest.mark.parametrize("verb", FILTERING)
@pytest.mark.parametrize("name", ODD_FILTERS)
def test_filter_of_a_wrong_kind_is_refused(memory: Memory, verb: str, name: str):
    """No filter that is not understood is passed over, least of all by an erasure."""
    assert isinstance(refused(lambda: FILTERING[verb](memory, ODD_FILTERS[name])), InputError)
    goes_on(memory)


@pytest.mark.parametrize("verb", FILTERING)
@pytest.mark.parametrize("levels", [33, 500, 5_000])
def test_filter_that_is_nested_too_deep_is_refused(memory: Memory, verb: str, levels: int):
    """Before the interpreter's own limit is reached."""
    assert isinstance(refused(lambda: FILTERING[verb](memory, deep_filter(levels))), InputError)
    goes_on(memory)


def test_numpy_numbers_that_are_python_numbers_count_as_such(memory: Memory):
    """A float of numpy is a float, and is compared like one."""
    assert len(memory.list(where={"metadata.n": np.float64(3)}).items) == 1
    assert memory.list(where={"metadata.n": {"gt": np.float64(3)}}).items == ()
    assert len(memory.list(where={"metadata.n": {"in": list(range(1000))}}).items) == 1
    goes_on(memory)


# -- numbers ------------------------------------------------------------------------------------------------------------------

ODD_VERSIONS: dict[str, Any] = {
    "true": True,
    "false": False,
    "minus one": -1,
    "2**32": 2**32,
    "2**40": 2**40,
    "5000 digits": HUGE,
    "float": 1.0,
    "text": "1",
    "numpy": np.int64(1),
    "nan": float("nan"),
    "list": [1],
}
ODD_COUNTS: dict[str, Any] = {
    "zero": 0,
    "minus one": -1,
    "one more than allowed": 1001,
    "10**9": 10**9,
    "5000 digits": HUGE,
    "true": True,
    "float": 5.0,
    "infinity": float("inf"),
    "text": "5",
    "numpy": np.int64(5),
    "list": [],
}
COUNTING: dict[str, Callable[[Memory, Any], object]] = {
    "limit of list": lambda memory, count: memory.list(limit=count),
    "limit of inbox": lambda memory, count: memory.inbox(limit=count),
    "k": lambda memory, count: memory.search("pear", k=count),
}
ODD_BUDGETS = {name: value for name, value in ODD_COUNTS.items() if name != "one more than allowed"} | {"10**6 + 1": 10**6 + 1}
ODD_CURSORS: dict[str, Any] = {
    "text": "garbage",
    "empty": "",
    "base64 of garbage": "Z2FyYmFnZQ==",
    "20 digits": "YWZ0ZXI6OTk5OTk5OTk5OTk5OTk5OTk5OTk=",
    "negative": "YWZ0ZXI6LTE=",
    "surrogate": "\ud83d",
    "NUL": "\x00",
    "5000 digits": HUGE,
    "number": 5,
    "bytes": b"YWZ0ZXI6NQ==",
    "true": True,
    "object": {},
    "a megabyte": "A" * 1_000_000,
}


@pytest.mark.parametrize("name", ODD_VERSIONS)
def test_expected_version_that_can_be_none_is_refused(memory: Memory, name: str):
    """True is not version 1, and a number that no version can have is no conflict but a mistake."""
    made = memory.list().items[0].id
    for call in (
        lambda: memory.update(made, "c pear", expected_version=ODD_VERSIONS[name]),
        lambda: memory.update(made, metadata={"n": 4}, expected_version=ODD_VERSIONS[name]),
        lambda: memory.retract(made, expected_version=ODD_VERSIONS[name]),
    ):
        error = refused(call)
        assert (type(error), error.attributes["field"]) == (InputError, "expected_version")
    goes_on(memory)


@pytest.mark.parametrize("verb", COUNTING)
@pytest.mark.parametrize("name", ODD_COUNTS)
def test_number_of_results_out_of_range_is_refused(memory: Memory, verb: str, name: str):
    """Neither a silent ceiling nor another number in its place."""
    error = refused(lambda: COUNTING[verb](memory, ODD_COUNTS[name]))
    assert (type(error), error.attributes["field"]) == (InputError, verb.split()[0])
    goes_on(memory)


@pytest.mark.parametrize("name", ODD_BUDGETS)
def test_budget_out_of_range_is_refused(memory: Memory, name: str):
    """With the question and with the context alike; True is no budget of one."""
    for call in (
        lambda: memory.search("pear", budget_tokens=ODD_BUDGETS[name]),
        lambda: memory.search("pear").context(ODD_BUDGETS[name]),
    ):
        error = refused(call)
        assert (type(error), error.attributes["field"]) == (InputError, "budget_tokens")
    goes_on(memory)


@pytest.mark.parametrize("name", ODD_CURSORS)
def test_cursor_of_no_page_is_refused(memory: Memory, name: str):
    """By list and inbox; it never means the first page."""
    for call in (lambda: memory.list(cursor=ODD_CURSORS[name]), lambda: memory.inbox(cursor=ODD_CURSORS[name])):
        error = refused(call)
        assert (type(error), error.attributes["field"]) == (InputError, "cursor")
    goes_on(memory)


# -- keys and paths -----------------------------------------------------------------------------------------------------------

ODD_KEYS: dict[str, Any] = {
    "number": 123,
    "none": None,
    "bytes": b"0" * 64,
    "true": True,
    "list": [],
    "5000 digits": HUGE,
    "word": "secret",
    "63 digits": "0" * 63,
    "64 other letters": "g" * 64,
    "NUL": "\x00",
    "surrogate": "\ud83d",
    "home of nobody": "~nobody/x",
    "a folder": "/",
    "a device": "/dev/null",
    "a file that is not there": "/no/such/key",
}


@pytest.mark.parametrize("name", ODD_KEYS)
def test_key_of_a_wrong_kind_is_refused(place: Path, name: str):
    """By an open store's place and by a new one; nothing is made, and the right key still opens it."""
    for file in ("a.db", "new.db"):
        error = refused(lambda file=file: Memory.open(str(place / file), user="u", key=ODD_KEYS[name]))
        assert name not in ("word", "63 digits", "64 other letters") or ODD_KEYS[name] not in str(error.to_dict())
    assert sorted(item.name for item in place.iterdir() if item.suffix == ".db") == ["a.db", "b.db"]
    with Memory.open(str(place / "a.db"), user="u") as memory:
        goes_on(memory)


ODD_PATHS: dict[str, Any] = {
    "none": None,
    "number": 5,
    "5000 digits": HUGE,
    "bytes": b"x.db",
    "list": [],
    "empty": "",
    "NUL alone": "\x00",
    "NUL inside": "{place}/a\x00b.db",
    "surrogate escape": "{place}/\udcff.db",
    "lone surrogate": "{place}/\ud83d.db",
    "home of nobody": "~nobody/x.db",
    "home of an unknown user": "~no such user/x.db",
    "folder that is not there": "{place}/no/such/x.db",
    "folder that is a file": "{place}/a.db/x.db",
    "a folder": "{place}",
    "root": "/",
    "a device": "/dev/full",
    "no file in the URL": "sqlite://",
    "unknown engine": "nosql://x",
    "300 letters": "{place}/" + "x" * 300,
}
PLACING: dict[str, Callable[[Memory, Path, Any], object]] = {
    "open": lambda memory, place, path: Memory.open(path, user="u"),
    "backup": lambda memory, place, path: memory.backup(path),
    "fork": lambda memory, place, path: memory.fork(path),
    "restore from": lambda memory, place, path: Memory.restore(path, str(place / "new.db")),
    "restore to": lambda memory, place, path: Memory.restore(str(place / "b.db"), path),
}


@pytest.mark.parametrize("verb", PLACING)
@pytest.mark.parametrize("name", ODD_PATHS)
def test_path_that_can_be_none_is_refused(memory: Memory, place: Path, verb: str, name: str):
    """By every verb that takes one; no file is left behind, under this name or another."""
    before = {item: item.is_dir() for item in place.rglob("*")}
    path = ODD_PATHS[name]
    path = path.replace("{place}", str(place)) if isinstance(path, str) else path
    with pytest.raises(Error) as caught:
        PLACING[verb](memory, place, path)
    assert "\n" not in str(caught.value)
    assert {item: item.is_dir() for item in place.rglob("*")} == before
    goes_on(memory)
