"""What a SQLite store does when the world fails it: torn writes, a full disk, locks, links, foreign and future files."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import apsw
import pytest

from witnesstree.errors import ConflictError, Error, InputError, StoreError, UnsupportedError
from witnesstree.stores import sqlite
from witnesstree.stores.sqlite import SqliteStore
from witnesstree.stores.sqlite_schema import MIGRATIONS
from witnesstree.testing.store_contract import batch, head, seen


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store with one batch, closed."""
    place = tmp_path / "agent.db"
    SqliteStore.create(str(place), batch(0))
    return place


def append(store: SqliteStore, number: int) -> None:
    """Append one batch."""
    with store.write() as snapshot:
        snapshot.append(batch(number))


def test_log_cut_at_any_byte_shows_the_state_before_or_after(path: Path, tmp_path: Path) -> None:
    """A torn write: whatever prefix of the write-ahead log reached the disk, the state is a whole one."""
    store = SqliteStore(str(path))
    append(store, 1)
    append(store, 2)
    states = []
    wal = Path(f"{path}-wal").read_bytes()
    main = path.read_bytes()
    for cut in sorted({*range(0, len(wal), 509), len(wal) - 1, len(wal)}):
        copy = tmp_path / f"cut-{cut}.db"
        copy.write_bytes(main)
        Path(f"{copy}-wal").write_bytes(wal[:cut])
        torn = SqliteStore(str(copy))
        states.append(seen(torn))
        torn.close()
    heads = [state[0] for state in states]
    assert set(heads) == {head(1), head(2), head(3)}
    assert heads == sorted(heads, key=lambda h: h.note)
    for state in states:
        assert len(state[1]) == len(state[2]) == int(state[0].note.split()[1])
    store.close()


CRASH = """
import os, sys
from witnesstree.stores import sqlite
from witnesstree.testing.store_contract import batch
step = int(sys.argv[2])
store = sqlite.SqliteStore(sys.argv[1])
ran = [0]
class Dying:
    def __init__(self, run): self.run = run
    def __call__(self, *args):
        if ran[0] == step: os._exit(9)
        ran[0] += 1
        return self.run(*args)
plain = sqlite.apply_batch
sqlite.apply_batch = lambda run, made: plain(Dying(run), made)
with store.write() as snapshot:
    snapshot.append(batch(1))
    if ran[0] == step: os._exit(9)
print("acknowledged", flush=True)
"""


@pytest.mark.parametrize("step", range(8))
def test_process_death_between_any_two_statements_leaves_a_whole_state(path: Path, step: int) -> None:
    """Killed before statement ``step``, or between the last one and the commit: nothing of the batch is there."""
    done = subprocess.run([sys.executable, "-c", CRASH, str(path), str(step)], capture_output=True, text=True, check=False)
    store = SqliteStore(str(path))
    if "acknowledged" in done.stdout:
        assert seen(store)[0] == head(2)
    else:
        assert done.returncode == 9, done.stderr
        assert seen(store)[0] == head(1)
        append(store, 1)
    assert seen(store)[0] == head(2)
    store.close()


FULL = """
import resource, signal, sys
from witnesstree.errors import StoreError
from witnesstree.stores.sqlite import SqliteStore
from witnesstree.testing.store_contract import batch, head, seen
from witnesstree.types.record import SealedRecord
store = SqliteStore(sys.argv[1])
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (120_000, resource.RLIM_INFINITY))
row = SealedRecord(1, b"o" * 16, bytes(500_000), bytes(33))
try:
    with store.write() as snapshot:
        snapshot.append(batch(1, rows=[row]))
    print("no error")
except StoreError as error:
    print(error.reason)
assert seen(store)[0] == head(1), "reads go on"
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
with store.write() as snapshot:
    snapshot.append(batch(1))
assert seen(store)[0] == head(2)
store.close()
print("recovered")
"""


