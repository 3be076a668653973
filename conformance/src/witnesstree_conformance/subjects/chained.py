"""A model, no product: a table whose rows are chained by plain hashes, as append-only memory logs often are.

Every read checks the chain. It needs no key, so whoever can write the file can compute it anew; that is what the row shows.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Sequence

from witnesstree_conformance.protocol import Entry, Item, Place, Refusal
from witnesstree_conformance.sql_raw import Layout, RechainingRaw, Row, rows_of
from witnesstree_conformance.subjects.sqlite_file import SqliteFile

COVERED = ("id", "owner", "text", "at", "role")
GENESIS = "0" * 64


def link(previous: str, row: Row) -> str:
    """Return the hash of a row, chained to the one before."""
    return hashlib.sha256("\x1f".join([previous, *(str(row[name]) for name in COVERED)]).encode()).hexdigest()


class ChainedRaw(RechainingRaw):
    """One table; after every edit but a weak one, the chain is computed anew."""

    layout = Layout(
        table="memory",
        key="id",
        order="id",
        owner="owner",
        words=("text",),
        content=("text", "at"),
        time="at",
        author=("role", "assistant"),
    )

    def chain(self) -> None:
        """Number and chain the rows anew."""
        previous = GENESIS
        for number, row in enumerate(self.rows("SELECT * FROM memory ORDER BY id"), 1):
            previous = link(previous, row | {"id": number})
            if (row["id"], row["link"]) != (number, previous):
                self.update(str(row["id"]), {"id": number, "link": previous})


class Chained(SqliteFile):
    """A table with a chain of hashes, checked on every read."""

    title = "Unkeyed hash chain (model)"
    kind = "model"
    config = "SHA-256 over every row and the one before, checked on every read"
    refusals = ("Refusal",)
    file = "memory.db"
    raw_access = ChainedRaw

    def open(self, place: Place) -> None:
        """Open or make the file."""
        self._connection = sqlite3.connect(self.database(place), timeout=10, isolation_level=None)
        self._connection.execute(
            "CREATE TABLE IF NOT EXISTS memory (id INTEGER PRIMARY KEY, owner TEXT, text TEXT, at INTEGER,"
            " role TEXT DEFAULT 'user', link TEXT)"
        )

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def remember(self, entry: Entry) -> str:
        """Append a row, chained to the newest."""
        role = "document" if entry.channel == "external" else "user"
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            rows = self._verified()
            row = {"id": len(rows) + 1, "owner": entry.owner, "text": entry.text, "at": entry.at, "role": role}
            row["link"] = link(str(rows[-1]["link"]) if rows else GENESIS, row)
            self._connection.execute("INSERT INTO memory VALUES (:id, :owner, :text, :at, :role, :link)", row)
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")
        return str(row["id"])

    def recall(self, owner: str) -> Sequence[Item]:
        """Return an owner's rows."""
        return [row for row in self._verified() if row["owner"] == owner]

    def get(self, id: str, owner: str) -> Item | None:
        """Return a row of the owner."""
        return next((row for row in self.recall(owner) if str(row["id"]) == id), None)

    def _verified(self) -> list[Row]:
        """Return all rows.

        Raises:
            Refusal: a row does not fit the one before.
        """
        rows = rows_of(self._connection.execute("SELECT * FROM memory ORDER BY id"))
        previous = GENESIS
        for number, row in enumerate(rows, 1):
            previous = link(previous, row)
            if row["link"] != previous or row["id"] != number:
                raise Refusal(f"row {row['id']} does not fit the one before")
        return rows
