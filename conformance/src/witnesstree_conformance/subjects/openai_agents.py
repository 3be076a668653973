"""OpenAI Agents SDK: ``SQLiteSession``, one session per owner. Messages are JSON in one table."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from witnesstree_conformance.protocol import Entry, Item, Place
from witnesstree_conformance.sql_raw import Layout, SqliteRaw
from witnesstree_conformance.subjects.sqlite_file import SqliteFile


class OpenaiAgentsRaw(SqliteRaw):
    """Rows of ``agent_messages``; the words are inside ``message_data``."""

    layout = Layout(
        table="agent_messages",
        key="id",
        order="id",
        owner="session_id",
        words=("message_data",),
        time="created_at",
        author=("message_data/role", "system"),
    )


class SqliteSession(SqliteFile):
    """The session store of the SDK, as its documentation shows it."""

    title = "OpenAI Agents SDK, SQLiteSession"
    config = "defaults"
    package, module, file = "openai-agents", "agents", "sessions.db"
    journals = ("-wal", "-shm")
    raw_access = OpenaiAgentsRaw

    def open(self, place: Place) -> None:
        """Remember where the file is; a session opens it."""
        from agents import SQLiteSession

        self._file = self.database(place)
        self._sessions: dict[str, Any] = {}
        self._make = SQLiteSession
        self._session("nobody")

    def close(self) -> None:
        """Close every session."""
        for session in self._sessions.values():
            session.close()

    def remember(self, entry: Entry) -> str:
        """Add one item: a turn of the user, or the output of a tool. What kind of item it is, the application says."""
        claims = {name: value for name, value in entry.claims.items() if name not in {"role", "type"}}
        item = {**claims, "role": "user", "content": entry.text}
        if entry.channel == "external":
            item = {**claims, "type": "function_call_output", "call_id": "read-document", "output": entry.text}
        session = self._session(entry.owner)
        asyncio.run(session.add_items([item]))
        return str(len(self.recall(entry.owner)))

    def recall(self, owner: str) -> Sequence[Item]:
        """Return the items of the owner's session."""
        return [_item(item) for item in asyncio.run(self._session(owner).get_items())]

    def _session(self, owner: str) -> Any:
        if owner not in self._sessions:
            self._sessions[owner] = self._make(owner, self._file)
        return self._sessions[owner]


def _item(item: Any) -> Item:
    """Return every field of an item, with its words as ``text``."""
    return {**item, "text": item.get("content") or item.get("output")}
