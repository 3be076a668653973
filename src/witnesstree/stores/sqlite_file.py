"""A store's file as such: what may lie at its path, how errors of the driver read, how a finished file gets its name."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from witnesstree.errors import (
    ConflictError,
    Error,
    IndexTamperError,
    InputError,
    IntegrityError,
    LogError,
    StoreError,
    UnsupportedError,
)
from witnesstree.stores import sqlite_schema as schema
from witnesstree.types.limits import BUSY_TIMEOUT_S
from witnesstree.types.paths import expand


@contextmanager
def translated(place: str) -> Iterator[None]:
    """Turn driver errors into ours, once for the whole backend; no driver text hides the cause."""
    try:
        yield
    except Error:
        raise
    except apsw.BusyError as error:
        raise StoreError(
            f"{place} is held by another writer for longer than {BUSY_TIMEOUT_S:g} s; try again", reason="busy"
        ) from error
    except apsw.FullError as error:
        raise StoreError(f"{place}: the disk is full; nothing was written, free some space", reason="full") from error
    except apsw.ReadOnlyError as error:
        raise StoreError(f"{place} can't be written; check its permissions", reason="read_only") from error
    except (
        apsw.CorruptError,
        apsw.NotADBError,
        apsw.SchemaChangeError,
        apsw.MismatchError,
        UnicodeDecodeError,
    ) as error:
        raise IntegrityError(
            f"{place} is damaged ({type(error).__name__}); restore a backup",
            reason="file_damaged",
        ) from error
    except (apsw.SQLError, apsw.ConstraintError, apsw.RangeError) as error:
        raise IntegrityError(
            f"{place} does not have the structure this program gave it; run 'wtree audit'", reason="schema_altered"
        ) from error
    except (apsw.Error, OSError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise StoreError(f"{place} can't be read or written: {why}", reason="store_failed") from error


def check_folder(path: Path) -> None:
    """Refuse a path whose folder is not there.

    Raises:
        InputError: naming the folder.
    """
    if not path.parent.is_dir():
        raise InputError(f"the folder {path.parent} does not exist; make it first", reason="no_folder")


def check_file(path: Path) -> int:
    """Return the application id of an existing file after looking at its first bytes only.

    Raises:
        InputError: no SQLite file, or not one of ours; it is left untouched.
        UnsupportedError: made by a newer version of this program.
        LogError: a link, or a planted rollback journal.
    """
    refuse_planted(path)
    if path.exists() and not path.is_file():
        raise InputError(f"{path} is a folder or no regular file; name a file", reason="foreign_file")
    with translated(str(path)), path.open("rb") as file:
        header = file.read(100)
    if len(header) < 100 or not header.startswith(schema.MAGIC):
        what = "an empty file" if not header else "not a Witnesstree store"
        raise InputError(f"{path} is {what}; it was left untouched, choose another path", reason="foreign_file")
    found = int.from_bytes(header[68:72], "big")
    if found not in (schema.LIVE_ID, schema.BACKUP_ID):
        raise InputError(f"{path} belongs to another program; it was left untouched", reason="foreign_file")
    if found == schema.LIVE_ID and header[18:20] != b"\x02\x02":
        raise IndexTamperError(f"the journal mode of {path} was changed; set it back to WAL", reason="journal_mode")
    if int.from_bytes(header[60:64], "big") > schema.SCHEMA_VERSION:
        raise UnsupportedError(f"{path} was made by a newer version; it was left untouched, upgrade this program")
    return found


def refuse_planted(path: Path) -> None:
    """Refuse links, pipes and folders in the place of the file or its journals (edit-I7).

    Raises:
        LogError: naming what lies there.
    """
    for suffix in ("", "-wal", "-shm"):
        name = f"{path}{suffix}"
        if os.path.islink(name):
            raise LogError(f"{name} is a symbolic link; a store is never opened through one", reason="symlink")
        if suffix and os.path.lexists(name) and not os.path.isfile(name):
            raise LogError(f"{name} is no regular file; look at it, then remove it", reason="planted_journal")
    if os.path.lexists(f"{path}-journal"):
        raise LogError(f"{path}-journal does not belong there; look at it, then remove it", reason="planted_journal")


def resolve(path: str) -> Path:
    """Return the absolute path with every folder resolved, but not the file itself."""
    given = Path(expand(path))
    return Path(os.path.realpath(given.parent)) / given.name


def has_bytes(path: str) -> bool:
    """Return whether a file is there and not empty."""
    try:
        return os.stat(path).st_size > 0
    except FileNotFoundError:
        return False


def publish(draft: Path, target: Path) -> None:
    """Give a finished file its name, refusing to overwrite, and make name and bytes durable."""
    descriptor = os.open(draft, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)
    try:
        os.link(draft, target)
    except FileExistsError:
        raise ConflictError(f"{target} exists already", reason="exists") from None
    folder = os.open(target.parent, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)
