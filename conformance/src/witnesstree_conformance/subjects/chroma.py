"""Chroma: ``PersistentClient``, one collection, the owner in the metadata. Rows, words, a queue and an index of vectors."""

from __future__ import annotations

import os
import sqlite3
import uuid
from collections.abc import Sequence
from typing import Any

from witnesstree_conformance.embedder import embed
from witnesstree_conformance.protocol import Entry, Item, Place
from witnesstree_conformance.sql_raw import Layout, SqliteRaw, later, replace_in
from witnesstree_conformance.subjects.sqlite_file import SqliteFile

DOCUMENT = "chroma:document"
EVERY_FIELD = ["documents", "metadatas"]


class ChromaRaw(SqliteRaw):
    """An entry is a row of ``embeddings``, one of ``embedding_metadata`` per field, one of the word index, one of the queue."""

    layout = Layout(table="embedding_metadata", key="id", order="id", owner="owner", words=("string_value",))

    def entries(self, owner: str) -> list[str]:
        """Return the numbers of an owner's rows."""
        found = self.rows("SELECT id FROM embedding_metadata WHERE key = 'owner' AND string_value = ? ORDER BY id", (owner,))
        return [str(row["id"]) for row in found]

    def _value(self, slot: str, key: str, column: str = "string_value") -> Any:
        return self.rows(f"SELECT {column} FROM embedding_metadata WHERE id = ? AND key = ?", (int(slot), key))[0][column]

    def _set_value(self, slot: str, key: str, value: Any, column: str = "string_value") -> None:
        old = self._value(slot, key, column)
        self.run(f"UPDATE embedding_metadata SET {column} = ? WHERE id = ? AND key = ?", (value, int(slot), key))
        queued = self._queued(slot)
        metadata = self.decode("metadata", queued["metadata"])
        if metadata.get(key) == old:
            changed = self.encode("metadata", metadata | {key: value}, queued["metadata"])
            self.run("UPDATE embeddings_queue SET metadata = ? WHERE id = ?", (changed, queued["id"]))

    def _set_words(self, slot: str, words: str) -> None:
        self._set_value(slot, DOCUMENT, words)
        self.run("UPDATE embedding_fulltext_search SET string_value = ? WHERE rowid = ?", (words, int(slot)))

    def _queued(self, slot: str) -> dict[str, Any]:
        find = "SELECT * FROM embeddings_queue WHERE id = (SELECT embedding_id FROM embeddings WHERE id = ?)"
        return self.rows(find, (int(slot),))[0]

    def change_text(self, slot: str, old: str, new: str, *, weak: bool = False) -> None:
        """Replace words in the metadata, the word index and the queue; weak: in the metadata alone."""
        words = replace_in(self._value(slot, DOCUMENT), old, new)
        if weak:
            self.run("UPDATE embedding_metadata SET string_value = ? WHERE id = ? AND key = ?", (words, int(slot), DOCUMENT))
        else:
            self._set_words(slot, words)

    def remove(self, slots: Sequence[str], *, weak: bool = False) -> None:
        """Delete an entry everywhere but in the file of the vector index; weak: leave queue and words."""
        for slot in slots:
            queued = self._queued(slot)
            self.run("DELETE FROM embeddings WHERE id = ?", (int(slot),))
            self.run("DELETE FROM embedding_metadata WHERE id = ?", (int(slot),))
            if not weak:
                self.run("DELETE FROM embedding_fulltext_search WHERE rowid = ?", (int(slot),))
                self.run("DELETE FROM embeddings_queue WHERE seq_id = ?", (queued["seq_id"],))

    def swap(self, first: str, second: str) -> None:
        """Exchange the words of two entries."""
        words = self._value(first, DOCUMENT)
        self._set_words(first, self._value(second, DOCUMENT))
        self._set_words(second, words)

    def copy_over(self, source: str, target: str) -> None:
        """Put the words of one entry into another."""
        self._set_words(target, self._value(source, DOCUMENT))

    def _enqueue(self, like: str, old: str = "", new: str = "") -> None:
        """Add a copy to the queue; the tool takes it in when it opens."""
        queued = self._queued(like)
        metadata = replace_in(queued["metadata"], old, new) if old else queued["metadata"]
        newest = self.rows("SELECT max(seq_id) AS newest FROM embeddings_queue")[0]["newest"]
        self.insert(queued | {"seq_id": newest + 1, "id": f"ffff{queued['id'][4:]}", "metadata": metadata}, "embeddings_queue")

    def forge(self, like: str, old: str, new: str, *, weak: bool = False) -> None:
        """Add to the queue; weak: add rows, which no vector belongs to."""
        if not weak:
            self._enqueue(like, old, new)
            return
        row = self.rows("SELECT * FROM embeddings WHERE id = ?", (int(like),))[0]
        fresh = self.rows("SELECT max(id) AS newest FROM embeddings")[0]["newest"] + 1
        self.insert(row | {"id": fresh, "embedding_id": f"ffff{row['embedding_id'][4:]}"}, "embeddings")
        for field in self.rows("SELECT * FROM embedding_metadata WHERE id = ?", (int(like),)):
            words = field["string_value"]
            changed = replace_in(words, old, new) if field["key"] == DOCUMENT else words
            self.insert(field | {"id": fresh, "string_value": changed}, "embedding_metadata")

    def duplicate(self, slot: str) -> None:
        """Add a copy to the queue."""
        self._enqueue(slot)

    def reinsert(self, slot: str) -> None:
        """Delete the row of ``embeddings`` and insert the same."""
        row = self.rows("SELECT * FROM embeddings WHERE id = ?", (int(slot),))[0]
        self.run("DELETE FROM embeddings WHERE id = ?", (int(slot),))
        self.insert(row, "embeddings")

    def move(self, slot: str, owner: str) -> None:
        """Set the owner."""
        self._set_value(slot, "owner", owner)

    def set_time(self, slot: str) -> None:
        """Set the time."""
        self._set_value(slot, "at", later(self._value(slot, "at", "int_value")), "int_value")

    def set_author(self, slot: str) -> None:
        """Set the source."""
        self._set_value(slot, "source", "another-source")

    def unindex(self, slot: str) -> None:
        """Take the words out of the index."""
        self.run("DELETE FROM embedding_fulltext_search WHERE rowid = ?", (int(slot),))

    def change_index(self, slot: str, old: str, new: str) -> None:
        """Change the words in the index."""
        words = replace_in(self._value(slot, DOCUMENT), old, new)
        self.run("UPDATE embedding_fulltext_search SET string_value = ? WHERE rowid = ?", (words, int(slot)))

    def change_vector(self, slot: str) -> None:
        """Turn the sign of every number of the vector in the queue."""
        queued = self._queued(slot)
        self._set_vector(queued, self.altered_vector(queued["vector"]))

    def swap_vectors(self, first: str, second: str) -> None:
        """Exchange two vectors in the queue."""
        a, b = self._queued(first), self._queued(second)
        self._set_vector(a, b["vector"])
        self._set_vector(b, a["vector"])

    def _set_vector(self, queued: dict[str, Any], vector: bytes) -> None:
        self.run("UPDATE embeddings_queue SET vector = ? WHERE seq_id = ?", (vector, queued["seq_id"]))

    def spoil(self, slot: str) -> None:
        """Put bytes into the words."""
        words = b"\xc3\x28\x00\xff\xfe"
        self.run("UPDATE embedding_metadata SET string_value = ? WHERE id = ? AND key = ?", (words, int(slot), DOCUMENT))

    def index_column(self) -> str:
        """Return the column by which rows are joined."""
        return "id"

    def _victim(self, connection: sqlite3.Connection, table: str) -> tuple[str, tuple[Any, ...]]:
        if table == "embedding_metadata":
            return "id = ? AND key = ?", (int(self.entries("alice")[3]), DOCUMENT)
        return super()._victim(connection, table)


