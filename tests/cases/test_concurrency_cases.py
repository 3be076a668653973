"""Cases C: many threads, many processes, one memory (cases.md section 5)."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.cases.workers import AS_NOBODY, NOBODY, Worker, started_together
from witnesstree import Memory
from witnesstree.errors import ConflictError, Error, StoreError


def _in_threads(count: int, work: object) -> list[object]:
    barrier = threading.Barrier(count)

    def run(number: int) -> object:
        barrier.wait()
        return work(number)  # type: ignore[operator]

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, range(count)))


@pytest.mark.parametrize("engine", ["sqlite", "ram"])
@pytest.mark.parametrize("count", [2, 50])
def test_same_text_from_many_threads_is_one_memory(tmp_path: Path, engine: str, count: int):
    """Case C-01: every caller gets success and the same id; another user's same text is another memory."""
    with Memory.open("ram:" if engine == "ram" else str(tmp_path / "agent.db")) as memory:
        ids = _in_threads(count, lambda number: memory.add("owns a ferret", user=f"u{number % 2}").episodes[0])
        assert len(set(ids[::2])) == len(set(ids[1::2])) == 1
        assert ids[0] != ids[1]
        for user in ("u0", "u1"):
            assert [item.text for item in memory.list(user=user).items] == ["owns a ferret"]
        assert memory.audit().ok


def test_same_text_from_many_memory_objects_is_one_memory(tmp_path: Path):
    """Case C-01: the same with one Memory object for each thread, on one file."""
    path = str(tmp_path / "agent.db")
    Memory.open(path).close()

    def add(number: int) -> str:
        with Memory.open(path, user="u") as memory:
            return memory.add("owns a ferret").episodes[0]

    assert len(set(_in_threads(12, add))) == 1


def test_same_text_from_many_processes_is_one_memory(tmp_path: Path):
    """Case C-01: six processes add one text at the same moment; four for one user, two for another."""
    path = str(tmp_path / "agent.db")
    Memory.open(path).close()
    users = ["u1", "u2", "u1", "u2", "u1", "u1"]
    reports = started_together(*(Worker("add_same", path, user, "owns a ferret") for user in users))
    ids = {(user, report.strip()) for user, report in zip(users, reports, strict=True)}
    assert len(ids) == 2
    with Memory.open(path) as memory:
        assert len(memory.list(user="u1").items) == len(memory.list(user="u2").items) == 1


def test_new_file_opened_by_many_threads_at_once(tmp_path: Path):
    """Case C-03: threads of one process that open one new store at the same moment all get the same store."""
    for attempt in range(8):
        path = str(tmp_path / f"agent{attempt}.db")

        def use(number: int, path: str = path) -> str:
            with Memory.open(path, user="u") as memory:
                memory.add(f"line of thread {number}")
                return memory.store_id

        assert len(set(_in_threads(8, use))) == 1
        with Memory.open(path, user="u") as memory:
            assert len(memory.list().items) == 8
            assert memory.audit().ok


def _four_processes(path: str, count: int, *, hold_s: float) -> None:
    workers = [Worker("mixed", path, "u", f"writer{number}", count) for number in range(4)]
    for worker in workers:
        worker.go()
    for worker in workers:
        assert len(worker.line()) == 32
    holder = Worker("hold_write", path).go()
    assert holder.line() == "held"
    threading.Event().wait(hold_s)
    holder.finish("go\n")
    ids = [line for worker in workers for line in worker.finish().split()]
    with Memory.open(path, user="u") as memory:
        rows = {}
        cursor = None
        while True:
            page = memory.list(limit=1000, cursor=cursor)
            rows |= {item.id: item for item in page.items}
            cursor = page.cursor
            if cursor is None:
                break
        assert len(rows) == 4 * count
        assert set(ids) <= set(rows)
        assert Counter(item.text.split()[0] for item in rows.values()) == {f"writer{n}": count for n in range(4)}
        assert memory.audit().ok


