"""What a place holds, field by field, read without the tool: the proof that an edit landed, and where."""

from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

from witnesstree_conformance.protocol import Place

SQLITE_MAGIC = b"SQLite format 3\x00"
SIDECARS = ("-wal", "-shm", "-journal")


def sqlite_files(folder: Path) -> list[Path]:
    """Return every SQLite database under a folder."""
    found = []
    for path in sorted(folder.rglob("*")) if folder.exists() else []:
        if path.is_file() and not path.is_symlink():
            with path.open("rb") as file:
                if file.read(16) == SQLITE_MAGIC:
                    found.append(path)
    return found


def dump_files(place: Place) -> dict[str, str]:
    """Return digests of all rows and files in the zones an attacker may reach; databases are read from copies."""
    dump: dict[str, str] = {}
    for zone in (place.store, place.state, place.keys):
        databases = sqlite_files(zone)
        shadows = {Path(f"{path}{suffix}") for path in databases for suffix in SIDECARS}
        for path in sorted(zone.rglob("*")) if zone.exists() else []:
            name = str(path.relative_to(place.root))
            if path in databases:
                dump |= {f"{name}:{row}": digest for row, digest in _rows(path).items()}
            elif path.is_symlink():
                dump[name] = f"-> {os.readlink(path)}"
            elif path.is_file():
                dump[name] = _digest(path.read_bytes())
                if path in shadows and path.stat().st_size == 0:
                    del dump[name]
    return dump


def changes(before: dict[str, str], after: dict[str, str]) -> list[str]:
    """Return what differs between two dumps, one line each."""
    lines = [f"{name} added" for name in after.keys() - before.keys()]
    lines += [f"{name} removed" for name in before.keys() - after.keys()]
    lines += [f"{name} changed" for name in before.keys() & after.keys() if before[name] != after[name]]
    return sorted(lines)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def _rows(path: Path) -> dict[str, str]:
    """Return table[rowid].column → digest of every value, and the schema. The file itself is not opened."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy.db"
        for suffix in ("", *SIDECARS):
            if os.path.exists(f"{path}{suffix}"):
                shutil.copy2(f"{path}{suffix}", f"{copy}{suffix}")
        rows: dict[str, str] = {}
        try:
            with closing(sqlite3.connect(copy)) as connection:
                connection.text_factory = bytes
                for kind, name, sql in connection.execute("SELECT type, name, sql FROM sqlite_schema").fetchall():
                    table = name.decode("utf-8", "replace")
                    rows[f"schema.{kind.decode()}.{table}"] = _digest(sql or b"")
                    if kind == b"table" and not (sql or b"").lstrip().upper().startswith(b"CREATE VIRTUAL"):
                        rows |= _table(connection, table)
        except sqlite3.Error as error:
            rows["unreadable"] = _digest(str(error).encode() + path.read_bytes())
        return rows


def _table(connection: sqlite3.Connection, table: str) -> dict[str, str]:
    quoted = table.replace('"', '""')
    try:
        cursor = connection.execute(f'SELECT rowid AS "_rowid", * FROM "{quoted}"')
    except sqlite3.Error:
        cursor = connection.execute(f'SELECT * FROM "{quoted}"')
    names = [column[0] for column in cursor.description]
    rows: dict[str, str] = {}
    for number, row in enumerate(cursor):
        key = row[0] if names[0] == "_rowid" else number
        rows |= {f"{table}[{key}].{name}": _digest(repr(value).encode()) for name, value in zip(names, row, strict=True)}
    return rows