class Persistent(SqliteFile):
    """A persistent client with one collection, as its documentation shows it; the suite's embedder."""

    title = "Chroma, PersistentClient"
    config = "one collection, owner in the metadata, the suite's embedder"
    package, module, file = "chromadb", "chromadb", "chroma.sqlite3"
    raw_access = ChromaRaw

    def open(self, place: Place) -> None:
        """Open the client and the collection."""
        import chromadb
        from chromadb.config import Settings

        os.environ["ANONYMIZED_TELEMETRY"] = "False"
        self._client = chromadb.PersistentClient(str(place.store), settings=Settings(anonymized_telemetry=False))
        self._memories = self._client.get_or_create_collection("memories", embedding_function=None)

    def close(self) -> None:
        """Close the client."""
        self._client.close()

    def remember(self, entry: Entry) -> str:
        """Add one document; its source says whether it is the user's."""
        id = uuid.uuid4().hex
        source = "document" if entry.channel == "external" else "user"
        claims = {name: value for name, value in entry.claims.items() if isinstance(value, str | int | float | bool)}
        metadata = {**claims, "owner": entry.owner, "at": entry.at, "source": source}
        self._memories.add(ids=[id], documents=[entry.text], metadatas=[metadata], embeddings=[embed(entry.text)])
        return id

    def recall(self, owner: str) -> Sequence[Item]:
        """Return an owner's documents."""
        return _items(self._memories.get(where={"owner": owner}, include=EVERY_FIELD))

    def search(self, owner: str, query: str, k: int) -> Sequence[Item]:
        """Query an owner's documents by vector."""
        found = self._memories.query(
            query_embeddings=[embed(query)], n_results=k, where={"owner": owner}, include=[*EVERY_FIELD, "distances"]
        )
        items = _items({name: value[0] for name, value in found.items() if name in {"ids", *EVERY_FIELD}})
        return [{**item, "distance": distance} for item, distance in zip(items, found["distances"][0], strict=True)]

    def get(self, id: str, owner: str) -> Item | None:
        """Return one document with its vector, if it is the owner's."""
        found = self._memories.get(ids=[id], where={"owner": owner}, include=[*EVERY_FIELD, "embeddings"])
        return next(({**item, "vector": [float(n) for n in found["embeddings"][0]]} for item in _items(found)), None)

    def recall_anyone(self, query: str) -> Sequence[Item]:
        """Return documents without a filter."""
        return _items(self._memories.get(include=EVERY_FIELD))

    def update(self, id: str, owner: str, text: str) -> None:
        """Update a document, whoever asks: the call takes no filter."""
        self._memories.update(ids=[id], documents=[text], embeddings=[embed(text)])

    def erase(self, id: str, owner: str) -> None:
        """Delete a document, if it is the owner's."""
        self._memories.delete(ids=[id], where={"owner": owner})


def _items(found: Any) -> list[Item]:
    """Return every field of documents, with their words as ``text``."""
    rows = zip(found["ids"], found["documents"], found["metadatas"], strict=True)
    return [{"id": id, "text": text, "metadata": metadata} for id, text, metadata in rows]
