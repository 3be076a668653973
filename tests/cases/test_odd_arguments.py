"""Arguments and paths of a wrong kind, through the facade: one typed error in one line, and the store goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
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


def refused(name: str, call: Callable[[], object]) -> Error:
    """The typed error that a call ends with, in one printable line of bearable length."""
    try:
        found = call()
    except Error as error:
        text = str(error)
        assert text and text.isprintable() and len(text) < 2_000, f"{name}: {text[:200]!r}"
        error.to_dict()
        return error
    except Exception as error:
        raise AssertionError(f"{name}: {type(error).__name__} instead of an error of ours") from error
    raise AssertionError(f"{name} was accepted: {found!r:.200}")


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
def test_id_that_can_be_none_is_not_found(memory: Memory, verb: str):
    """Whatever it is, it names no memory; only forget takes "no id" for "you did not say what"."""
    for name, odd in ODD_IDS.items():
        wanted = InputError if (verb, name) == ("forget", "none") else NotFoundError
        assert type(refused(name, partial(BY_ID[verb], memory, odd))) is wanted, name
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
def test_filter_of_a_wrong_kind_is_refused(memory: Memory, verb: str):
    """No filter that is not understood is passed over, least of all by an erasure."""
    for name, odd in ODD_FILTERS.items():
        assert type(refused(name, partial(FILTERING[verb], memory, odd))) is InputError, name
    goes_on(memory)


@pytest.mark.parametrize("verb", FILTERING)
def test_filter_that_is_nested_too_deep_is_refused(memory: Memory, verb: str):
    """Before the interpreter's own limit is reached."""
    for levels in (33, 500, 5_000):
        assert type(refused(str(levels), partial(FILTERING[verb], memory, deep_filter(levels)))) is InputError
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


def each_refused(odd: dict[str, Any], field: str, call: Callable[[Any], object]) -> None:
    """Each odd value gives an InputError that names the field."""
    for name, value in odd.items():
        error = refused(name, partial(call, value))
        assert (type(error), error.attributes["field"]) == (InputError, field), name


def test_expected_version_that_can_be_none_is_refused(memory: Memory):
    """True is not version 1, and a number that no version can have is no conflict but a mistake."""
    made = memory.list().items[0].id
    each_refused(ODD_VERSIONS, "expected_version", lambda odd: memory.update(made, "c pear", expected_version=odd))
    each_refused(ODD_VERSIONS, "expected_version", lambda odd: memory.update(made, metadata={"n": 4}, expected_version=odd))
    each_refused(ODD_VERSIONS, "expected_version", lambda odd: memory.retract(made, expected_version=odd))
    goes_on(memory)


def test_number_of_results_out_of_range_is_refused(memory: Memory):
    """Neither a silent ceiling nor another number in its place."""
    each_refused(ODD_COUNTS, "limit", lambda odd: memory.list(limit=odd))
    each_refused(ODD_COUNTS, "limit", lambda odd: memory.inbox(limit=odd))
    each_refused(ODD_COUNTS, "k", lambda odd: memory.search("pear", k=odd))
    goes_on(memory)


def test_budget_out_of_range_is_refused(memory: Memory):
    """With the question and with the context alike; True is no budget of one."""
    each_refused(ODD_BUDGETS, "budget_tokens", lambda odd: memory.search("pear", budget_tokens=odd))
    each_refused(ODD_BUDGETS, "budget_tokens", lambda odd: memory.search("pear").context(odd))
    goes_on(memory)


def test_cursor_of_no_page_is_refused(memory: Memory):
    """By list and inbox; it never means the first page."""
    each_refused(ODD_CURSORS, "cursor", lambda odd: memory.list(cursor=odd))
    each_refused(ODD_CURSORS, "cursor", lambda odd: memory.inbox(cursor=odd))
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


@pytest.mark.parametrize("file", ["a.db", "new.db"])
def test_key_of_a_wrong_kind_is_refused(place: Path, file: str):
    """For a store that is there and for a new one; it is not shown, nothing is made, and the right key still opens the store."""
    for name, odd in ODD_KEYS.items():
        error = refused(name, partial(Memory.open, str(place / file), user="u", key=odd))
        assert name not in ("word", "63 digits", "64 other letters") or odd not in str(error.to_dict())
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
IN_PLACE = {name for name, path in ODD_PATHS.items() if isinstance(path, str) and "{place}" in path}
PLACING: dict[str, Callable[[Memory, Path, Any], object]] = {
    "open": lambda memory, place, path: Memory.open(path, user="u"),
    "backup": lambda memory, place, path: memory.backup(path),
    "fork": lambda memory, place, path: memory.fork(path),
    "restore from": lambda memory, place, path: Memory.restore(path, str(place / "new.db")),
    "restore to": lambda memory, place, path: Memory.restore(str(place / "b.db"), path),
}


