"""Something stands where the next entry or row will go (edit-I7, T-C5): writes refuse by name, reads go on, repair clears it."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from witnesstree import Memory
from witnesstree.errors import IntegrityError, LogError


def plant(path: Path, statement: str, *values: object) -> None:
    """Run one statement on the file behind the product's back."""
    with closing(apsw.Connection(str(path))) as connection:
        connection.execute(statement, values)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with two memories."""
    path = tmp_path / "agent.db"
    with Memory.open(str(path), user="alice") as memory:
        memory.add(["I like green tea.", "I like coffee."])
    return path


@pytest.mark.parametrize("beyond", [0, 1, 2**40, -(2**40)], ids=["next", "after next", "far", "below zero"])
def test_planted_log_entry_is_named_and_repaired(store: Path, beyond: int) -> None:
    """An entry that nobody signed is reported; what was signed is still served; repair takes only the planted one."""
    with Memory.open(str(store), user="alice") as memory:
        size = memory.audit().size
        plant(store, "INSERT INTO log (seq, entry) VALUES (?, ?)", size + beyond, bytes(178))
        assert memory.search("green tea").hits[0].text == "I like green tea."
        report = memory.audit()
        assert [problem.reason for problem in report.problems] == ["log_planted"]
        if beyond in (0, 1):
            with pytest.raises(LogError) as caught:
                memory.add("I like water.")
            assert caught.value.reason == "place_taken" and "repair" in str(caught.value)
            assert memory.audit().size == size
        assert memory.repair() == ()
        assert memory.add("I like water.").episodes
        assert memory.audit().ok and len(memory.list().items) == 3


def test_planted_row_at_the_next_place_is_named_and_repaired(store: Path) -> None:
    """A forged row ahead of the log blocks no read and is cleared by repair."""
    with Memory.open(str(store), user="alice") as memory:
        size = memory.audit().size
        plant(store, "INSERT INTO memory (seq, owner, content, seal, vector) VALUES (?, x'01', x'02', x'03', x'')", size)
        assert memory.search("coffee").hits[0].text == "I like coffee."
        with pytest.raises(IntegrityError) as caught:
            memory.add("I like water.")
        assert caught.value.reason == "place_taken"
        assert memory.repair() == ()
        assert memory.add("I like water.").episodes and memory.audit().ok


@pytest.mark.parametrize("suffix", ["-wal", "-shm"])
@pytest.mark.parametrize("kind", ["folder", "fifo"])
def test_side_file_that_is_no_file_is_refused(store: Path, suffix: str, kind: str) -> None:
    """A pipe or folder in the place of a journal is refused by name, never opened (a pipe would hang)."""
    name = store.with_name(store.name + suffix)
    name.unlink(missing_ok=True)
    if kind == "folder":
        name.mkdir()
    else:
        os.mkfifo(name)
    with pytest.raises(LogError) as caught:
        Memory.open(str(store), user="alice")
    assert caught.value.reason == "planted_journal"