def test_four_processes_share_one_new_file(tmp_path: Path):
    """Case C-03, row P-057: four processes begin at once on a new file; one write transaction is held for a while."""
    _four_processes(str(tmp_path / "agent.db"), 40, hold_s=0.5)


@pytest.mark.slow
def test_four_processes_do_two_hundred_each(tmp_path: Path):
    """Case C-03: the same with 200 mixed operations each and a write transaction held for three seconds."""
    _four_processes(str(tmp_path / "agent.db"), 200, hold_s=3.0)


def test_object_made_in_one_thread_works_in_others(tmp_path: Path):
    """Case C-04: opened in one thread, written in a second, searched in a third, closed in a fourth."""
    with ThreadPoolExecutor(1) as first, ThreadPoolExecutor(1) as second, ThreadPoolExecutor(1) as third:
        memory = first.submit(Memory.open, str(tmp_path / "agent.db"), user="u").result()
        made = second.submit(memory.add, "plays the oboe").result().episodes[0]
        assert [hit.id for hit in third.submit(memory.search, "oboe").result().hits] == [made]
        with ThreadPoolExecutor(1) as fourth:
            fourth.submit(memory.close).result()


def test_blocking_verbs_work_from_asyncio_threads(tmp_path: Path):
    """Case C-04: the same object under asyncio.to_thread, twenty calls at once."""

    async def run(memory: Memory) -> int:
        await asyncio.gather(*(asyncio.to_thread(memory.add, f"line {n} pears") for n in range(20)))
        found = await asyncio.gather(*(asyncio.to_thread(memory.search, "pears", k=50) for _ in range(20)))
        return sum(len(result.hits) for result in found)

    with Memory.open(str(tmp_path / "agent.db"), user="u") as memory:
        assert asyncio.run(run(memory)) == 400
        assert memory.audit().ok


@pytest.mark.parametrize("engine", ["sqlite", "ram"])
def test_use_after_close_is_a_clear_refusal(tmp_path: Path, engine: str):
    """Case C-04: every verb of a closed memory raises an error of ours, and closing again is allowed."""
    memory = Memory.open("ram:" if engine == "ram" else str(tmp_path / "agent.db"), user="u")
    made = memory.add("plays the oboe").episodes[0]
    memory.close()
    memory.close()
    outcomes = []
    for call in (
        lambda: memory.search("oboe"),
        lambda: memory.get(made),
        lambda: memory.list(),
        lambda: memory.add("more"),
        lambda: memory.forget(made),
        lambda: memory.audit(),
        lambda: memory.export(),
        lambda: memory.checkpoint(),
        lambda: memory.backup(str(tmp_path / "b.db")),
        lambda: memory.repair(),
    ):
        try:
            call()
        except Error:
            outcomes.append("refused")
        except Exception as error:
            outcomes.append(f"raw {type(error).__name__}")
        else:
            outcomes.append("worked")
    assert set(outcomes) == {"refused"} or (engine == "ram" and set(outcomes) <= {"worked", "refused"}), outcomes


def test_use_after_fork_is_refused_and_the_parent_goes_on(tmp_path: Path):
    """Case C-04: a child that uses the inherited object is told so at once, also when a thread held a lock at the fork."""
    path = str(tmp_path / "agent.db")
    ends, hits, ok = json.loads(Worker("fork_and_use", path, "u", 12).go().finish())
    assert set(ends) == {"refused"}
    assert hits == 2
    assert ok


def test_child_of_a_fork_that_opens_anew_works(tmp_path: Path):
    """Case C-04: the child opens the store again and works; its end does not disturb the parent."""
    path = str(tmp_path / "agent.db")
    with Memory.open(path, user="u") as memory:
        memory.add("words before the fork")
        child = os.fork()
        if not child:
            try:
                with Memory.open(path, user="u") as own:
                    own.add("words of the child")
                memory.close()
            except BaseException:
                os._exit(1)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert len(memory.search("words").hits) == 2
        memory.add("words after the fork")
        assert memory.audit().ok


