"""The anchor file is cut, emptied or flipped under open stores: nobody crashes, and no older state passes for the newest."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cases.workers import Worker
from witnesstree import Memory
from witnesstree.anchors.file import SLOT_BYTES
from witnesstree.errors import Error, IntegrityError, LogError

ERRORS = {kind.__name__ for kind in (Error, *Error.__subclasses__(), *IntegrityError.__subclasses__())}


def flipped(*places: int) -> Callable[[bytes], bytes]:
    """Flip the lowest bit of some bytes."""
    return lambda data: bytes(byte ^ (at in places) for at, byte in enumerate(data))


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "emptied": lambda data: b"",
    "one byte left": lambda data: data[:1],
    "cut in the first slot": lambda data: data[:40],
    "cut in half": lambda data: data[: len(data) // 2],
    "cut in the second slot": lambda data: data[: SLOT_BYTES + 40],
    "last byte gone": lambda data: data[:-1],
    "zeros": lambda data: bytes(len(data)),
    "made longer": lambda data: data + b"x" * 100_000,
    "first slot twice": lambda data: data[:SLOT_BYTES] * 2,
    "slots swapped": lambda data: data[SLOT_BYTES:] + data[:SLOT_BYTES],
    "format flipped": flipped(0),
    "store flipped": flipped(5),
    "size flipped": flipped(27),
    "root flipped": flipped(30),
    "count flipped": flipped(60),
    "count raised": lambda data: data[:60] + b"\xff" + data[61:],
    "first seal flipped": flipped(100),
    "second size flipped": flipped(SLOT_BYTES + 27),
    "second root flipped": flipped(SLOT_BYTES + 30),
    "padding flipped": flipped(SLOT_BYTES - 1),
    "both flipped": flipped(30, SLOT_BYTES + 30),
    "random": lambda data: os.urandom(len(data)),
}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Where the store lies."""
    (tmp_path / "data").mkdir()
    return tmp_path / "data" / "a.db"


@pytest.fixture
def anchor(home: Path) -> Callable[[], Path]:
    """Finds the one anchor of this test's home."""

    def find() -> Path:
        [found] = (home / "state" / "anchors").glob("*.anchor")
        return found

    return find


def answer_of(call: Callable[[], Any]) -> list[Any]:
    """How a call in this process ended, in the form in which a worker says it; whatever is no error of ours goes through."""
    try:
        return ["done", call()]
    except Error as error:
        return [type(error).__name__, f"{error.reason}: {error}"]


class Both:
    """One store open in this process and in another one."""

    def __init__(self, place: Path) -> None:
        """Open it twice; both have read it."""
        self.memory = Memory.open(str(place), user="u")
        self.memory.search("pear")
        self.worker = Worker("obey", str(place), "u").go()
        assert self.worker.line() == "open"

    def here(self, verb: str, words: str) -> list[Any]:
        """Do it in this process."""
        if verb == "add":
            return answer_of(lambda: self.memory.add(words).added)
        return answer_of(lambda: sorted(hit.text for hit in self.memory.search(words, k=1000).hits))

    def there(self, verb: str, words: str) -> list[Any]:
        """Do it in the other process; a process that died says nothing, and fails here."""
        self.worker.process.stdin.write(f"{verb} {words}\n")
        self.worker.process.stdin.flush()
        line = self.worker.line()
        assert line, f"the other process ended with {self.worker.process.wait()}"
        return list(json.loads(line))


@pytest.fixture
def both(place: Path) -> Iterator[Both]:
    """The store of this test, open twice, with two memories."""
    with Memory.open(str(place), user="u") as memory:
        memory.add(["first pear", "second pear"])
    opened = Both(place)
    yield opened
    opened.memory.close()
    assert opened.worker.finish() == ""


def check(answer: list[Any], right: object) -> bool:
    """The call did what it should, and True; or it gave an error of ours that says so, and False."""
    if answer[0] == "done":
        assert answer[1] == right
        return True
    assert answer[0] in ERRORS, answer
    assert "\n" not in answer[1]
    return False


@pytest.mark.parametrize("name", DAMAGES)
def test_damaged_anchor_crashes_no_open_store(place: Path, anchor: Callable[[], Path], both: Both, name: str):
    """Either a call works or it is a typed error; whatever was acknowledged is there; a new process sees all of it or refuses."""
    genuine = anchor().read_bytes()
    anchor().write_bytes(DAMAGES[name](genuine))
    known = ["first pear", "second pear"]
    for number, work in enumerate([both.here, both.there, both.there, both.here]):
        check(work("search", "pear"), sorted(known))
        if check(work("add", f"pear {number}"), 1):
            known.append(f"pear {number}")
    if answer_of(lambda: Memory.open(str(place), user="u").close())[0] == "LogError":
        assert len(known) == 2, "a write that was acknowledged has renewed the anchor"
        anchor().write_bytes(genuine)
    assert both.here("search", "pear") == both.there("search", "pear") == ["done", sorted(known)]
    with Memory.open(str(place), user="u") as memory:
        assert sorted(hit.text for hit in memory.search("pear").hits) == sorted(known)
        assert memory.add("a last pear").added == 1
        assert memory.audit().ok


@pytest.mark.parametrize("name", DAMAGES)
def test_damaged_anchor_lets_no_older_state_in(place: Path, anchor: Callable[[], Path], name: str):
    """The anchor is damaged and the file of some writes ago put back, both in place: every process refuses, or knows better."""
    with Memory.open(str(place), user="u") as memory:
        memory.add("first pear")
    old = place.read_bytes()
    with Memory.open(str(place), user="u") as memory:
        for number in range(6):
            memory.add(f"pear {number}")
    both = Both(place)
    wal = Path(f"{place}-wal")
    assert not wal.exists() or not wal.stat().st_size, "everything lies in the file itself"
    newest = sorted(["first pear", *(f"pear {number}" for number in range(6))])
    anchor().write_bytes(DAMAGES[name](anchor().read_bytes()))
    place.write_bytes(old)
    for work in (both.here, both.there):
        answer = work("search", "pear")
        assert answer[0] in ERRORS or answer[1] == newest
        assert work("add", "a forged pear")[0] in ERRORS
        assert work("search", "pear")[0] in ERRORS
    with pytest.raises(IntegrityError):
        Memory.open(str(place), user="u")
    both.memory.close()
    both.worker.finish()


def test_deleted_anchor_is_missed_by_a_new_process_only(place: Path, anchor: Callable[[], Path], both: Both):
    """Who has the anchor open goes on with it; who opens the store now can't know what was the newest, and refuses."""
    kept = anchor().read_bytes()
    path = anchor()
    path.unlink()
    assert both.here("search", "pear") == both.there("search", "pear") == ["done", ["first pear", "second pear"]]
    with pytest.raises(LogError) as caught:
        Memory.open(str(place), user="u")
    assert caught.value.reason == "anchor_missing"
    path.write_bytes(kept)
    path.chmod(0o600)
    with Memory.open(str(place), user="u") as memory:
        assert len(memory.list().items) == 2
