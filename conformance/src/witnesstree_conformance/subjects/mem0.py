"""Mem0 with its local Qdrant: points are pickles in SQLite, held in RAM while open; a history database beside them."""

from __future__ import annotations

import base64
import hashlib
import os
import pickle
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from witnesstree_conformance.embedder import DIMENSIONS, embed
from witnesstree_conformance.payload import Payload
from witnesstree_conformance.protocol import Entry, Item, NotApplicable, Place
from witnesstree_conformance.sql_raw import Layout, Row, SqliteRaw
from witnesstree_conformance.subjects.sqlite_file import SqliteFile

COLLECTION, HISTORY = "memories", "history.db"
MANY = 100_000
PICKLE_OF_IDS = 4


class Mem0Raw(SqliteRaw):
    """Rows of ``points``: a pickled point with payload and vector, keyed by its id; the history is another file."""

    layout = Layout(
        table="points",
        key="id",
        order="rowid",
        owner="point/payload/user_id",
        words=("point",),
        time="point/payload/created_at",
        author=("point/payload/source", "another-source"),
        log=("history", "created_at, rowid", "new_memory"),
    )

    def __init__(self, place: Place, tier: str, path: Path) -> None:
        """Open the points, and attach the history."""
        super().__init__(place, tier, path)
        self.connection.execute("ATTACH DATABASE ? AS beside", (str(place.store / HISTORY),))

    def decode(self, column: str, value: Any) -> Any:
        """Return a point as a dictionary."""
        return pickle.loads(value).model_dump()

    def encode(self, column: str, structure: Any, like: Any) -> Any:
        """Pickle a point."""
        from qdrant_client.models import PointStruct

        return pickle.dumps(PointStruct(**structure))

    def structure(self, column: str, value: Any) -> Any:
        """Return what is in a point."""
        return self.decode(column, value) if column == "point" else None

    def refreshed(self, row: Row) -> Row:
        """Compute the hash of the words anew."""
        words = self.field(row, "point/payload/data")
        return row | self.with_field(row, "point/payload/hash", hashlib.md5(words.encode()).hexdigest())

    def as_newest(self, row: Row) -> Row:
        """Return a copy under a fresh id, which the row says twice."""
        fresh = str(uuid.uuid4())
        key = base64.b64encode(pickle.dumps(fresh, protocol=PICKLE_OF_IDS)).decode()
        return row | {"id": key} | self.with_field(row, "point/id", fresh)

    def copy_over(self, source: str, target: str) -> None:
        """Put a point into another's row; it keeps the row's id."""
        self._put(target, self.row(source)["point"], self.field(self.row(target), "point/id"))

    def swap(self, first: str, second: str) -> None:
        """Exchange two points; the rows keep their ids."""
        a, b = self.row(first), self.row(second)
        self._put(first, b["point"], self.field(a, "point/id"))
        self._put(second, a["point"], self.field(b, "point/id"))

    def _put(self, slot: str, point: bytes, id: str) -> None:
        self.update(slot, self.with_field({"point": point}, "point/id", id))

    def change_vector(self, slot: str) -> None:
        """Turn the sign of every number."""
        row = self.row(slot)
        self.update(slot, self.with_field(row, "point/vector", _negated(self.field(row, "point/vector"))))

    def swap_vectors(self, first: str, second: str) -> None:
        """Exchange two vectors."""
        a, b = self.row(first), self.row(second)
        self.update(first, self.with_field(a, "point/vector", self.field(b, "point/vector")))
        self.update(second, self.with_field(b, "point/vector", self.field(a, "point/vector")))

    def _log(self) -> tuple[str, str, str]:
        if self.tier == "A":
            raise NotApplicable("the history is a file beside the store: tier B")
        return super()._log()

    def cut_log_and_rows(self, slots: Sequence[str]) -> None:
        """Delete points, and all history of them."""
        self._log()
        for slot in slots:
            self.delete(self.field(self.row(slot), "point/id"), "history", "memory_id")
        self.remove(slots)

    def plant_code(self, slot: str, canary: Path, *, silent: bool) -> None:
        """Put in a pickle that makes the canary: alone, or inside the payload of a valid point."""
        point: Any = Payload(canary)
        if silent:
            point = pickle.loads(self.row(slot)["point"])
            point.payload["note"] = Payload(canary, "nothing special")
        self.update(slot, {"point": pickle.dumps(point)})


