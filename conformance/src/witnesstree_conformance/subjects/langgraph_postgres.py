"""LangGraph: ``PostgresSaver``. Short values are JSON in the checkpoint's row, the others msgpack in a table of blobs."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from witnesstree_conformance.protocol import Entry, Place
from witnesstree_conformance.sql_raw import Layout, Part, Row
from witnesstree_conformance.subjects.langgraph import Checkpoints, call_of, role_of
from witnesstree_conformance.subjects.postgres import PostgresRaw, PostgresStore, database_of, uri_of

NOTHING = "nothing"


class SaverRaw(PostgresRaw):
    """Rows of ``checkpoints`` with their blobs and writes."""

    layout = Layout(
        table="checkpoints",
        key="checkpoint_id",
        order="checkpoint_id",
        owner="thread_id,metadata/user_id",
        words=("checkpoint",),
        time="checkpoint/ts",
        author=("checkpoint/channel_values/role", "system"),
        parts=(
            Part("checkpoint_blobs", "version", words=("blob",), owner="thread_id"),
            Part("checkpoint_writes", "checkpoint_id", words=("blob",), owner="thread_id"),
        ),
    )

    def as_newest(self, row: Row) -> Row:
        """Return a copy that sorts last, with the newest as its parent; the checkpoint says the same id."""
        fresh = super().as_newest(row) | {"parent_checkpoint_id": self._newest()}
        fresh |= self.with_field(fresh, "checkpoint/id", fresh["checkpoint_id"])
        return fresh | self.with_field(fresh, "checkpoint/channel_versions/about", fresh["checkpoint_id"])

    def older_format(self, slot: str, text: str) -> None:
        """Put a blob in as JSON, which the library wrote before msgpack and still reads."""
        blob = self.encode("blob", {"session": text, NOTHING: None}, b"{}")
        self.update(slot, {"type": "json", "blob": blob}, "checkpoint_blobs", "version")

    def plant_code(self, slot: str, canary: Path, *, silent: bool) -> None:
        """Put a call into a blob: in its place, or where its answer changes nothing."""
        import ormsgpack

        blob = next(row["blob"] for row in self.rows("SELECT * FROM checkpoint_blobs WHERE version = ?", (slot,)))
        about = ormsgpack.unpackb(blob) | {NOTHING: call_of(canary)} if silent else call_of(canary)
        self.update(slot, {"type": "msgpack", "blob": ormsgpack.packb(about)}, "checkpoint_blobs", "version")

    def spoil(self, slot: str) -> None:
        """Put a byte into a blob that msgpack never uses."""
        self.update(slot, {"blob": b"\xc1\xff"}, "checkpoint_blobs", "version")


class PostgresSaver(Checkpoints, PostgresStore):
    """The checkpointer in PostgreSQL, as its documentation shows it."""

    title = "LangGraph PostgresSaver"
    config = "defaults, PostgreSQL of its own"

    @classmethod
    def version(cls) -> str:
        """Return the package's version."""
        return metadata.version("langgraph-checkpoint-postgres")

    @classmethod
    def load(cls) -> None:
        """Import the package."""
        import langgraph.checkpoint.postgres  # noqa: F401

    def open(self, place: Place) -> None:
        """Connect, and make the tables."""
        from langgraph.checkpoint.postgres import PostgresSaver

        self._connected = PostgresSaver.from_conn_string(uri_of(place, database_of(place)))
        self._saver = self._connected.__enter__()
        self._saver.setup()

    def close(self) -> None:
        """Disconnect."""
        self._connected.__exit__(None, None, None)

    def values(self, entry: Entry) -> Mapping[str, Any]:
        """Return words and role, which lie in the checkpoint's row, and a structure, which becomes a blob."""
        return {"text": entry.text, "role": role_of(entry), "about": {"session": entry.session, NOTHING: None}}

    def words(self, values: Mapping[str, Any]) -> Any:
        """Return the words."""
        return values.get("text")

    def raw(self, place: Place, tier: str) -> SaverRaw:
        """Return the attacker's access."""
        return SaverRaw(place, tier)
