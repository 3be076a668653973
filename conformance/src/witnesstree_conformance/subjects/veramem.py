"""VeraMem: memories with evidence in one SQLite file, and a hash-chained ledger in the same file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from witnesstree_conformance.protocol import Entry, Item, Place, Refusal
from witnesstree_conformance.sql_raw import Layout, Part, RechainingRaw, Row, flipped
from witnesstree_conformance.subjects.sqlite_file import SqliteFile

GENESIS = "0" * 64
MANY = 100_000
"""More memories than any owner has: the call stops at a thousand unless told."""


class VeramemRaw(RechainingRaw):
    """Rows of ``memories``, their words' index and evidence. Hashes in the ledger need no key and are computed anew."""

    layout = Layout(
        table="memories",
        key="id",
        order="created_at, rowid",
        owner="user_id",
        words=("text",),
        content=("text", "embedding"),
        sort="created_at",
        time="created_at",
        trust=("authority", "unendorsed"),
        status=("status", "retracted"),
        vector="embedding",
        log=("ledger", "seq", "payload"),
        log_link="target",
        parts=(Part("memories_fts", "id", words=("text",), is_index=True), Part("evidence", "memory_id", words=("quote",))),
    )

    def move(self, slot: str, owner: str) -> None:
        """Set the owner of a row, and the token of the owner in the index."""
        super().move(slot, owner)
        token = "o" + hashlib.sha256(f"user:{owner}".encode()).hexdigest()[:20]
        self.update(slot, {"owner": token}, "memories_fts", "id")

    def set_author(self, slot: str) -> None:
        """Say that the words come from a document."""
        self.update(slot, {"source": "document"}, "evidence", "memory_id")

    def edit_log(self) -> None:
        """Change who is said to have written the newest entry."""
        newest = self.rows("SELECT seq, actor FROM ledger ORDER BY seq DESC LIMIT 1")[0]
        self.update(str(newest["seq"]), {"actor": flipped(newest["actor"])}, "ledger", "seq")

    def chain(self) -> None:
        """Make the ledger agree with the rows again."""
        words = {row["id"]: row["text"] for row in self.rows("SELECT id, text FROM memories")}
        previous = GENESIS
        for row in self.rows("SELECT * FROM ledger ORDER BY seq"):
            payload = json.loads(row["payload"])
            if "text_sha256" in payload and isinstance(words.get(row["target"]), str):
                payload["text_sha256"] = hashlib.sha256(words[row["target"]].encode()).hexdigest()
            changed = row | {"payload": _canonical(payload), "prev_hash": previous}
            previous = _digest(previous, changed)
            if row["hash"] != previous:
                told = {"payload": changed["payload"], "prev_hash": changed["prev_hash"], "hash": previous}
                self.update(str(row["seq"]), told, "ledger", "seq")


class Veramem(SqliteFile):
    """``Memory`` without a model, as its documentation shows it."""

    title = "VeraMem"
    config = "no model, HashEmbedder"
    audit_name = "Memory.verify()"
    refusals = ("AccessDenied",)
    package, module, file = "veramem", "veramem", "memory.db"
    journals = ("-wal", "-shm")
    raw_access = VeramemRaw

    def open(self, place: Place) -> None:
        """Open the file."""
        from veramem import Memory
        from veramem.providers import HashEmbedder, NoLLM

        self._memory = Memory(str(self.database(place)), llm=NoLLM(), embedder=HashEmbedder())

    def close(self) -> None:
        """Close the file."""
        self._memory.close()

    def remember(self, entry: Entry) -> str:
        """Add a turn of the user, or a document, which becomes an episode only."""
        role = "document" if entry.channel == "external" else "user"
        added = self._memory.add(
            {"role": role, "content": entry.text},
            user_id=entry.owner,
            session_id=entry.session,
            infer=False,
            timestamp=entry.at,
            metadata=dict(entry.claims),
        )
        return str(added.changes[0].memory_id if added.changes else added.episodes[0])

    def recall(self, owner: str) -> Sequence[Item]:
        """Return a user's memories."""
        return [_item(memory) for memory in self._memory.get_all(user_id=owner, limit=MANY)]

    def search(self, owner: str, query: str, k: int) -> Sequence[Item]:
        """Search a user's memories and episodes."""
        hits = self._memory.search(query, user_id=owner, limit=k, record=False).hits
        return [{**hit.model_dump(mode="json"), **_item(hit.memory)} for hit in hits]

    def get(self, id: str, owner: str) -> Item | None:
        """Return a memory of the user, with its evidence and history.

        Raises:
            Refusal: the library says that the evidence is not intact.
        """
        memory = self._memory.get(id, user_id=owner)
        if memory is None:
            return None
        evidence = self._memory.evidence(id, user_id=owner)
        if any(found.get("intact") is False for found in evidence):
            raise Refusal("evidence is not intact")
        return {**_item(memory), "resolved": evidence, "history": self._memory.history(id, user_id=owner)}

    def context(self, owner: str, query: str) -> str:
        """Return the block for a prompt."""
        return str(self._memory.search(query, user_id=owner, record=False).context())

    def recall_anyone(self, query: str) -> Sequence[Item]:
        """Search without naming a user."""
        return [_item(hit.memory) for hit in self._memory.search(query, record=False).hits]

    def audit(self) -> Sequence[str]:
        """Verify ledger, episodes and memories."""
        report = self._memory.verify()
        return [] if report["ok"] else [f"{name}: {value}" for name, value in report.items() if name != "ok" and value]

    def update(self, id: str, owner: str, text: str) -> None:
        """Correct a memory."""
        self._memory.update(id, text, user_id=owner)

    def erase(self, id: str, owner: str) -> None:
        """Forget a memory."""
        self._memory.forget(id, user_id=owner)

    def compact(self) -> None:
        """Consolidate without a model."""
        self._memory.consolidate(summarize=False)

    def reindex(self) -> None:
        """Embed everything again."""
        self._memory.reindex()


def _item(memory: Any) -> Item:
    """Return every field of a memory; ``text`` is among them."""
    return dict(memory.model_dump(mode="json"))


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _digest(previous: str, row: Row) -> str:
    body = _canonical([row["ts"], row["actor"], row["op"], row["target"], row["payload"]])
    return hashlib.sha256((previous + body).encode()).hexdigest()
