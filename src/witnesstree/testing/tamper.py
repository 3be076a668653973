"""What an attacker does to a store file who has write access, knows the format, and has no key (integrity.md, tier A).

Used by ``wtree demo`` and by tests. Nothing here goes through the product's own code: the edits are plain SQL and plain bytes, by
connections on which no protection is switched on.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import apsw

SIDECARS = ("-wal", "-shm", "-journal")


@contextmanager
def _edited(path: Path) -> Iterator[apsw.Connection]:
    """Open the file as any SQLite program would, and move the write-ahead log into it at the end."""
    with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)) as connection:
        yield connection


def _row_with(connection: apsw.Connection, words: bytes) -> tuple[int, bytes, bytes, bytes, bytes]:
    """Return (position, owner, content, seal, vector) of the one row whose content holds some bytes."""
    rows = connection.execute("SELECT seq, owner, content, seal, vector FROM memory WHERE instr(content, ?)", (words,)).fetchall()
    if len(rows) != 1:
        raise ValueError(f"{len(rows)} rows hold these bytes, not one")
    seq, owner, content, seal, vector = rows[0]
    return seq, owner, content, seal, vector  # type: ignore[return-value]  # the columns are typed by a STRICT table


def change_row(path: Path, old: bytes, new: bytes) -> int:
    """Replace bytes in the one row that holds them by as many others; return the row's position.

    Raises:
        ValueError: not exactly one row holds them, or the lengths differ.
    """
    if len(old) != len(new):
        raise ValueError("both must have the same length")
    with _edited(path) as connection:
        seq, _, content, _, _ = _row_with(connection, old)
        connection.execute("UPDATE memory SET content = ? WHERE seq = ?", (content.replace(old, new), seq))
    return seq


def delete_row(path: Path, words: bytes) -> int:
    """Delete the one row whose content holds some bytes; return its position.

    Raises:
        ValueError: not exactly one row holds them.
    """
    with _edited(path) as connection:
        seq = _row_with(connection, words)[0]
        connection.execute("DELETE FROM memory WHERE seq = ?", (seq,))
    return seq


def forge_row(path: Path, old: bytes, new: bytes) -> int:
    """Insert a copy of the one row that holds ``old``, with ``new`` in its place, as if it were said last; return its position.

    Raises:
        ValueError: not exactly one row holds ``old``.
    """
    with _edited(path) as connection:
        _, owner, content, seal, vector = _row_with(connection, old)
        end = connection.execute("SELECT max(seq) FROM log").fetchall()[0][0]
        seq = int(end) + 1  # type: ignore[arg-type]  # a whole number by the table's key
        row = (seq, owner, content.replace(old, new), seal, vector)
        connection.execute("INSERT INTO memory (seq, owner, content, seal, vector) VALUES (?, ?, ?, ?, ?)", row)
    return seq


def run_sql(path: Path, *statements: str) -> None:
    """Run any statements on the file, such as one that plants a trigger."""
    with _edited(path) as connection:
        for statement in statements:
            connection.execute(statement)


def copy_store(path: Path, target: Path) -> None:
    """Copy a store's file with its sidecars to another path, byte for byte."""
    for suffix in ("", *SIDECARS):
        Path(f"{target}{suffix}").unlink(missing_ok=True)
        if os.path.exists(f"{path}{suffix}"):
            shutil.copy2(f"{path}{suffix}", f"{target}{suffix}")


def find_bytes(folders: Iterable[Path], wanted: Iterable[bytes]) -> list[Path]:
    """Return every file under some folders that holds one of some byte strings, however often."""
    needles = list(wanted)
    found = []
    for folder in folders:
        for file in sorted(path for path in folder.rglob("*") if path.is_file()):
            data = file.read_bytes()
            if any(needle in data for needle in needles):
                found.append(file)
    return found
