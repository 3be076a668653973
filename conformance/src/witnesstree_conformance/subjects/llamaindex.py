"""LlamaIndex: ``Memory`` with its SQL chat store in a SQLite file; one session per owner."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any

from witnesstree_conformance.protocol import Entry, Item, Place
from witnesstree_conformance.sql_raw import Layout, SqliteRaw
from witnesstree_conformance.subjects.sqlite_file import SqliteFile


class LlamaIndexRaw(SqliteRaw):
    """Rows of ``llama_index_memory``; the words are inside ``data``."""

    layout = Layout(
        table="llama_index_memory",
        key="id",
        order="timestamp, id",
        owner="key",
        words=("data",),
        sort="timestamp",
        time="timestamp",
        author=("data/role", "system"),
        status=("status", "archived"),
    )


class SqlMemory(SqliteFile):
    """``Memory.from_defaults`` with a database, as its documentation shows it."""

    title = "LlamaIndex, Memory in SQLite"
    config = "defaults, no memory blocks"
    package, module, file = "llama-index-core", "llama_index.core.memory", "memory.db"
    raw_access = LlamaIndexRaw

    def open(self, place: Place) -> None:
        """Make an event loop; a session opens the file."""
        self._loop = asyncio.new_event_loop()
        self._uri = f"sqlite+aiosqlite:///{self.database(place)}"
        self._sessions: dict[str, Any] = {}
        self.recall("nobody")

    def close(self) -> None:
        """Dispose of the engines, and close the loop."""
        for session in self._sessions.values():
            engine = session.sql_store._async_engine
            if engine is not None:
                self._do(engine.dispose())
        self._loop.close()

    def remember(self, entry: Entry) -> str:
        """Put one message: the user's, or a tool's if it comes from a document."""
        from llama_index.core.llms import ChatMessage, MessageRole

        role = MessageRole.TOOL if entry.channel == "external" else MessageRole.USER
        session = self._session(entry.owner)
        self._do(session.aput(ChatMessage(role=role, content=entry.text, additional_kwargs=dict(entry.claims))))
        return str(len(self.recall(entry.owner)))

    def recall(self, owner: str) -> Sequence[Item]:
        """Return the active messages of the owner's session."""
        return [_item(message) for message in self._do(self._session(owner).aget())]

    def _session(self, owner: str) -> Any:
        from llama_index.core.memory import Memory

        if owner not in self._sessions:
            self._sessions[owner] = Memory.from_defaults(session_id=owner, async_database_uri=self._uri)
        return self._sessions[owner]

    def _do(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self._loop.run_until_complete(work)


def _item(message: Any) -> Item:
    """Return every field of a message, with its words as ``text``."""
    return {**message.model_dump(mode="json"), "text": message.content}
