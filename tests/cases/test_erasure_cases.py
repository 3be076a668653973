"""Cases E: what was erased is gone from every byte, and only that (cases.md section 4)."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import pytest

from tests.cases.bytes_on_disk import files_with
from tests.cases.workers import Worker
from witnesstree import AsyncMemory, Memory
from witnesstree.errors import NotFoundError

TOKEN = "zqxjwv"


def test_forgetting_one_user_leaves_the_others(tmp_path: Path):
    """Case E-01: everything of u1 goes, u2 keeps all and is still found; the receipt counts what went."""
    with Memory.open(str(tmp_path / "agent.db")) as memory:
        memory.add(["one pear", "two pears", "three pears"], user="u1")
        memory.add(["four pears", "five pears"], user="u2")
        receipt = memory.forget(user="u1", everything=True)
        assert (receipt.memories, receipt.versions, receipt.state) == (3, 3, "done")
        assert memory.list(user="u1", include_inactive=True).items == ()
        assert memory.search("pears", user="u1").hits == ()
        assert len(memory.search("pears", user="u2").hits) == 2
        assert memory.audit().ok


def test_forgetting_one_user_is_the_same_when_asynchronous(tmp_path: Path):
    """Case E-01: the asynchronous path erases the same and no more."""

    async def run() -> None:
        async with await AsyncMemory.open(str(tmp_path / "agent.db")) as memory:
            await memory.add(["one pear", "two pears", "three pears"], user="u1")
            await memory.add(["four pears", "five pears"], user="u2")
            assert (await memory.forget(user="u1", everything=True)).memories == 3
            assert (await memory.list(user="u1")).items == ()
            assert len((await memory.search("pears", user="u2")).hits) == 2

    asyncio.run(run())


def test_dry_run_erases_nothing_and_counts_the_same(tmp_path: Path):
    """Case E-01: what a dry run counts is what the erasure then counts."""
    with Memory.open(str(tmp_path / "agent.db"), user="u") as memory:
        made = memory.add(["one pear", "two pears"]).episodes
        memory.update(made[0], "one apple")
        planned = memory.forget(everything=True, dry_run=True)
        assert len(memory.list().items) == 2
        done = memory.forget(everything=True)
        assert (planned.memories, planned.versions) == (done.memories, done.versions) == (2, 3)
        assert planned.state == "dry_run"


def test_erased_token_is_in_no_byte_of_any_file(tmp_path: Path, home: Path):
    """Case E-02, E-03: a rare token in text, metadata, session, scope, name and source is in no file after forget."""
    data = tmp_path / "data"
    data.mkdir()
    with Memory.open(str(data / "agent.db"), user="u") as memory:
        memory.add("A line that stays.")
        made = memory.add(
            {"content": f"The word is {TOKEN}a.", "metadata": {"k": f"{TOKEN}b"}, "name": f"{TOKEN}c", "id": f"{TOKEN}d"},
            session=f"{TOKEN}e",
            scope=f"{TOKEN}f",
        ).episodes[0]
        assert memory.search(f"{TOKEN}a").hits
        memory.answer(f"What is the word {TOKEN}a?")
        assert files_with(TOKEN, data)
        assert memory.forget(made).state == "done"
        assert files_with(TOKEN, data, home) == []
        assert memory.search(f"{TOKEN}a").hits == ()
        assert memory.audit().ok
    assert files_with(TOKEN, data, home) == []


def test_no_remnant_is_left_by_page_moves(tmp_path: Path):
    """Case E-03: of 300 texts of random length, 150 erased in random order, no erased one has left a byte anywhere."""
    data = tmp_path / "data"
    data.mkdir()
    dice = random.Random(7)
    with Memory.open(str(data / "agent.db"), user="u") as memory:
        texts = [f"{TOKEN}{number:04d}{'x' * dice.randrange(0, 3000)}" for number in range(300)]
        made = list(memory.add(texts).episodes)
        for number in dice.sample(range(300), 40):
            memory.update(made[number], f"{TOKEN}{number:04d} again {'y' * dice.randrange(0, 2000)}")
        gone = dice.sample(range(300), 150)
        for number in gone[:50]:
            assert memory.forget(made[number]).state == "done"
        memory.add([f"later line {n} {'z' * dice.randrange(0, 900)}" for n in range(100)])
        for number in gone[50:]:
            assert memory.forget(made[number]).state == "done"
        content = (data / "agent.db").read_bytes() + (data / "agent.db-wal").read_bytes()
        assert [number for number in gone if f"{TOKEN}{number:04d}".encode() in content] == []
        assert all(f"{TOKEN}{number:04d}".encode() in content for number in set(range(300)) - set(gone))
        assert memory.audit().ok


def test_words_leave_the_sealed_cache_too(tmp_path: Path, home: Path):
    """Case E-02, E-06: an owner large enough for a cache file: after an erasure no process finds the words, cached or not."""
    path = str(tmp_path / "agent.db")
    with Memory.open(path, user="u") as memory:
        memory.add([f"filler line {n}" for n in range(2500)])
        made = memory.add(f"The word is {TOKEN}.").episodes[0]
    assert list((home / "cache").rglob("*.view"))
    with Memory.open(path, user="u") as memory:
        assert memory.search(TOKEN).hits
        memory.forget(made)
        assert memory.search(TOKEN).hits == ()
    with Memory.open(path, user="u") as memory:
        assert memory.search(TOKEN).hits == ()
        assert len(memory.search("filler", k=1000).hits) == 1000
    assert files_with(TOKEN, tmp_path) == []


def test_erasure_during_a_read_is_pending_and_then_done(tmp_path: Path):
    """Case E-05: while another process reads, the receipt says pending; after it, the next write makes the bytes go."""
    data = tmp_path / "data"
    data.mkdir()
    path = str(data / "agent.db")
    with Memory.open(path, user="u") as memory:
        made = memory.add(f"The word is {TOKEN}.").episodes[0]
        reader = Worker("hold_read", path).go()
        assert reader.line() == "held"
        receipt = memory.forget(made)
        assert receipt.state == "pending"
        assert "pending" in receipt.note
        with pytest.raises(NotFoundError):
            memory.get(made)
        reader.finish("go\n")
        memory.add("A later line.")
        assert files_with(TOKEN, data) == []
        assert memory.audit().ok


def test_pending_erasure_is_finished_by_close(tmp_path: Path):
    """Case E-05: once the reader is gone, closing finishes a pending erasure."""
    data = tmp_path / "data"
    data.mkdir()
    path = str(data / "agent.db")
    with Memory.open(path, user="u") as memory:
        made = memory.add(f"The word is {TOKEN}.").episodes[0]
        reader = Worker("hold_read", path).go()
        assert reader.line() == "held"
        assert memory.forget(made).state == "pending"
        reader.finish("go\n")
    assert files_with(TOKEN, data) == []


def test_pending_erasure_is_resumed_at_the_next_open(tmp_path: Path):
    """Case E-05: a process that dies with a pending erasure does not leave the bytes to the next one that opens the store."""
    data = tmp_path / "data"
    data.mkdir()
    path = str(data / "agent.db")
    with Memory.open(path, user="u") as memory:
        memory.add("A line that stays.")
    eraser = Worker("forget_and_die", path, "u", f"The word is {TOKEN}.").go()
    assert eraser.line() == "added"
    reader = Worker("hold_read", path).go()
    assert reader.line() == "held"
    eraser.go()
    assert eraser.line() == "pending"
    eraser.kill()
    reader.kill()
    assert files_with(TOKEN, data)
    with Memory.open(path, user="u") as memory:
        assert [item.text for item in memory.list().items] == ["A line that stays."]
        assert files_with(TOKEN, data) == []


def test_every_version_and_every_view_forgets(tmp_path: Path, home: Path):
    """Case E-06: three versions of a memory go together from search, history, evidence, export and files; the log verifies."""
    data = tmp_path / "data"
    data.mkdir()
    with Memory.open(str(data / "agent.db"), user="u") as memory:
        kept = memory.add("pears stay").episodes[0]
        made = memory.add(f"{TOKEN}one", session="s").episodes[0]
        memory.update(made, f"{TOKEN}two")
        memory.update(made, f"{TOKEN}three", metadata={"note": f"{TOKEN}four"})
        held = memory.add(f"{TOKEN}five", hold=True).episodes[0]
        withdrawn = memory.add(f"{TOKEN}six").episodes[0]
        memory.retract(withdrawn)
        receipt = memory.forget(made)
        assert (receipt.memories, receipt.versions) == (1, 3)
        memory.forget(held)
        memory.forget(withdrawn)
        for word in ("one", "two", "three", "four", "five", "six"):
            assert memory.search(TOKEN + word).hits == ()
            assert memory.search(TOKEN + word, recorded_as_of="2190-01-01T00:00:00Z").hits == ()
        for gone in (made, held, withdrawn):
            for verb in (memory.get, memory.history, memory.evidence, memory.prove, memory.forget):
                with pytest.raises(NotFoundError):
                    verb(gone)
        assert [item.id for item in memory.list(include_inactive=True).items] == [kept]
        assert TOKEN not in memory.export()
        assert files_with(TOKEN, data, home) == []
        assert memory.audit().ok
        assert memory.repair() == ()


def test_erasing_everything_leaves_no_name_either(tmp_path: Path, home: Path):
    """Case E-06, row P-048: after everything of a user went, user, agent, session and scope are in no byte of the store."""
    data = tmp_path / "data"
    data.mkdir()
    with Memory.open(str(data / "agent.db")) as memory:
        memory.add("bo stays", user="bo")
        memory.add(f"{TOKEN} one", user="qalicex", agent="qbotx", session="qsessx", scope="qscopex")
        gone = memory.add(f"{TOKEN} two", user="qalicex").episodes[0]
        memory.forget(gone, user="qalicex")
        memory.forget(user="qalicex", everything=True)
        for token in (TOKEN, "qalicex", "qbotx", "qsessx", "qscopex"):
            assert files_with(token, data, home) == []
        assert memory.audit().ok
        memory.add("a new life", user="qalicex")
        assert [item.text for item in memory.list(user="qalicex", include_inactive=True).items] == ["a new life"]
        assert len(memory.list(user="bo").items) == 1


def test_erased_memory_stays_away_from_restore_and_import(tmp_path: Path):
    """Case E-06: a backup or an export from before the erasure does not bring the memory back."""
    with Memory.open(str(tmp_path / "agent.db"), user="u") as memory:
        memory.add("pears stay")
        made = memory.add(f"the word {TOKEN}").episodes[0]
        exported = memory.export()
        memory.backup(str(tmp_path / "backup.db"))
        memory.forget(made)
        result = memory.import_(exported)
        assert sorted(change.what for change in result.changes) == ["duplicate", "erased_before"]
        assert memory.search(TOKEN).hits == ()
    assert Memory.restore(str(tmp_path / "backup.db"), str(tmp_path / "new.db")).ok
    with Memory.open(str(tmp_path / "new.db"), user="u") as memory:
        assert [item.text for item in memory.list().items] == ["pears stay"]
    assert files_with(TOKEN, tmp_path) == [str(tmp_path / "backup.db")]


def test_failed_erasure_does_not_lose_the_memory_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Case E-06: an erasure that failed has erased nothing, so a restore of that store still holds the memory."""
    from witnesstree.errors import StoreError
    from witnesstree.stores import sqlite

    with Memory.open(str(tmp_path / "agent.db"), user="u") as memory:
        made = memory.add("pears stay").episodes[0]

        def full(run: object, batch: object) -> None:
            raise StoreError("the disk is full", reason="full")

        with monkeypatch.context() as patch:
            patch.setattr(sqlite, "apply_batch", full)
            with pytest.raises(StoreError):
                memory.forget(made)
        assert memory.get(made).text == "pears stay"
        memory.backup(str(tmp_path / "backup.db"))
    assert Memory.restore(str(tmp_path / "backup.db"), str(tmp_path / "new.db")).ok
    with Memory.open(str(tmp_path / "new.db"), user="u") as memory:
        assert [item.text for item in memory.list().items] == ["pears stay"]