class Mem0(SqliteFile):
    """``Memory`` without a model, as its documentation shows local use; the suite's embedder."""

    title = "Mem0 with local Qdrant"
    config = "infer=False, local Qdrant on disk, the suite's embedder"
    package, module = "mem0ai", "mem0"
    file = f"qdrant/collection/{COLLECTION}/storage.sqlite"
    raw_access = Mem0Raw

    @classmethod
    def load(cls) -> None:
        """Import the package; no model is asked, but it wants a key."""
        os.environ |= {"OPENAI_API_KEY": "none", "MEM0_TELEMETRY": "False"}
        super().load()

    @classmethod
    def sidecars(cls, place: Place) -> list[Path]:
        """Return the journal, and the history."""
        return [*super().sidecars(place), place.store / HISTORY]

    def open(self, place: Place) -> None:
        """Open points and history."""
        from mem0 import Memory
        from mem0.utils.factory import EmbedderFactory

        EmbedderFactory.create = classmethod(lambda cls, *arguments, **named: _Embedder())
        qdrant = {
            "path": str(place.store / "qdrant"),
            "on_disk": True,
            "embedding_model_dims": DIMENSIONS,
            "collection_name": COLLECTION,
        }
        self._memory = Memory.from_config(
            {"vector_store": {"provider": "qdrant", "config": qdrant}, "history_db_path": str(place.store / HISTORY)}
        )

    def close(self) -> None:
        """Let go of the points' folder, and of the history."""
        self._memory.vector_store.client.close()
        self._memory.db.close()

    def remember(self, entry: Entry) -> str:
        """Add words as they are; a source says whether they come from a document."""
        source = "document" if entry.channel == "external" else "user"
        metadata = {**entry.claims, "source": source}
        added = self._memory.add(entry.text, user_id=entry.owner, infer=False, metadata=metadata)
        return str(added["results"][0]["id"])

    def recall(self, owner: str) -> Sequence[Item]:
        """Return all memories of a user."""
        return [_item(found) for found in self._memory.get_all(filters={"user_id": owner}, top_k=MANY)["results"]]

    def search(self, owner: str, query: str, k: int) -> Sequence[Item]:
        """Search a user's memories."""
        return [_item(found) for found in self._memory.search(query, filters={"user_id": owner}, top_k=k)["results"]]

    def get(self, id: str, owner: str) -> Item | None:
        """Return a memory with its history, whoever asks: neither call takes a user."""
        found = self._memory.get(id)
        return None if found is None else {**_item(found), "history": self._memory.history(id)}

    def recall_anyone(self, query: str) -> Sequence[Item]:
        """Ask for all memories without a filter."""
        return [_item(found) for found in self._memory.get_all(top_k=MANY)["results"]]

    def update(self, id: str, owner: str, text: str) -> None:
        """Update a memory, whoever asks."""
        self._memory.update(id, text)

    def erase(self, id: str, owner: str) -> None:
        """Delete a memory, whoever asks."""
        self._memory.delete(id)


class _Embedder:
    """The suite's embedder in the shape that the library asks for."""

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        return embed(text)

    def embed_batch(self, texts: Sequence[str], memory_action: str | None = None) -> list[list[float]]:
        return [embed(text) for text in texts]


def _negated(vector: Any) -> Any:
    if isinstance(vector, dict):
        return {name: _negated(numbers) for name, numbers in vector.items()}
    return [-number for number in vector]


def _item(found: Item) -> Item:
    """Return every field of a memory, with its words as ``text``."""
    return {**found, "text": found["memory"]}
