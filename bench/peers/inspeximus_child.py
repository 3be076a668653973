"""inspeximus behind the protocol: ``recall()`` as it is (words), or with the argument ``hybrid`` and the parent's vectors."""

from __future__ import annotations

import os
import sys

from inspeximus import Inspeximus

from bench.peers.protocol import GivenVectors, serve

HYBRID = sys.argv[1:] == ["hybrid"]
vectors = GivenVectors()


class Peer:
    """One ``remember`` a row, it has no bulk call."""

    def open(self, folder: str) -> None:
        """Open a store."""
        self._memory = Inspeximus(os.path.join(folder, "memory.json"), embed=vectors.of if HYBRID else None)

    def add(self, texts: list[str], user: str) -> list[str]:
        """Remember row by row."""
        return [self._memory.remember(text, user_id=user) for text in texts]

    def search(self, query: str, user: str, k: int) -> list[str]:
        """Recall with the defaults, or as a hybrid."""
        return [row["id"] for row in self._memory.recall(query, k=k, user_id=user, mode="hybrid" if HYBRID else "auto")]

    def close(self) -> None:
        """Write what is pending."""
        self._memory.flush()


serve(Peer(), vectors)
