"""The file as a whole and what lies beside it: rolled back, replaced, deleted, linked, planted (T-C9, T-T7; edits I5 to I7)."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest

from tests.support.worlds import SqliteWorld, judge
from witnesstree import Memory
from witnesstree.errors import Error, IntegrityError, LogError


@pytest.fixture
def world(tmp_path: Path) -> Iterator[SqliteWorld]:
    """A filled store of this test's own."""
    return SqliteWorld(tmp_path / "data")


def in_place(source: Path, target: Path) -> None:
    """Overwrite a file's bytes, keeping its inode, and drop its side files."""
    target.write_bytes(source.read_bytes())
    for suffix in ("-wal", "-shm"):
        target.with_name(target.name + suffix).unlink(missing_ok=True)


def by_rename(source: Path, target: Path) -> None:
    """Put another file under the name."""
    draft = target.with_name("draft")
    shutil.copy(source, draft)
    os.replace(draft, target)
    for suffix in ("-wal", "-shm"):
        target.with_name(target.name + suffix).unlink(missing_ok=True)


@pytest.mark.parametrize("put_back", [in_place, by_rename])
def test_yesterdays_copy_is_refused_when_reopened(world: SqliteWorld, put_back: Callable[[Path, Path], None]) -> None:
    """T-C9: an older complete copy verifies in itself; the anchor knows better (edit I6)."""
    put_back(world.yesterday, world.path)
    with pytest.raises(LogError) as caught:
        Memory.open(str(world.path))
    assert caught.value.reason == "rollback"


@pytest.mark.parametrize("put_back", [in_place, by_rename])
def test_yesterdays_copy_is_refused_by_a_live_process(world: SqliteWorld, put_back: Callable[[Path, Path], None]) -> None:
    """T-C9: also when a process has the file open, for reads and for writes."""
    memory = Memory.open(str(world.path))
    assert judge(memory, world.clean, world.ids).held
    put_back(world.yesterday, world.path)
    for read in (lambda: memory.search("rent", user="ana"), lambda: memory.list(user="bo")):
        with pytest.raises(IntegrityError):
            read()
    with pytest.raises(IntegrityError):
        memory.add("A write on a rolled-back store.", user="ana")
    memory.close()
    assert apsw.Connection(str(world.path)).execute("SELECT count(*) FROM memory").fetchall()[0][0] == 2