@pytest.mark.parametrize("verb", PLACING)
def test_path_that_can_be_none_is_refused(memory: Memory, place: Path, verb: str):
    """By every verb that takes one; no file is left behind, under this name or another."""
    before = {item: item.is_dir() for item in place.rglob("*")}
    for name, path in ODD_PATHS.items():
        refused(name, partial(PLACING[verb], memory, place, path.replace("{place}", str(place)) if name in IN_PLACE else path))
        assert {item: item.is_dir() for item in place.rglob("*")} == before, name
    goes_on(memory)


@pytest.mark.parametrize("wrong", [None, 0, 1, "no", "yes", [], np.True_], ids=repr)
def test_switch_that_is_neither_true_nor_false_is_refused(memory: Memory, place: Path, wrong: Any) -> None:
    """``dry_run=None`` must not erase, and ``everything="no"`` must not erase everything."""
    calls: dict[str, Callable[[], object]] = {
        "dry_run": lambda: memory.forget(everything=True, dry_run=wrong),
        "everything": lambda: memory.forget(everything=wrong),
        "hold": lambda: memory.add("c pear", hold=wrong),
        "include_inactive": lambda: memory.list(include_inactive=wrong),
        "lost_signer": lambda: memory.rotate_keys(lost_signer=wrong),
        "create": lambda: Memory.open(str(place / "new.db"), create=wrong),
        "examine": lambda: Memory.open(str(place / "a.db"), examine=wrong),
        "unsafe_no_anchor": lambda: Memory.open(str(place / "a.db"), unsafe_no_anchor=wrong),
    }
    for name, call in calls.items():
        assert refused(name, call).attributes["field"] == name
    assert not (place / "new.db").exists()
    goes_on(memory)


@pytest.mark.parametrize(
    "where", [{"metadata.n": {HUGE: 1}}, {"metadata.n": {3: 1}}, {"metadata.n": np.array([1])}], ids=range(3)
)
def test_filter_of_a_wrong_shape_is_refused_as_a_filter(memory: Memory, where: Any) -> None:
    """Whatever stands where a comparison or a value should."""
    for verb in (
        lambda: memory.search("pear", where=where),
        lambda: memory.list(where=where),
        lambda: memory.forget(where=where),
    ):
        assert refused("where", verb).attributes["field"] == "where"
    goes_on(memory)


def test_paths_that_can_be_no_file_are_refused_by_every_verb_that_takes_one(memory: Memory, place: Path) -> None:
    """Too long in all or in one name, a home that nobody has, a memory without files, a folder that is not there."""
    before = sorted(place.iterdir())
    backup = str(place / "b.db")
    wrong = [
        "/".join([str(place), *["x" * 200] * 30]),
        str(place / ("y" * 300)),
        "~nobody at all/x.db",
        str(place / "no" / "x.db"),
    ]
    for path in wrong:
        refused("open", partial(Memory.open, path, user="u"))
        refused("backup", partial(memory.backup, path))
        refused("fork", partial(memory.fork, path))
        refused("restore to", partial(Memory.restore, backup, path))
        refused("restore from", partial(Memory.restore, path, place / "r.db"))
        refused("key", partial(Memory.open, place / "a.db", key=path))
    for call in (lambda: memory.backup("ram:"), lambda: memory.fork("ram:"), lambda: Memory.restore(backup, "ram:")):
        assert "give a path" in str(refused("ram:", call))
    assert ".new" not in str(refused("backup", lambda: memory.backup(str(place / "no" / "x.db"))))
    assert sorted(place.iterdir()) == before
    goes_on(memory)


def test_every_verb_that_takes_a_path_takes_a_path_object(memory: Memory, place: Path) -> None:
    """``pathlib.Path`` is what most programs hold."""
    memory.backup(place / "c.db")
    assert memory.fork(place / "fork.db").ok
    assert Memory.restore(place / "c.db", place / "restored.db").ok
    with Memory.open(place / "restored.db", user="u") as restored:
        assert restored.search("pear").hits


def test_home_that_nobody_has_is_one_line(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment names the home of a user who does not exist."""
    monkeypatch.setenv("WITNESSTREE_HOME", "~nobody at all/home")
    refused("home", lambda: Memory.open(str(place / "a.db"), user="u"))
