"""VeraMem behind the protocol: no language model, its own offline embedder, one bulk call a batch."""

from __future__ import annotations

import os

from veramem import Memory

from bench.peers.protocol import serve


class VeraMem:
    """``Memory.add`` keeps raw turns if there is no model; ``search`` is its hybrid of vectors, words and entities."""

    def open(self, folder: str) -> None:
        """Open a store."""
        self._memory = Memory(os.path.join(folder, "memory.db"), llm_provider="none", embed_provider="hash")
        self._memory_of: dict[str, str] = {}

    def add(self, texts: list[str], user: str) -> list[str]:
        """Add a batch in one call."""
        done = self._memory.add([{"role": "user", "content": text} for text in texts], user_id=user)
        given = [str(change.memory_id) for change in done.changes]
        self._memory_of.update(zip(done.episodes, given, strict=True))
        return given

    def search(self, query: str, user: str, k: int) -> list[str]:
        """Search with the defaults. A hit is a memory or the episode behind it: both are the same turn."""
        found = (hit.memory.id for hit in self._memory.search(query, user_id=user, limit=k).hits)
        return list(dict.fromkeys(self._memory_of.get(one, one) for one in found))

    def close(self) -> None:
        """Close the store."""
        self._memory.store.close()


serve(VeraMem())
