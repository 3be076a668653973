"""agno: user memories in ``SqliteDb``, written and read by the database's own calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from witnesstree_conformance.protocol import Entry, Item, Place
from witnesstree_conformance.sql_raw import Layout, SqliteRaw
from witnesstree_conformance.subjects.sqlite_file import SqliteFile


class AgnoRaw(SqliteRaw):
    """Rows of ``agno_memories``; the words are a JSON string."""

    layout = Layout(
        table="agno_memories",
        key="memory_id",
        order="created_at, rowid",
        owner="user_id",
        words=("memory",),
        content=("memory", "topics"),
        sort="created_at",
        time="updated_at",
        author=("agent_id", "another-agent"),
    )


class SqliteMemory(SqliteFile):
    """User memories of agno, without a model."""

    title = "agno, user memories in SqliteDb"
    config = "defaults; memories are written by the application"
    package, module, file = "agno", "agno.db.sqlite", "agno.db"
    raw_access = AgnoRaw

    def open(self, place: Place) -> None:
        """Open the database."""
        from agno.db.sqlite import SqliteDb

        self._database = SqliteDb(db_file=str(self.database(place)))

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    def remember(self, entry: Entry) -> str:
        """Upsert one memory; a topic says that it comes from a document, since memories have no author."""
        topics = ["document"] if entry.channel == "external" else ["user"]
        return str(self._upsert(memory=entry.text, user_id=entry.owner, topics=topics, created_at=entry.at).memory_id)

    def recall(self, owner: str) -> Sequence[Item]:
        """Return the owner's memories, oldest first."""
        found = self._database.get_user_memories(user_id=owner, sort_by="created_at", sort_order="asc")
        return [_item(memory) for memory in found]

    def get(self, id: str, owner: str) -> Item | None:
        """Return one memory, asked for by its owner."""
        found = self._database.get_user_memory(memory_id=id, user_id=owner)
        return None if found is None else _item(found)

    def update(self, id: str, owner: str, text: str) -> None:
        """Upsert a memory under the same id."""
        self._upsert(memory=text, user_id=owner, memory_id=id, topics=["user"])

    def erase(self, id: str, owner: str) -> None:
        """Delete one memory."""
        self._database.delete_user_memory(memory_id=id, user_id=owner)

    def recall_anyone(self, query: str) -> Sequence[Item]:
        """Return memories without naming a user."""
        return [_item(memory) for memory in self._database.get_user_memories()]

    def _upsert(self, **fields: Any) -> Any:
        from agno.db.schemas import UserMemory

        return self._database.upsert_user_memory(UserMemory(**fields))


def _item(memory: Any) -> Item:
    """Return every field of a memory, with its words as ``text``."""
    return {**memory.to_dict(), "text": memory.memory}
