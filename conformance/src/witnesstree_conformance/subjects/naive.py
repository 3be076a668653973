"""The naive baseline: one SQLite table, no protection at all. It shows what every attack does where nothing hinders it."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from witnesstree_conformance.protocol import Entry, Item, Place
from witnesstree_conformance.sql_raw import Layout, SqliteRaw, rows_of
from witnesstree_conformance.subjects.sqlite_file import SqliteFile


class NaiveRaw(SqliteRaw):
    """One table."""

    layout = Layout(
        table="memory",
        key="id",
        order="id",
        owner="owner",
        words=("text",),
        content=("text", "at"),
        time="at",
        author=("role", "assistant"),
        trust=("trust", "high"),
        status=("status", "archived"),
    )


class Naive(SqliteFile):
    """A table, and a search that counts words in common."""

    title = "Naive baseline"
    kind = "baseline"
    config = "one SQLite table"
    file = "memory.db"
    raw_access = NaiveRaw

    def open(self, place: Place) -> None:
        """Open or make the file."""
        self._connection = sqlite3.connect(self.database(place), timeout=10, isolation_level=None)
        self._connection.execute(
            "CREATE TABLE IF NOT EXISTS memory (id INTEGER PRIMARY KEY, owner TEXT, text TEXT, at INTEGER,"
            " role TEXT DEFAULT 'user', trust TEXT DEFAULT 'low', status TEXT DEFAULT 'active')"
        )

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def remember(self, entry: Entry) -> str:
        """Insert a row."""
        done = self._connection.execute(
            "INSERT INTO memory (owner, text, at) VALUES (?, ?, ?)", (entry.owner, entry.text, entry.at)
        )
        return str(done.lastrowid)

    def recall(self, owner: str) -> Sequence[Item]:
        """Return the active rows of an owner."""
        return self._rows("owner = ? AND status = 'active' ORDER BY id", (owner,))

    def search(self, owner: str, query: str, k: int) -> Sequence[Item]:
        """Return the rows with most words of the query."""
        words = set(query.lower().split())
        return sorted(self.recall(owner), key=lambda row: -len(words & set(str(row["text"]).lower().split())))[:k]

    def get(self, id: str, owner: str) -> Item | None:
        """Return a row, whoever asks."""
        return next(iter(self._rows("id = ?", (int(id),))), None)

    def update(self, id: str, owner: str, text: str) -> None:
        """Set the words of a row."""
        self._connection.execute("UPDATE memory SET text = ? WHERE id = ?", (text, int(id)))

    def erase(self, id: str, owner: str) -> None:
        """Delete a row."""
        self._connection.execute("DELETE FROM memory WHERE id = ?", (int(id),))

    def compact(self) -> None:
        """Vacuum the file."""
        self._connection.execute("VACUUM")

    def _rows(self, where: str, values: tuple[object, ...]) -> list[Item]:
        return [*rows_of(self._connection.execute(f"SELECT id, owner, text, at, role, trust FROM memory WHERE {where}", values))]
