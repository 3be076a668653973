"""The asynchronous facade: the same verbs, each run in a thread so that an event loop is never blocked."""

from __future__ import annotations

import asyncio
from typing import Any, Self

from witnesstree.memory import Memory
from witnesstree.types.result import (
    AddResult,
    Answer,
    AuditReport,
    Change,
    ErasureReceipt,
    Memo,
    Page,
    Problem,
    Quote,
    SearchResult,
)

__all__ = ["AsyncMemory"]


class AsyncMemory:
    """An open memory for asyncio programs. Every verb takes the arguments of ``Memory``'s verb of the same name."""

    def __init__(self, memory: Memory) -> None:
        """Wrap an open memory."""
        self._memory = memory

    @classmethod
    async def open(cls, url: str, **options: Any) -> AsyncMemory:
        """Open a memory; see ``Memory.open``."""
        return cls(await asyncio.to_thread(Memory.open, url, **options))

    async def __aenter__(self) -> Self:
        """Return the memory itself."""
        return self

    async def __aexit__(self, *error: object) -> None:
        """Close it."""
        await self.close()

    async def close(self) -> None:
        """See ``Memory.close``."""
        await asyncio.to_thread(self._memory.close)

    async def add(self, messages: Any, **options: Any) -> AddResult:
        """See ``Memory.add``."""
        return await asyncio.to_thread(self._memory.add, messages, **options)

    async def search(self, query: str, **options: Any) -> SearchResult:
        """See ``Memory.search``."""
        return await asyncio.to_thread(self._memory.search, query, **options)

    async def get(self, id: str, **options: Any) -> Memo:
        """See ``Memory.get``."""
        return await asyncio.to_thread(self._memory.get, id, **options)

    async def list(self, **options: Any) -> Page:
        """See ``Memory.list``."""
        return await asyncio.to_thread(self._memory.list, **options)

    async def evidence(self, id: str, **options: Any) -> tuple[Quote, ...]:
        """See ``Memory.evidence``."""
        return await asyncio.to_thread(self._memory.evidence, id, **options)

    async def history(self, id: str, **options: Any) -> tuple[Memo, ...]:
        """See ``Memory.history``."""
        return await asyncio.to_thread(self._memory.history, id, **options)

    async def answer(self, question: str, **options: Any) -> Answer:
        """See ``Memory.answer``."""
        return await asyncio.to_thread(self._memory.answer, question, **options)

    async def update(self, id: str, text: str | None = None, **options: Any) -> Change:
        """See ``Memory.update``."""
        return await asyncio.to_thread(self._memory.update, id, text, **options)

    async def retract(self, id: str, **options: Any) -> Change:
        """See ``Memory.retract``."""
        return await asyncio.to_thread(self._memory.retract, id, **options)

    async def inbox(self, **options: Any) -> Page:
        """See ``Memory.inbox``."""
        return await asyncio.to_thread(self._memory.inbox, **options)

    async def approve(self, id: str, **options: Any) -> Change:
        """See ``Memory.approve``."""
        return await asyncio.to_thread(self._memory.approve, id, **options)

    async def forget(self, id: str | None = None, **options: Any) -> ErasureReceipt:
        """See ``Memory.forget``."""
        return await asyncio.to_thread(self._memory.forget, id, **options)

    async def audit(self, **options: Any) -> AuditReport:
        """See ``Memory.audit``."""
        return await asyncio.to_thread(self._memory.audit, **options)

    async def prove(self, id: str, **options: Any) -> str:
        """See ``Memory.prove``."""
        return await asyncio.to_thread(self._memory.prove, id, **options)

    async def checkpoint(self) -> str:
        """See ``Memory.checkpoint``."""
        return await asyncio.to_thread(self._memory.checkpoint)

    async def repair(self) -> tuple[Problem, ...]:
        """See ``Memory.repair``."""
        return await asyncio.to_thread(self._memory.repair)

    async def export(self, **options: Any) -> str:
        """See ``Memory.export``."""
        return await asyncio.to_thread(self._memory.export, **options)

    async def import_(self, data: Any, **options: Any) -> AddResult:
        """See ``Memory.import_``."""
        return await asyncio.to_thread(self._memory.import_, data, **options)

    async def backup(self, path: str) -> None:
        """See ``Memory.backup``."""
        await asyncio.to_thread(self._memory.backup, path)

    async def fork(self, target: str) -> AuditReport:
        """See ``Memory.fork``."""
        return await asyncio.to_thread(self._memory.fork, target)

    async def rotate_keys(self) -> AuditReport:
        """See ``Memory.rotate_keys``."""
        return await asyncio.to_thread(self._memory.rotate_keys)
