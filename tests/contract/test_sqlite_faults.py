"""What only SQLite can show when the world fails it: death between statements, migration, file modes, a log that is gone.

What every engine must do is in ``witnesstree.testing.store_fault_contract``, and runs over SQLite in test_stores.py.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from witnesstree.errors import Error
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
