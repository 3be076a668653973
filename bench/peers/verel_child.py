"""Verel's LocalMemory behind the protocol, words only (its default); one write a row, it has no bulk call."""

from __future__ import annotations

import os

from verel.memory.local import LocalMemory
from verel.memory.view import MemoryKind, MemoryRecord

from bench.peers.protocol import serve


class Verel:
    """A scope a user. Rows get ids of their own: equal subjects and predicates would replace each other."""

    def open(self, folder: str) -> None:
        """Open a store."""
        self._memory = LocalMemory(os.path.join(folder, "memory.db"))
        self._count = 0

    def add(self, texts: list[str], user: str) -> list[str]:
        """Write row by row."""
        given = []
        for text in texts:
            self._count += 1
            row = MemoryRecord(kind=MemoryKind.FACT, id=f"row-{self._count}", text=text, scope=f"user:{user}")
            given.append(self._memory.write(row).id)
        return given

    def search(self, query: str, user: str, k: int) -> list[str]:
        """Recall with the defaults."""
        return [row.id for row in self._memory.recall(query, scope=f"user:{user}", k=k)]

    def close(self) -> None:
        """Nothing to do: every write was committed."""


serve(Verel())
