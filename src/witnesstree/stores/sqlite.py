"""SQLite as a store (the embedded default): one file, write-ahead log, full sync, nothing planted can run."""

from __future__ import annotations

import itertools
import os
import secrets
import stat
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, cast

import apsw

from witnesstree.errors import (
    ConflictError,
    Error,
    InputError,
    LogError,
    StoreError,
    UnsupportedError,
)
from witnesstree.stores import sqlite_queries as queries
from witnesstree.stores import sqlite_schema as schema
from witnesstree.stores.base import place_taken
from witnesstree.stores.sqlite_connection import begin, harden
from witnesstree.stores.sqlite_file import check_file, check_folder, has_bytes, publish, refuse_planted, resolve, translated
from witnesstree.types.batch import Batch, Head
from witnesstree.types.limits import BUSY_TIMEOUT_S
from witnesstree.types.record import SealedRecord

MINIMUM_SQLITE: Final = (3, 54, 0)
SCRUB_TIMEOUT_MS: Final = 250

_make_row = SealedRecord._make


class SqliteSnapshot:
    """One read or write transaction on a connection."""

    def __init__(self, connection: apsw.Connection) -> None:
        """Read through ``connection``, which is inside a transaction."""
        self._run = connection.execute
        self._head: Head | None = None

    def head(self) -> Head:
        """Return the head."""
        if self._head is None:
            self._head = self._read_head()
        return self._head

    def _read_head(self) -> Head:
        row = self._run(queries.HEAD).fetchone()
        if row is None:
            raise LogError("the store has no head any more; restore a backup", reason="head_missing")
        return Head._make(row)

    def entries(self, start: int, stop: int) -> Iterator[bytes]:
        """Yield log entries ascending."""
        return (row[0] for row in self._run(queries.ENTRIES, (start, stop)))

    def rows(self, seqs: Sequence[int]) -> Iterator[SealedRecord]:
        """Yield the rows at these positions."""
        for seq in seqs:
            row = self._run(queries.ROW_AT, (seq,)).fetchone()
            if row is not None:
                yield _make_row(row)

    def owner_rows(self, owner: bytes, after: int = -1) -> Iterator[SealedRecord]:
        """Yield the owner's rows ascending."""
        return map(_make_row, self._run(queries.ROWS_OF_OWNER, (owner, after)))

    def all_rows(self) -> Iterator[SealedRecord]:
        """Yield every row ascending, read from the table itself and not through an index."""
        return map(_make_row, self._run(queries.ALL_ROWS))

    def leaf(self, owner: bytes) -> bytes | None:
        """Return an owner's leaf."""
        row = self._run(queries.LEAF, (owner,)).fetchone()
        return None if row is None else cast(bytes, row[0])

    def leaves(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield every leaf."""
        return cast(
            Iterator[tuple[bytes, bytes]],
            self._run(queries.LEAVES),
        )

    def node(self, path: bytes) -> bytes | None:
        """Return one node of the owner map."""
        row = self._run(queries.NODE, (path,)).fetchone()
        return None if row is None else cast(bytes, row[0])

    def nodes(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield every node."""
        return cast(
            Iterator[tuple[bytes, bytes]],
            self._run(queries.NODES),
        )

    def log_positions(self) -> int:
        """Return the number of stored log entries."""
        return cast(int, self._run(queries.LOG_POSITIONS).fetchall()[0][0])

    def append(self, batch: Batch) -> None:
        """Apply one batch inside the open transaction."""
        if self.head() != batch.expected:
            raise ConflictError("the store's head has moved on; read again and retry", reason="head_moved")
        try:
            apply_batch(self._run, batch)
        except apsw.ConstraintError as error:
            raise place_taken("the store") from error


def apply_batch(run: Any, batch: Batch) -> None:
    """Execute the statements of a batch through ``run`` (a connection's ``execute``)."""
    if batch.reset:
        for table in ("memory", "leaf", "node"):
            run(f"DELETE FROM {table}")  # noqa: S608  the names are the three above
        run("DELETE FROM log WHERE seq < 0 OR seq >= ?", (batch.entries[0][0],))
    for seq in batch.erased:
        run("DELETE FROM memory WHERE seq = ?", (seq,))
    for first, second in itertools.zip_longest(batch.entries[::2], batch.entries[1::2]):
        if second is None:
            run("INSERT INTO log (seq, entry) VALUES (?, ?)", first)
        else:
            run("INSERT INTO log (seq, entry) VALUES (?, ?), (?, ?)", (*first, *second))
    for row in batch.rows:
        run("INSERT INTO memory (seq, owner, content, seal, vector) VALUES (?, ?, ?, ?, ?)", tuple(row))
    for item in batch.leaves.items():
        run("INSERT OR REPLACE INTO leaf (owner, leaf) VALUES (?, ?)", item)
    for item in batch.nodes.items():
        run("INSERT OR REPLACE INTO node (path, node) VALUES (?, ?)", item)
    run(
        "INSERT OR REPLACE INTO head (one, store_id, note, frontier) VALUES (1, ?, ?, ?)",
        (batch.head.store_id, batch.head.note, batch.head.frontier),
    )


class SqliteStore:
    """One SQLite file. A reading and a writing connection, usable from any thread of the process that opened it."""

    def __init__(self, path: str) -> None:
        """Open an existing store file.

        Raises:
            InputError: not ours. UnsupportedError: newer, or the SQLite library is too old. StoreError: unreadable.
        """
        if not self.library_version()[1]:
            raise UnsupportedError("this needs SQLite 3.54 or newer; upgrade the package 'apsw'")
        self.path = resolve(path)
        self.place = str(self.path)
        self._wal = f"{self.place}-wal"
        self._is_frozen = False
        self.is_backup = check_file(self.path) == schema.BACKUP_ID
        self.read_only = self.is_backup or not os.access(self.path, os.W_OK) or not os.access(self.path.parent, os.W_OK)
        if not self.read_only:
            self._own_side_files()
        self._pid = os.getpid()
        self._read_lock = threading.RLock()
        self._write_lock = threading.RLock()
        self._writer: apsw.Connection | None = None
        self._tokens: dict[str, tuple[int, ...]] = {}
        self._wal_identity: tuple[int, ...] | None = None
        self._cookie: object = None
        with translated(self.place):
            self._identity = self._identify()
            self._reader = self._connect(writable=False)
            try:
                if not self.read_only and int(self._reader.pragma("user_version")) < schema.SCHEMA_VERSION:
                    schema.migrate(self._open_writer())
            except BaseException:
                self.close()
                raise

    def _own_side_files(self) -> None:
        """Make side files writable again that were made while the file was read-only (SQLite gives them the file's mode)."""
        for name in (self._wal, f"{self.place}-shm"):
            if os.path.exists(name) and not os.path.islink(name) and not os.access(name, os.W_OK):
                with suppress(OSError):
                    os.chmod(name, 0o600)

    @staticmethod
    def library_version() -> tuple[str, bool]:
        """Return the SQLite library's version, and whether it is new enough to open a store with."""
        version = apsw.sqlite_lib_version()
        return f"SQLite {version}", tuple(int(part) for part in version.split(".")) >= MINIMUM_SQLITE

    @classmethod
    def create(cls, path: str, genesis: Batch) -> None:
        """Make a new store file that holds exactly ``genesis``; the file appears whole or not at all.

        Raises:
            ConflictError: something is already there. StoreError: the folder is missing or can't be written.
        """
        target = resolve(path)
        check_folder(target)
        draft = target.with_name(f".{target.name}.{secrets.token_hex(8)}.new")
        with translated(str(target)):
            try:
                os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
                connection = apsw.Connection(str(draft))
                connection.execute("PRAGMA journal_mode = WAL")
                with connection:
                    schema.create_schema(connection)
                    apply_batch(connection.execute, genesis)
                connection.close()
                publish(draft, target)
            finally:
                for suffix in ("", "-wal", "-shm"):
                    Path(f"{draft}{suffix}").unlink(missing_ok=True)

    def _connect(self, *, writable: bool) -> apsw.Connection:
        flags = apsw.SQLITE_OPEN_NOFOLLOW | apsw.SQLITE_OPEN_URI
        flags |= apsw.SQLITE_OPEN_READONLY if self.read_only else apsw.SQLITE_OPEN_READWRITE
        connection = apsw.Connection(self._uri(immutable=False), flags=flags)
        try:
            harden(connection, writable=writable, timeout_s=BUSY_TIMEOUT_S)
        except (apsw.CantOpenError, apsw.ReadOnlyError):
            if not self.read_only or has_bytes(self._wal):
                raise
            connection = apsw.Connection(self._uri(immutable=True), flags=flags)
            harden(connection, writable=False, timeout_s=BUSY_TIMEOUT_S)
            self._is_frozen = True
        return connection

    def _uri(self, *, immutable: bool) -> str:
        quoted = self.place.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
        return f"file:{quoted}" + ("?immutable=1" if immutable else "")

    def _open_writer(self) -> apsw.Connection:
        if self._writer is None:
            self._writer = self._connect(writable=True)
        return self._writer

    def _identify(self) -> tuple[int, int]:
        found = os.stat(self.path, follow_symlinks=False)
        return found.st_dev, found.st_ino

    def _check_place(self, who: str) -> bool:
        """Return whether the file changed since ``who`` looked last; refuse another file (edits edit-I5 and edit-I6)."""
        try:
            main = os.lstat(self.place)
        except FileNotFoundError:
            raise self._replaced("is gone") from None
        token: tuple[int, ...] = (main.st_dev, main.st_ino, main.st_ctime_ns, main.st_size)
        try:
            wal = os.lstat(self._wal)
            token += (wal.st_dev, wal.st_ino, wal.st_ctime_ns, wal.st_size)
        except FileNotFoundError:
            pass
        if token == self._tokens.get(who):
            return False
        if token[:2] != self._identity:
            raise self._replaced("was replaced by another file")
        if len(token) == 4:
            if self._wal_identity is not None and not self._is_frozen:
                raise self._replaced("lost its write-ahead log")
        elif self._wal_identity is None:
            refuse_planted(self.path)
            self._wal_identity = token[4:6]
        elif self._wal_identity != token[4:6] and not self._is_frozen:
            raise self._replaced("has another write-ahead log")
        self._tokens[who] = token
        return True

    def _accept_own_commit(self) -> None:
        """Our own commit moved the write-ahead log; that alone is no reason to look at everything anew."""
        try:
            wal = os.lstat(self._wal)
        except FileNotFoundError:
            return
        before = self._tokens["writer"]
        for who, token in self._tokens.items():
            if token == before and len(token) == 8:
                self._tokens[who] = (*token[:6], wal.st_ctime_ns, wal.st_size)

    def _thaw(self) -> None:
        """A file opened as unchanging has changed: open it again, as one that others write to."""
        self._reader.close()
        self._is_frozen = False
        self._wal_identity = None
        self._reader = self._connect(writable=False)

    def _replaced(self, what: str) -> LogError:
        return LogError(f"{self.place} {what} while it was open; stop and run 'wtree doctor'", reason="store_replaced")

    @contextmanager
    def read(self) -> Iterator[SqliteSnapshot]:
        """Open a read transaction after checking that the file is still the same one."""
        with self._read_lock, translated(self.place):
            moved = self._check_place("reader")
            if moved and self._is_frozen:
                self._thaw()
            reader = self._reader
            if moved:
                reader.execute("PRAGMA shrink_memory")
            try:
                begin(reader, "BEGIN")
                snapshot = SqliteSnapshot(reader)
                if moved:
                    schema.verify_schema(reader)
                yield snapshot
            finally:
                if reader.in_transaction:
                    reader.execute("ROLLBACK")

    @contextmanager
    def write(self) -> Iterator[SqliteSnapshot]:
        """Open a write transaction; commit with full sync at the end of the block."""
        if self.read_only:
            what = "is a backup; use 'wtree restore'" if self.is_backup else "can't be written; check its permissions"
            raise StoreError(f"{self.place} {what}", reason="read_only")
        with self._write_lock, translated(self.place):
            writer = self._open_writer()
            try:
                begin(writer, "BEGIN IMMEDIATE")
                with self._read_lock:
                    moved = self._check_place("writer")
                if moved:
                    writer.execute("PRAGMA shrink_memory")
                cookie = writer.execute("PRAGMA schema_version").fetchall()
                if moved or cookie != self._cookie:
                    schema.verify_schema(writer)
                    self._cookie = cookie
                yield SqliteSnapshot(writer)
                writer.execute("COMMIT")
                with self._read_lock:
                    self._accept_own_commit()
            finally:
                if writer.in_transaction:
                    writer.execute("ROLLBACK")

    def scrub(self) -> bool:
        """Move the write-ahead log into the file and cut it to nothing; False while a reader still needs it."""
        if self.read_only:
            return False
        with self._write_lock, self._read_lock, translated(self.place):
            writer = self._open_writer()
            writer.set_busy_timeout(SCRUB_TIMEOUT_MS)
            try:
                busy, _, _ = writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()[0]
            except apsw.BusyError:
                busy = 1
            finally:
                writer.set_busy_timeout(int(BUSY_TIMEOUT_S * 1000))
            return not busy

    def backup(self, target: str) -> None:
        """Write a consistent copy, marked as a backup, to a path where nothing is yet."""
        path = resolve(target)
        if os.path.lexists(path):
            raise InputError(f"{path} exists already; a backup never overwrites, choose another path", reason="exists")
        check_folder(path)
        draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}.new")
        with translated(str(path)):
            try:
                os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
                copy = apsw.Connection(str(draft))
                with self._read_lock, copy.backup("main", self._reader, "main") as job:
                    job.step()
                copy.execute("PRAGMA journal_mode = DELETE")
                copy.execute(f"PRAGMA application_id = {schema.BACKUP_ID}")
                copy.close()
                publish(draft, path)
            finally:
                for suffix in ("", "-wal", "-shm", "-journal"):
                    Path(f"{draft}{suffix}").unlink(missing_ok=True)

    def problems(self, *, deep: bool) -> Iterator[str]:
        """Yield what is wrong with schema, pages, indexes and file modes."""
        with self._read_lock, translated(self.place):
            yield from schema.differences(self._reader)
            if deep:
                rows = self._reader.execute("PRAGMA integrity_check(20)").fetchall()
                yield from (str(row[0]) for row in rows if row[0] != "ok")
            for suffix in ("", "-wal", "-shm"):
                try:
                    mode = stat.S_IMODE(os.stat(f"{self.path}{suffix}").st_mode)
                except FileNotFoundError:
                    continue
                if mode & 0o077:
                    yield f"{self.path}{suffix} can be read by others (mode {mode:04o}); run chmod 600"

    def rebuild(self) -> None:
        """Drop what is not ours and build the indexes anew from the rows."""
        with self._write_lock, self._read_lock, translated(self.place):
            writer = self._open_writer()
            with writer:
                schema.drop_planted(writer)
                for name, (kind, sql) in schema.OBJECTS.items():
                    if kind == "index":
                        writer.execute(f"DROP INDEX IF EXISTS {name}")
                        writer.execute(sql)

    def close(self) -> None:
        """Cut the write-ahead log if nobody needs it, and close both connections."""
        if os.getpid() != self._pid:
            return
        with self._write_lock, self._read_lock:
            if self._writer is not None:
                with suppress(Error):
                    self.scrub()
                self._writer.close()
                self._writer = None
            self._reader.close()
