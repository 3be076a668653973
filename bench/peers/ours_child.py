"""Witnesstree behind the protocol; the argument names the embedder. Given texts only, as the peers are."""

from __future__ import annotations

import os
import sys

from bench.peers.protocol import serve
from witnesstree import Memory


class Ours:
    """One batch a call, as everybody would write it."""

    def open(self, folder: str) -> None:
        """Open a store."""
        os.environ["WITNESSTREE_HOME"] = os.path.join(folder, "home")
        self._memory = Memory.open(os.path.join(folder, "memory.db"), embedder=sys.argv[1])

    def add(self, texts: list[str], user: str) -> list[str]:
        """Add a batch in one call."""
        return list(self._memory.add(texts, user=user).episodes)

    def search(self, query: str, user: str, k: int) -> list[str]:
        """Search with the defaults."""
        return [hit.id for hit in self._memory.search(query, user=user, k=k).hits]

    def close(self) -> None:
        """Close the store; this may write the view's cache."""
        self._memory.close()


serve(Ours())