def test_reads_go_on_while_another_process_holds_the_write_lock(tmp_path: Path):
    """Case C-06: open, search, get, list, history and audit need no write lock."""
    path = str(tmp_path / "agent.db")
    with Memory.open(path, user="u") as memory:
        made = memory.add("plays the oboe").episodes[0]
        holder = Worker("hold_write", path).go()
        assert holder.line() == "held"
        report = json.loads(Worker("read_all", path, "u", made, "oboe").go().finish())
        assert report == {"search": [made], "get": "plays the oboe", "list": 1, "history": 1, "audit": True}
        assert memory.search("oboe").hits
        holder.finish("go\n")
        memory.add("and the flute")


def test_reads_go_on_in_a_process_whose_writer_waits(tmp_path: Path):
    """Case C-06: one thread waits for the write lock; another thread of the same object reads meanwhile."""
    path = str(tmp_path / "agent.db")
    with Memory.open(path, user="u") as memory, ThreadPoolExecutor(1) as pool:
        made = memory.add("plays the oboe").episodes[0]
        holder = Worker("hold_write", path).go()
        assert holder.line() == "held"
        waiting = pool.submit(memory.add, "and the flute")
        for _ in range(5):
            assert [hit.id for hit in memory.search("oboe").hits] == [made]
            assert memory.get(made).text
        assert not waiting.done()
        holder.finish("go\n")
        assert waiting.result().added == 1


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Path, str]]:
    """A filled store in a read-only file and folder that belong, with their home, to a user whom modes bind."""
    base = Path(tempfile.mkdtemp())
    base.chmod(0o755)
    monkeypatch.setenv("WITNESSTREE_HOME", str(base / "home"))
    data = base / "data"
    data.mkdir()
    path = data / "agent.db"
    with Memory.open(str(path), user="u") as memory:
        made = memory.add("plays the oboe").episodes[0]
    _hand_over(base / "home", data)
    path.chmod(0o400)
    data.chmod(0o500)
    yield path, made
    data.chmod(0o700)
    shutil.rmtree(base)


def _hand_over(*folders: Path) -> None:
    for folder in folders:
        for item in [folder, *folder.rglob("*")]:
            if os.getuid() == 0:
                os.chown(item, NOBODY, NOBODY)


def test_reads_work_where_nothing_can_be_written(shared: tuple[Path, str]):
    """Case C-06: file and folder read-only, as a user whom modes bind; a write is a typed refusal."""
    path, made = shared
    report = json.loads(Worker("read_all", str(path), "u", made, "oboe", env={AS_NOBODY: "1"}).go().finish())
    assert report == {"search": [made], "get": "plays the oboe", "list": 1, "history": 1, "audit": True}
    assert Worker("write_readonly", str(path), "u", env={AS_NOBODY: "1"}).go().finish() == "StoreError read_only\n"


def test_reads_work_where_the_home_is_read_only_too(shared: tuple[Path, str]):
    """Case C-06: the same when keys and anchor lie on a read-only place (a mounted secret in a container)."""
    path, made = shared
    home = path.parent.parent / "home"
    for item in [home, *home.rglob("*")]:
        item.chmod(0o500 if item.is_dir() else 0o400)
    report = json.loads(Worker("read_all", str(path), "u", made, "oboe", env={AS_NOBODY: "1"}).go().finish())
    assert report == {"search": [made], "get": "plays the oboe", "list": 1, "history": 1, "audit": True}


def test_read_only_process_sees_what_another_one_writes(shared: tuple[Path, str]):
    """Case C-06, edit-I8: a reader without write access follows an honest writer, or says it can't; never a false alarm."""
    path, _ = shared
    reader = Worker("follow", str(path), "u", "oboe", env={AS_NOBODY: "1"}).go()
    assert reader.line() == "open"
    assert reader.go().line() == "1"
    path.parent.chmod(0o700)
    path.chmod(0o600)
    seen = []
    with Memory.open(str(path), user="u") as memory:
        for count in (2, 3, 4):
            memory.add(f"the oboe again {count}")
            _hand_over(path.parent)
            seen.append((str(count), reader.go().line()))
    seen.append(("4", reader.go().line()))
    reader.finish()
    assert all(found == count or found.startswith("StoreError") for count, found in seen), seen


