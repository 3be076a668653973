"""The one store contract over every engine."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest

from witnesstree.stores import sqlite
from witnesstree.stores.base import Store
from witnesstree.stores.ram import RamStore
from witnesstree.stores.sqlite import SqliteStore
from witnesstree.testing.store_contract import StoreContract, batch
from witnesstree.testing.store_fault_contract import StoreFaultContract
from witnesstree.types.batch import Batch


class TestRamStore(StoreContract):
    """The reference."""

    def create(self, genesis: Batch) -> Store:
        """In this process."""
        return RamStore("ram:", genesis)

    def reopen(self, store: Store) -> Store:
        """It can't be left."""
        return store

    def another(self, store: Store) -> Store:
        """It is shared as it is."""
        return store


class TestSqliteStore(StoreContract):
    """The embedded default."""

    @pytest.fixture(autouse=True)
    def folder(self, tmp_path: Path) -> None:
        """Keep the file in this test's folder."""
        self.path = str(tmp_path / "contract.db")

    def create(self, genesis: Batch) -> Store:
        """A new file."""
        SqliteStore.create(self.path, genesis)
        return SqliteStore(self.path)

    def reopen(self, store: Store) -> Store:
        """The same file again."""
        store.close()
        return SqliteStore(self.path)

    def another(self, store: Store) -> Store:
        """A second pair of connections."""
        return SqliteStore(self.path)


NOBODY = 65534
OPEN = "from witnesstree.stores.sqlite import SqliteStore\nstore = SqliteStore({place!r})"
OPEN_AS_NOBODY = """
import os
import apsw, numpy, unicodedata  # before the user changes, who may not read them
from witnesstree.stores.sqlite import SqliteStore
os.chdir("/")
if os.getuid() == 0:
    os.setgroups([])
    os.setgid({nobody})
    os.setuid({nobody})
store = SqliteStore({place!r})
"""
# A file may grow to 100 kB more than the largest one has now: what a disk without room says is another error number only.
FILL = """
import glob, os, resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
def limit(size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
def fill_disk():
    limit(max(os.path.getsize(name) for name in glob.glob({place!r} + "*")) + 100_000)
def free_disk():
    limit(resource.RLIM_INFINITY)
"""


class TestSqliteFaults(StoreFaultContract):
    """The embedded default, when the world fails it."""

    @pytest.fixture(autouse=True)
    def patching(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Keep what undoes changes of this test."""
        self.monkeypatch = monkeypatch

    def new_place(self, folder: Path) -> str:
        """A path in a folder of its own."""
        own = Path(tempfile.mkdtemp(dir=folder))
        return str(own / "agent.db")

    def create_at(self, place: str, genesis: Batch) -> None:
        """A new file."""
        SqliteStore.create(place, genesis)

    def open_at(self, place: str) -> Store:
        """The file."""
        return SqliteStore(place)

    def contents(self, place: str) -> object:
        """All that lies in its folder."""
        found = sorted(Path(place).parent.rglob("*"))
        return [(str(path), os.readlink(path) if path.is_symlink() else path.is_file() and path.read_bytes()) for path in found]

    def child_code(self, place: str) -> str:
        """Open it."""
        return OPEN.format(place=place)

    def torn_copies(self, store: Store, place: str, folder: Path) -> Iterator[str]:
        """The write-ahead log cut at many bytes; the rest is missing, zero, or what happened to be on the disk."""
        log, main = Path(f"{place}-wal").read_bytes(), Path(place).read_bytes()
        for cut in sorted({*range(0, len(log), 509), len(log) - 1, len(log)}):
            missing = len(log) - cut
            for tail in {b"", bytes(missing), os.urandom(missing)}:
                copy = self.new_place(folder)
                Path(copy).write_bytes(main)
                Path(f"{copy}-wal").write_bytes(log[:cut] + tail)
                yield copy

    def open_impatient(self, place: str) -> Store:
        """The timeout is read when a connection is made."""
        self.monkeypatch.setattr(sqlite, "BUSY_TIMEOUT_S", 0.2)
        return SqliteStore(place)

    @contextmanager
    def read_only(self, place: str) -> Iterator[str]:
        """A read-only file in a read-only folder, for a user whom modes bind."""
        folder = Path(place).parent
        public = Path(tempfile.mkdtemp())
        moved = public / folder.name
        try:
            shutil.move(folder, moved)
            public.chmod(0o755)
            if os.getuid() == 0:
                os.chown(moved / "agent.db", NOBODY, NOBODY)
                os.chown(moved, NOBODY, NOBODY)
            (moved / "agent.db").chmod(0o400)
            moved.chmod(0o500)
            yield OPEN_AS_NOBODY.format(place=str(moved / "agent.db"), nobody=NOBODY)
        finally:
            moved.chmod(0o700)
            (moved / "agent.db").chmod(0o600)
            shutil.move(moved, folder)
            public.rmdir()

    def fill_code(self, place: str) -> str:
        """A limit on the size of files."""
        return FILL.format(place=place)

    def foreign_places(self, folder: Path) -> Iterator[str]:
        """Nothing, text, noise, the first bytes of a database, and a database of another program."""
        for content in (b"", b"hello, this is a text file", b"SQLite format 3\x00" + bytes(84), os.urandom(5000)):
            place = self.new_place(folder)
            Path(place).write_bytes(content)
            yield place
        place = self.new_place(folder)
        connection = apsw.Connection(place)
        connection.execute("CREATE TABLE memory (seq, owner, content, seal)")
        connection.close()
        yield place

    def _store_with(self, folder: Path, edit: str) -> Path:
        place = self.new_place(folder)
        self.create_at(place, batch(0))
        connection = apsw.Connection(place)
        connection.execute(edit)
        connection.close()
        return Path(place)

    def damaged_places(self, folder: Path) -> Iterator[str]:
        """Half of a file, pages of noise or zeros, a table that is gone, a head that is gone."""
        file = self._store_with(folder, "PRAGMA user_version")
        whole = file.read_bytes()
        half = len(whole) // 2 // 4096 * 4096
        for content in (whole[:half], whole[:100], whole[:100] + os.urandom(len(whole) - 100), whole[:4096] + bytes(half)):
            place = Path(self.new_place(folder))
            place.write_bytes(content)
            yield str(place)
        yield str(self._store_with(folder, "DROP TABLE leaf"))
        yield str(self._store_with(folder, "DELETE FROM head"))

    def future_places(self, folder: Path) -> Iterator[str]:
        """A schema version that is yet to come."""
        yield str(self._store_with(folder, "PRAGMA user_version = 99"))