def test_rollback_followed_by_honest_writes_of_another_home_is_refused(
    world: SqliteWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T-C9: the fork has grown past what the anchor saw, signed by the real key, and is still another history."""
    other = tmp_path / "other-home"
    shutil.copytree(tmp_path / "home" / "state" / "keys", other / "state" / "keys")
    for folder, _, files in os.walk(other):
        os.chmod(folder, 0o700)
        for name in files:
            os.chmod(os.path.join(folder, name), 0o600)
    in_place(world.yesterday, world.path)
    monkeypatch.setenv("WITNESSTREE_HOME", str(other))
    with Memory.open(str(world.path)) as memory:
        for number in range(40):
            memory.add(f"Honest line {number} after a rollback.", user="ana")
    monkeypatch.setenv("WITNESSTREE_HOME", str(tmp_path / "home"))
    with pytest.raises(LogError) as caught:
        Memory.open(str(world.path))
    assert caught.value.reason == "fork"


@pytest.mark.parametrize("what", ["deleted", "emptied", "truncated", "garbage", "another store", "a backup"])
@pytest.mark.parametrize("live", [False, True], ids=["reopened", "live"])
def test_replaced_file_is_refused(world: SqliteWorld, tmp_path: Path, what: str, live: bool) -> None:
    """T-T7: the whole file deleted, emptied, or another genuine store in its place (edit I5)."""
    other = tmp_path / "other.db"
    with Memory.open(str(other)) as memory:
        memory.add("Another genuine store.", user="ana")
    backup = tmp_path / "backup.db"
    with Memory.open(str(world.path)) as memory:
        memory.backup(str(backup))
    edits: dict[str, Callable[[], None]] = {
        "deleted": lambda: [p.unlink() for p in world.path.parent.glob("agent.db*")] and None,
        "emptied": lambda: world.path.write_bytes(b"") and None,
        "truncated": lambda: os.truncate(world.path, world.path.stat().st_size // 2),
        "garbage": lambda: world.path.write_bytes(os.urandom(9000)) and None,
        "another store": lambda: in_place(other, world.path),
        "a backup": lambda: in_place(backup, world.path),
    }
    if live:
        memory = Memory.open(str(world.path))
        memory.search("rent", user="ana")
        edits[what]()
        verdict = judge(memory, world.clean, world.ids)
        assert verdict.held, verdict.lies
        assert verdict.refused or what == "a backup"
        memory.close()
        return
    edits[what]()
    with pytest.raises(IntegrityError), Memory.open(str(world.path)) as memory:
        memory.search("rent", user="ana")


def test_deleted_store_is_not_made_anew(world: SqliteWorld) -> None:
    """A pinned place that is empty is an alarm, not a reason to begin with an empty memory."""
    world.path.unlink()
    with pytest.raises(LogError, match="is gone"):
        Memory.open(str(world.path))
    assert not world.path.exists()


@pytest.mark.parametrize("suffix", ["", "-wal", "-shm"])
def test_symbolic_link_is_refused(world: SqliteWorld, tmp_path: Path, suffix: str) -> None:
    """T-C10: the store, its log or its shared memory behind a link."""
    victim = tmp_path / "victim"
    victim.write_bytes(world.path.read_bytes() if not suffix else b"precious")
    name = world.path.with_name(world.path.name + suffix)
    name.unlink(missing_ok=True)
    name.symlink_to(victim)
    before = victim.read_bytes()
    with pytest.raises(LogError) as caught:
        Memory.open(str(world.path))
    assert caught.value.reason == "symlink"
    assert victim.read_bytes() == before


def test_planted_journal_is_refused_and_deletes_nothing(world: SqliteWorld, tmp_path: Path) -> None:
    """T-C10: a rollback journal that names another file must not make SQLite touch it."""
    victim = tmp_path / "victim.txt"
    victim.write_text("precious")
    journal = world.path.with_name(world.path.name + "-journal")
    journal.write_bytes(b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + bytes(500) + str(victim).encode())
    with pytest.raises(LogError) as caught:
        Memory.open(str(world.path))
    assert caught.value.reason == "planted_journal"
    assert victim.read_text() == "precious" and journal.exists()


@pytest.mark.parametrize("how", ["garbage", "zeros", "an older one"])
def test_planted_write_ahead_log_changes_no_answer(world: SqliteWorld, how: str) -> None:
    """T-T7: a foreign -wal is refused, ignored, or what it says is refused."""
    wal = world.path.with_name(world.path.name + "-wal")
    if how == "an older one":
        connection = apsw.Connection(str(world.path))
        connection.execute("UPDATE memory SET content = x'00' WHERE seq = 4")
        data = wal.read_bytes()
        connection.close()
        world.reset()
        wal.write_bytes(data)
    else:
        wal.write_bytes(os.urandom(8192) if how == "garbage" else bytes(8192))
    try:
        with Memory.open(str(world.path)) as memory:
            verdict = judge(memory, world.clean, world.ids)
            assert verdict.held, verdict.lies
    except IntegrityError:
        pass


def test_zeroed_shared_memory_changes_no_answer(world: SqliteWorld) -> None:
    """T-T7: -shm is only an index into the log that SQLite rebuilds."""
    with Memory.open(str(world.path)) as memory:
        memory.add("A line that is in the write-ahead log.", user="ana")
        clean = memory.search("write-ahead line", user="ana").hits
        shm = world.path.with_name(world.path.name + "-shm")
        with shm.open("r+b") as file:
            file.write(bytes(shm.stat().st_size))
        try:
            assert memory.search("write-ahead line", user="ana").hits == clean
        except Error:
            pass


def test_raw_byte_patch_with_its_time_put_back_is_refused_live(world: SqliteWorld) -> None:
    """T-C1: bytes of a page changed behind the page cache, modification time restored (edit I1)."""
    with Memory.open(str(world.path)) as memory:
        memory.search("rent account", user="ana")
        data = world.path.read_bytes()
        at = data.index(b"DE89370400440532013000")
        stamp = world.path.stat()
        with world.path.open("r+b") as file:
            file.seek(at)
            file.write(b"XX")
        os.utime(world.path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
        with pytest.raises(IntegrityError):
            memory.search("rent account", user="ana")


def test_moved_store_is_recognised_and_its_copy_does_not_fork_silently(world: SqliteWorld, tmp_path: Path) -> None:
    """A known store at a new place is a move; a copy that is written to beside the original is refused later."""
    copy = tmp_path / "copy.db"
    shutil.copy(world.path, copy)
    with Memory.open(str(copy)) as memory:
        assert judge(memory, world.clean, world.ids).held
        memory.add("Written to the copy.", user="ana")
    with pytest.raises(LogError) as caught:
        Memory.open(str(world.path))
    assert caught.value.reason == "rollback"


def test_quarantine_serves_the_rest_and_says_how_many_are_withheld(world: SqliteWorld) -> None:
    """T-D6: one bad row does not take everybody down; every result says that something is withheld (edit I7)."""
    connection = apsw.Connection(str(world.path))
    connection.execute("UPDATE memory SET content = CAST(replace(content, 'DE89', 'XX00') AS BLOB) WHERE seq = 4")
    connection.execute("DELETE FROM memory WHERE seq = 6")
    connection.close()
    with Memory.open(str(world.path), on_tamper="quarantine") as memory:
        result = memory.search("pears garden rent", user="ana")
        assert result.withheld == 2 and result.integrity == "quarantined"
        assert "pears" in result.hits[0].text and not any("XX00" in hit.text for hit in result.hits)
        assert "2 memories are withheld" in result.context()
        assert memory.list(user="ana").withheld == 2
        assert memory.search("rent account", user="bo").integrity == "verified"
        assert not memory.audit().ok