@pytest.mark.parametrize("engine", ["sqlite", "ram"])
def test_one_of_two_updates_with_the_same_expected_version_wins(tmp_path: Path, engine: str):
    """Case C-08: exactly one success and one conflict; the loser's text is nowhere."""
    with Memory.open("ram:" if engine == "ram" else str(tmp_path / "agent.db"), user="u") as memory:
        made = memory.add("version one").episodes[0]
        for text in ("version two", "version three", "version four", "version five"):
            memory.update(made, text)
        assert memory.get(made).version == 5

        def update(number: int) -> str:
            try:
                memory.update(made, f"sixth by {number}", expected_version=5)
            except ConflictError as error:
                return f"{error.reason} {error.attributes['version']}"
            return "won"

        outcomes = _in_threads(8, update)
        assert Counter(outcomes) == {"won": 1, "version 6": 7}
        winner = outcomes.index("won")
        assert [version.text for version in memory.history(made)][5:] == [f"sixth by {winner}"]
        with pytest.raises(ConflictError):
            memory.retract(made, expected_version=5)
        for loser in set(range(8)) - {winner}:
            assert f"sixth by {loser}" not in memory.export()


def test_two_sessions_on_one_file_conflict_by_version(tmp_path: Path):
    """Case C-08: two Memory objects have both read version 1; the second update is told so."""
    path = str(tmp_path / "agent.db")
    with Memory.open(path, user="u") as one, Memory.open(path, user="u") as two:
        made = one.add("first words").episodes[0]
        assert one.get(made).version == two.get(made).version == 1
        one.update(made, "second words", expected_version=1)
        with pytest.raises(ConflictError):
            two.update(made, "other words", expected_version=1)
        assert two.get(made).text == "second words"
        assert two.update(made, "third words", expected_version=2).version == 3


@pytest.mark.parametrize("odd", ["1", 1.5, True, [], -1, 0])
def test_expected_version_of_a_wrong_kind_is_refused(tmp_path: Path, odd: object):
    """Case C-08: a version that is no whole number, or can't be one, never passes for the right one."""
    with Memory.open(str(tmp_path / "agent.db"), user="u") as memory:
        made = memory.add("first words").episodes[0]
        with pytest.raises(Error):
            memory.update(made, "second words", expected_version=odd)  # type: ignore[arg-type]
        assert memory.get(made).version == 1


def test_lock_held_beyond_the_limit_is_a_retryable_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Case C-03, row P-124: a bounded wait, a typed error, and the retry works."""
    monkeypatch.setattr("witnesstree.stores.sqlite.BUSY_TIMEOUT_S", 0.3)
    path = str(tmp_path / "agent.db")
    with Memory.open(path, user="u") as memory:
        made = memory.add("plays the oboe").episodes[0]
        holder = Worker("hold_write", path).go()
        assert holder.line() == "held"
        for call in (lambda: memory.add("waits"), lambda: memory.update(made, "waits"), lambda: memory.forget(made)):
            with pytest.raises(StoreError) as caught:
                call()
            assert caught.value.reason == "busy"
            assert caught.value.http_status == 503
        assert memory.search("oboe").hits
        holder.finish("go\n")
        assert memory.add("waits").added == 1
        assert memory.audit().ok


def test_copy_of_a_busy_store_by_backup_is_whole(tmp_path: Path):
    """Case C-03: a backup taken while another process writes is consistent and can be restored."""
    path = str(tmp_path / "agent.db")
    Memory.open(path).close()
    writer = Worker("add_many", path, "u", "writer", 60).go()
    with Memory.open(path, user="u") as memory:
        for number in range(5):
            writer.line()
            memory.backup(str(tmp_path / f"backup{number}.db"))
    writer.finish()
    for number in range(5):
        assert Memory.restore(str(tmp_path / f"backup{number}.db"), str(tmp_path / f"new{number}.db")).ok
    shutil.rmtree(tmp_path, ignore_errors=True)
