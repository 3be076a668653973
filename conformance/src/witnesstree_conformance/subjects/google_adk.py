"""Google ADK: ``DatabaseSessionService`` on a SQLite file, one session per owner. Events are JSON in one table."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any

from witnesstree_conformance.protocol import Entry, Item, Place
from witnesstree_conformance.sql_raw import Layout, Row, SqliteRaw
from witnesstree_conformance.subjects.sqlite_file import SqliteFile

APP = "conformance"


class GoogleAdkRaw(SqliteRaw):
    """Rows of ``events``; words, author, id and time are inside ``event_data``, id and time also beside it."""

    layout = Layout(
        table="events",
        key="id",
        order="timestamp, id",
        owner="user_id,session_id",
        words=("event_data",),
        sort="timestamp",
        time="timestamp",
        author=("event_data/author", "another-agent"),
    )

    def as_newest(self, row: Row) -> Row:
        """Return a copy that sorts last; its data says the same id as the row."""
        fresh = super().as_newest(row)
        return fresh | self.with_field(fresh, "event_data/id", fresh["id"])


class DatabaseSession(SqliteFile):
    """The session service of ADK with a database, as its documentation shows it."""

    title = "Google ADK, DatabaseSessionService"
    config = "SQLite file"
    package, module, file = "google-adk", "google.adk.sessions", "adk.db"
    raw_access = GoogleAdkRaw

    def open(self, place: Place) -> None:
        """Open the service, and make its tables."""
        from google.adk.sessions import DatabaseSessionService

        self._loop = asyncio.new_event_loop()
        self._service = DatabaseSessionService(f"sqlite+aiosqlite:///{self.database(place)}")
        self._sessions: dict[str, Any] = {}
        self._do(self._service.prepare_tables())

    def close(self) -> None:
        """Close the service, and the loop."""
        self._do(self._service.close())
        self._loop.close()

    def remember(self, entry: Entry) -> str:
        """Append one event: the user's words, or what a tool read in a document."""
        from google.adk.events import Event
        from google.genai import types

        part, author = types.Part(text=entry.text), "user"
        if entry.channel == "external":
            part = types.Part.from_function_response(name="read_document", response={"output": entry.text})
            author = "document-reader"
        event = Event(
            author=author,
            content=types.Content(role="user", parts=[part]),
            timestamp=float(entry.at),
            custom_metadata=dict(entry.claims) or None,
        )
        return str(self._do(self._service.append_event(self._session(entry.owner), event)).id)

    def recall(self, owner: str) -> Sequence[Item]:
        """Return the events of the owner's session."""
        session = self._find(owner)
        return [] if session is None else [_item(event) for event in session.events]

    def _find(self, owner: str) -> Any:
        return self._do(self._service.get_session(app_name=APP, user_id=owner, session_id=owner))

    def _session(self, owner: str) -> Any:
        """Return the owner's session, which appending keeps up to date; make it if there is none."""
        if owner not in self._sessions:
            found = self._find(owner)
            if found is None:
                found = self._do(self._service.create_session(app_name=APP, user_id=owner, session_id=owner))
            self._sessions[owner] = found
        return self._sessions[owner]

    def _do(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self._loop.run_until_complete(work)


def _item(event: Any) -> Item:
    """Return every field of an event, with its words as ``text``."""
    part = event.content.parts[0]
    text = part.text if part.text is not None else part.function_response.response.get("output")
    return {**event.model_dump(mode="json", exclude_none=True), "text": text}
