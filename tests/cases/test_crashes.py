"""kill -9 at any moment, and a crash at every step: what was acknowledged is there, and there is no false alarm."""

from __future__ import annotations

import random
import threading
from collections import Counter
from pathlib import Path

import pytest

from tests.cases.bytes_on_disk import files_with
from tests.cases.workers import Worker, started_together
from witnesstree import Memory
from witnesstree.types.result import Memo


def _all_items(memory: Memory) -> list[Memo]:
    items: list[Memo] = []
    cursor = None
    while True:
        page = memory.list(limit=1000, cursor=cursor)
        items += page.items
        cursor = page.cursor
        if cursor is None:
            return items


def _kill_again_and_again(path: str, kills: int, seed: int) -> None:
    dice = random.Random(seed)
    acknowledged: list[str] = []
    for number in range(kills):
        writer = Worker("add_many", path, "u", f"life{number}", 100_000).go()
        acknowledged += [writer.line() for _ in range(dice.randrange(1, 4))]
        threading.Event().wait(dice.random() * 0.25)
        acknowledged += [line for line in writer.kill() if len(line) == 32]
        with Memory.open(path, user="u") as memory:
            found = {item.id for item in _all_items(memory)}
            assert set(acknowledged) <= found
            assert len(found) <= len(acknowledged) + number + 1
            report = memory.audit()
            assert report.ok, report.problems
    assert len(acknowledged) > kills


def test_killed_writer_loses_nothing_it_acknowledged(tmp_path: Path):
    """Rows P-058 and P-123: six kills at random moments."""
    _kill_again_and_again(str(tmp_path / "a.db"), 6, seed=1)


@pytest.mark.slow
def test_fifty_kills_lose_nothing_that_was_acknowledged(tmp_path: Path):
    """Row P-058: fifty kills at random moments."""
    _kill_again_and_again(str(tmp_path / "a.db"), 50, seed=2)


def test_killed_writer_does_not_disturb_the_others(tmp_path: Path):
    """Row P-058, case C-03: of three writers one is killed; the other two and a reader go on."""
    path = str(tmp_path / "a.db")
    Memory.open(path).close()
    victim = Worker("add_many", path, "u", "victim", 100_000)
    others = [Worker("mixed", path, "u", f"w{n}", 40) for n in range(2)]
    victim.go()
    for other in others:
        other.go()
    lines = [victim.line(), *victim.kill()]
    ids = [line for other in others for line in other.finish().split()]
    with Memory.open(path, user="u") as memory:
        found = {item.id for item in _all_items(memory)}
        assert {line for line in [*lines, *ids] if len(line) == 32} <= found
        assert memory.audit().ok


def _four_writers(path: str, count: int) -> None:
    workers = [Worker("add_many", path, "u", f"w{n}", count) for n in range(4)]
    ids = " ".join(started_together(*workers)).split()
    assert len(set(ids)) == 4 * count
    with Memory.open(path, user="u") as memory:
        items = _all_items(memory)
        assert {item.id for item in items} == set(ids)
        assert Counter(item.text.split()[0] for item in items) == {f"w{n}": count for n in range(4)}
        assert memory.audit().ok


def test_four_processes_add_to_one_new_file(tmp_path: Path):
    """Row P-057: four processes begin at once on a file that does not exist; nothing is lost."""
    _four_writers(str(tmp_path / "a.db"), 25)


@pytest.mark.slow
def test_four_processes_add_two_hundred_each(tmp_path: Path):
    """Row P-057: the same with 200 each."""
    _four_writers(str(tmp_path / "a.db"), 200)


@pytest.mark.parametrize("verb", ["add", "update", "retract", "forget"])
def test_crash_inside_a_transaction_leaves_nothing_of_it(tmp_path: Path, verb: str):
    """Row P-059: the process ends before each statement of the batch, and before the commit: the memory is as before."""
    path = str(tmp_path / "a.db")
    for statement in (0, 2, 4, 6, 8):
        worker = Worker("die_in_batch", path, f"u{statement}", statement, verb).go()
        made = worker.line()
        worker.process.wait(timeout=60)
        assert worker.process.returncode == 9
        with Memory.open(path, user=f"u{statement}") as memory:
            assert [(item.id, item.text, item.version) for item in memory.list().items] == [(made, "kept before the crash", 1)]
            assert memory.audit().ok
            memory.update(made, "changed after the crash")


@pytest.mark.parametrize("verb", ["add", "update", "forget"])
def test_crash_after_the_commit_keeps_it_and_raises_no_alarm(tmp_path: Path, home: Path, verb: str):
    """Row P-059: the process ends between the commit and the anchor: the store is ahead of the anchor, never behind."""
    data = tmp_path / "data"
    data.mkdir()
    path = str(data / "a.db")
    worker = Worker("die_after_commit", path, "u", verb).go()
    made = worker.line()
    worker.process.wait(timeout=60)
    assert worker.process.returncode == 9
    with Memory.open(path, user="u") as memory:
        texts = [item.text for item in memory.list().items]
        assert (
            texts
            == {
                "add": ["zqxjwv kept before the crash", "committed in the crash"],
                "update": ["changed in the crash"],
                "forget": [],
            }[verb]
        )
        assert memory.audit().ok
        assert memory.add("life goes on").added == 1
        if verb == "forget":
            assert made not in str(memory.list(include_inactive=True).to_dict())
    if verb == "forget":
        assert files_with("zqxjwv", data) == []


@pytest.mark.parametrize("step", ["before_publish", "before_anchor", "before_pin"])
def test_crash_while_a_store_is_made_can_be_repeated(tmp_path: Path, step: str):
    """Row P-059: the process ends at each step of making a store; the next open makes or finishes it and leaves no debris."""
    data = tmp_path / "data"
    data.mkdir()
    path = str(data / "a.db")
    worker = Worker("die_in_create", path, step).go()
    worker.process.wait(timeout=60)
    assert worker.process.returncode == 9
    with Memory.open(path, user="u") as memory:
        assert memory.add("a pear").added == 1
        assert memory.audit().ok
    with Memory.open(path, user="u") as memory:
        assert len(memory.list().items) == 1


@pytest.mark.parametrize("written", [0, 5, 16, 20])
def test_crash_while_an_erasure_is_noted_blocks_nothing(tmp_path: Path, home: Path, written: int):
    """Row P-059: the note of an erasure that was cut off after any number of bytes: the store opens and works."""
    path = str(tmp_path / "a.db")
    with Memory.open(path, user="u") as memory:
        made = memory.add("a pear").episodes[0]
        store_id = memory.store_id
    (home / "state" / "tombstones" / f"{store_id}.0011223344556677.pending").write_bytes(b"\x01" * written)
    with Memory.open(path, user="u") as memory:
        assert memory.get(made).text == "a pear"
        assert memory.import_([{"content": "an apple"}]).added == 1
        assert memory.forget(made).memories == 1
        assert memory.audit().ok