def test_full_disk_gives_a_typed_error_and_reads_go_on(path: Path) -> None:
    """The real cause surfaces, nothing is half written, and writing works again once there is room."""
    done = subprocess.run([sys.executable, "-c", FULL, str(path)], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["store_failed", "recovered"] or done.stdout.split() == ["full", "recovered"], done


def test_lock_held_past_the_timeout_is_a_retryable_error(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another writer never finishes: a typed error after the wait, no hang, and reads are not held up."""
    monkeypatch.setattr(sqlite, "BUSY_TIMEOUT_S", 0.2)
    other = apsw.Connection(str(path))
    other.execute("BEGIN IMMEDIATE")
    store = SqliteStore(str(path))
    with pytest.raises(StoreError) as caught:
        append(store, 1)
    assert caught.value.reason == "busy"
    assert seen(store)[0] == head(1)
    other.execute("ROLLBACK")
    append(store, 1)
    assert seen(store)[0] == head(2)
    other.close()
    store.close()


def test_reads_of_other_threads_go_on_while_a_writer_waits(path: Path) -> None:
    """A writer that waits for another process does not hold this process's readers."""
    other = apsw.Connection(str(path))
    other.execute("BEGIN IMMEDIATE")
    store = SqliteStore(str(path))
    writer = threading.Thread(target=append, args=(store, 1))
    writer.start()
    for _ in range(20):
        assert seen(store)[0] == head(1)
    assert writer.is_alive()
    other.execute("ROLLBACK")
    writer.join()
    assert seen(store)[0] == head(2)
    other.close()
    store.close()


@pytest.mark.parametrize("content", [b"", b"hello, this is a text file", b"SQLite format 3\x00" + bytes(84), os.urandom(5000)])
def test_foreign_file_is_refused_and_left_untouched(tmp_path: Path, content: bytes) -> None:
    """Somebody else's file is not opened, not changed, not given side files."""
    place = tmp_path / "foreign"
    place.write_bytes(content)
    with pytest.raises(InputError, match="untouched"):
        SqliteStore(str(place))
    assert place.read_bytes() == content and [p.name for p in tmp_path.iterdir()] == ["foreign"]


def test_other_programs_database_is_refused_and_left_untouched(tmp_path: Path) -> None:
    """A SQLite file of another program."""
    place = tmp_path / "theirs.db"
    connection = apsw.Connection(str(place))
    connection.execute("CREATE TABLE memory (seq, owner, content, seal)")
    connection.close()
    before = place.read_bytes()
    with pytest.raises(InputError, match="another program"):
        SqliteStore(str(place))
    assert place.read_bytes() == before


def test_future_version_is_refused_and_left_untouched(path: Path) -> None:
    """A file of a newer version of this program."""
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(UnsupportedError, match="newer version"):
        SqliteStore(str(path))
    assert path.read_bytes() == before


def test_creating_over_anything_is_refused(path: Path, tmp_path: Path) -> None:
    """A store never overwrites."""
    before = path.read_bytes()
    with pytest.raises(ConflictError):
        SqliteStore.create(str(path), batch(0))
    assert path.read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir() if p.is_file()) == ["agent.db"]


def test_files_are_private_to_their_user(path: Path) -> None:
    """Mode 0600 for the file, its log and its shared memory."""
    store = SqliteStore(str(path))
    append(store, 1)
    assert {p.stat().st_mode & 0o777 for p in path.parent.glob("agent.db*")} == {0o600}
    assert not list(store.problems(deep=True))
    os.chmod(path, 0o644)
    assert any("can be read by others" in problem for problem in store.problems(deep=True))
    store.close()


def test_migration_is_all_or_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An older schema is brought up to date in one transaction; a failing step leaves it as it was."""
    connection = apsw.Connection(str(path))
    connection.execute("DROP INDEX memory_owner")
    connection.execute("PRAGMA user_version = 0")
    connection.close()
    old = seen_tables(path)
    monkeypatch.setitem(MIGRATIONS, 0, ("CREATE INDEX memory_owner ON memory (owner)", "CREATE INDEX broken ON nowhere (x)"))
    with pytest.raises(Error):
        SqliteStore(str(path))
    assert seen_tables(path) == old
    monkeypatch.setitem(MIGRATIONS, 0, ("CREATE INDEX memory_owner ON memory (owner)",))
    store = SqliteStore(str(path))
    assert seen(store)[0] == head(1)
    store.close()


def seen_tables(path: Path) -> list[object]:
    """Return schema and version of a file."""
    connection = apsw.Connection(str(path))
    try:
        names = connection.execute("SELECT name, sql FROM sqlite_schema ORDER BY name").fetchall()
        return [*names, connection.pragma("user_version")]
    finally:
        connection.close()


def test_unlinked_log_under_a_live_writer_is_refused(path: Path) -> None:
    """A writer whose write-ahead log was removed would lose everything at its death: it stops instead."""
    store = SqliteStore(str(path))
    append(store, 1)
    Path(f"{path}-wal").unlink()
    with pytest.raises(Error, match="write-ahead log"):
        append(store, 2)
    store.close()
