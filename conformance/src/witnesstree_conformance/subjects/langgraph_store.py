"""LangGraph: ``SqliteStore``, long-term memories as JSON under a namespace per owner."""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Sequence
from typing import Any

from witnesstree_conformance.protocol import Entry, Item, NotApplicable, Place
from witnesstree_conformance.sql_raw import Layout, SqliteRaw
from witnesstree_conformance.subjects.sqlite_file import SqliteFile

MANY = 100_000
"""More entries than any owner has: the search stops at ten unless told."""


class StoreRaw(SqliteRaw):
    """Rows of ``store``; the words are inside ``value``."""

    layout = Layout(
        table="store",
        key="key",
        order="updated_at, rowid",
        owner="prefix",
        words=("value",),
        sort="updated_at",
        time="created_at",
        author=("value/source", "another-source"),
        status=("expires_at", "2001-01-01 00:00:00"),
    )

    def owned_by(self, owner: str) -> str:
        """Return the namespace as the column holds it."""
        return ".".join(_namespace(owner))


class SqliteStore(SqliteFile):
    """The store in SQLite, as its documentation shows it."""

    title = "LangGraph SqliteStore"
    config = "no index: this needs a sqlite3 module that loads extensions"
    package, module, file = "langgraph-checkpoint-sqlite", "langgraph.store.sqlite", "store.db"
    journals = ("-wal", "-shm")
    raw_access = StoreRaw

    def open(self, place: Place) -> None:
        """Open the file and make its tables."""
        from langgraph.store.sqlite import SqliteStore

        self._connection = sqlite3.connect(self.database(place), check_same_thread=False, isolation_level=None, timeout=20)
        self._store = SqliteStore(self._connection)
        self._store.setup()

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def remember(self, entry: Entry) -> str:
        """Put one memory under a fresh key; its source says whether it comes from a document."""
        key = uuid.uuid4().hex
        source = "document" if entry.channel == "external" else "user"
        self._store.put(_namespace(entry.owner), key, {**entry.claims, "text": entry.text, "source": source})
        return key

    def recall(self, owner: str) -> Sequence[Item]:
        """Return everything in the owner's namespace."""
        return [_item(found) for found in self._store.search(_namespace(owner), limit=MANY)]

    def get(self, id: str, owner: str) -> Item | None:
        """Return one memory of the namespace."""
        found = self._store.get(_namespace(owner), id)
        return None if found is None else _item(found)

    def search(self, owner: str, query: str, k: int) -> Sequence[Item]:
        """Say that there is no index."""
        raise NotApplicable("a search by meaning needs an index, and this Python's sqlite3 loads no extensions")

    def recall_anyone(self, query: str) -> Sequence[Item]:
        """Search without a namespace."""
        return [_item(found) for found in self._store.search((), limit=MANY)]

    def update(self, id: str, owner: str, text: str) -> None:
        """Put other words under the same key of the namespace."""
        self._store.put(_namespace(owner), id, {"text": text, "source": "user"})

    def erase(self, id: str, owner: str) -> None:
        """Delete a key of the namespace."""
        self._store.delete(_namespace(owner), id)

    def compact(self) -> None:
        """Sweep what has expired."""
        self._store.sweep_ttl()


def _namespace(owner: str) -> tuple[str, ...]:
    return (owner, "memories")


def _item(found: Any) -> Item:
    """Return every field of an item, with its words as ``text``."""
    return {**found.dict(), "text": found.value.get("text")}
