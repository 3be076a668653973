"""The asynchronous facade: the same verbs, each run in a thread so that an event loop is never blocked.

A task that is cancelled stops waiting; the verb it called ends by itself in its thread, whole or not at all, and leaves no
lock behind.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from types import TracebackType
from typing import Any, Self

from witnesstree.flow.opening import utc_now
from witnesstree.flow.verified import Clock
from witnesstree.memory import Memory
from witnesstree.providers.base import Embedder
from witnesstree.types.message import Message
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
    Reindexed,
    SearchResult,
)

__all__ = ["AsyncMemory"]


class AsyncMemory:
    """An open memory for asyncio programs: what ``Memory`` has, under the same names and with the same arguments."""

    def __init__(self, memory: Memory) -> None:
        """Wrap an open memory."""
        self._memory = memory

    @classmethod
    async def open(
        cls,
        url: str | os.PathLike[str],
        *,
        user: str | None = None,
        agent: str | None = None,
        scope: str | None = None,
        key: str = "",
        anchor: str = "",
        on_tamper: str = "raise",
        embedder: str | Embedder | None = None,
        clock: Clock = utc_now,
        unsafe_no_anchor: bool = False,
        create: bool = True,
        examine: bool = False,
    ) -> AsyncMemory:
        """Open a memory; see ``Memory.open``. Cancelled on the way, what was opened is closed again."""
        opened: Future[Memory] = Future()

        def work() -> None:
            memory = Memory.open(
                url,
                user=user,
                agent=agent,
                scope=scope,
                key=key,
                anchor=anchor,
                on_tamper=on_tamper,
                embedder=embedder,
                clock=clock,
                unsafe_no_anchor=unsafe_no_anchor,
                create=create,
                examine=examine,
            )
            opened.set_result(memory)

        try:
            await asyncio.to_thread(work)
        except asyncio.CancelledError:
            opened.add_done_callback(lambda done: done.result().close())
            raise
        return cls(opened.result())

    async def __aenter__(self) -> Self:
        """Return the memory itself."""
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Close it."""
        await self.close()

    async def close(self) -> None:
        """See ``Memory.close``."""
        await asyncio.to_thread(self._memory.close)

    @property
    def place(self) -> str:
        """Where the store lies."""
        return self._memory.place

    @property
    def store_id(self) -> str:
        """The store's id, 32 hex digits."""
        return self._memory.store_id

    @property
    def verifier_key(self) -> str:
        """The public key that checks this store's checkpoints, proofs and receipts (C2SP verifier key)."""
        return self._memory.verifier_key

    # -- remember ---------------------------------------------------------------------------------------------------------

    async def add(
        self,
        messages: str | Message | Mapping[str, Any] | Iterable[object],
        *,
        user: str | None = None,
        agent: str | None = None,
        session: str | None = None,
        scope: str | None = None,
        at: object = None,
        metadata: Mapping[str, Any] | None = None,
        hold: bool = False,
    ) -> AddResult:
        """See ``Memory.add``."""
        return await asyncio.to_thread(
            self._memory.add,
            messages,
            user=user,
            agent=agent,
            session=session,
            scope=scope,
            at=at,
            metadata=metadata,
            hold=hold,
        )

    async def alias(
        self, alias: str, name: str, *, user: str | None = None, agent: str | None = None, hold: bool = False
    ) -> Change:
        """See ``Memory.alias``."""
        return await asyncio.to_thread(self._memory.alias, alias, name, user=user, agent=agent, hold=hold)

    # -- find and read ----------------------------------------------------------------------------------------------------

    async def search(
        self,
        query: str,
        *,
        user: str | None = None,
        agent: str | None = None,
        session: str | None = None,
        scope: str | None = None,
        k: int = 10,
        kinds: str | Iterable[str] | None = None,
        min_authority: str | None = None,
        min_trust: str | None = None,
        as_of: object = None,
        recorded_as_of: object = None,
        where: Mapping[str, Any] | None = None,
        budget_tokens: int | None = None,
    ) -> SearchResult:
        """See ``Memory.search``."""
        return await asyncio.to_thread(
            self._memory.search,
            query,
            user=user,
            agent=agent,
            session=session,
            scope=scope,
            k=k,
            kinds=kinds,
            min_authority=min_authority,
            min_trust=min_trust,
            as_of=as_of,
            recorded_as_of=recorded_as_of,
            where=where,
            budget_tokens=budget_tokens,
        )

    async def get(self, id: str, *, user: str | None = None) -> Memo:
        """See ``Memory.get``."""
        return await asyncio.to_thread(self._memory.get, id, user=user)

    async def list(
        self,
        *,
        user: str | None = None,
        limit: int = 100,
        cursor: str | None = None,
        include_inactive: bool = False,
        session: str | None = None,
        scope: str | None = None,
        where: Mapping[str, Any] | None = None,
    ) -> Page:
        """See ``Memory.list``."""
        return await asyncio.to_thread(
            self._memory.list,
            user=user,
            limit=limit,
            cursor=cursor,
            include_inactive=include_inactive,
            session=session,
            scope=scope,
            where=where,
        )

    async def evidence(self, id: str, *, user: str | None = None) -> tuple[Quote, ...]:
        """See ``Memory.evidence``."""
        return await asyncio.to_thread(self._memory.evidence, id, user=user)

    async def history(self, id: str, *, user: str | None = None) -> tuple[Memo, ...]:
        """See ``Memory.history``."""
        return await asyncio.to_thread(self._memory.history, id, user=user)

    async def answer(
        self,
        question: str,
        *,
        user: str | None = None,
        agent: str | None = None,
        session: str | None = None,
        scope: str | None = None,
        kinds: str | Iterable[str] | None = None,
        min_authority: str | None = None,
        min_trust: str | None = None,
        as_of: object = None,
        recorded_as_of: object = None,
        where: Mapping[str, Any] | None = None,
    ) -> Answer:
        """See ``Memory.answer``."""
        return await asyncio.to_thread(
            self._memory.answer,
            question,
            user=user,
            agent=agent,
            session=session,
            scope=scope,
            kinds=kinds,
            min_authority=min_authority,
            min_trust=min_trust,
            as_of=as_of,
            recorded_as_of=recorded_as_of,
            where=where,
        )

    # -- correct ----------------------------------------------------------------------------------------------------------

    async def update(
        self,
        id: str,
        text: str | None = None,
        *,
        user: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        expected_version: int | None = None,
    ) -> Change:
        """See ``Memory.update``."""
        return await asyncio.to_thread(
            self._memory.update, id, text, user=user, metadata=metadata, expected_version=expected_version
        )

    async def retract(self, id: str, *, user: str | None = None, expected_version: int | None = None) -> Change:
        """See ``Memory.retract``."""
        return await asyncio.to_thread(self._memory.retract, id, user=user, expected_version=expected_version)

    async def inbox(self, *, user: str | None = None, limit: int = 100, cursor: str | None = None) -> Page:
        """See ``Memory.inbox``."""
        return await asyncio.to_thread(self._memory.inbox, user=user, limit=limit, cursor=cursor)

    async def approve(self, id: str, *, user: str | None = None) -> Change:
        """See ``Memory.approve``."""
        return await asyncio.to_thread(self._memory.approve, id, user=user)

    # -- erase ------------------------------------------------------------------------------------------------------------

    async def forget(
        self,
        id: str | None = None,
        *,
        user: str | None = None,
        session: str | None = None,
        where: Mapping[str, Any] | None = None,
        everything: bool = False,
        dry_run: bool = False,
    ) -> ErasureReceipt:
        """See ``Memory.forget``."""
        return await asyncio.to_thread(
            self._memory.forget,
            id,
            user=user,
            session=session,
            where=where,
            everything=everything,
            dry_run=dry_run,
        )

    # -- prove ------------------------------------------------------------------------------------------------------------

    async def audit(self, *, progress: Callable[[int, int], None] | None = None) -> AuditReport:
        """See ``Memory.audit``. ``progress`` is called in another thread."""
        return await asyncio.to_thread(self._memory.audit, progress=progress)

    async def prove(self, id: str, *, user: str | None = None) -> str:
        """See ``Memory.prove``."""
        return await asyncio.to_thread(self._memory.prove, id, user=user)

    async def checkpoint(self) -> str:
        """See ``Memory.checkpoint``."""
        return await asyncio.to_thread(self._memory.checkpoint)

    async def repair(self) -> tuple[Problem, ...]:
        """See ``Memory.repair``."""
        return await asyncio.to_thread(self._memory.repair)

    async def reindex(self, *, progress: Callable[[int, int], None] | None = None) -> Reindexed:
        """See ``Memory.reindex``. ``progress`` is called in another thread."""
        return await asyncio.to_thread(self._memory.reindex, progress=progress)

    # -- move -------------------------------------------------------------------------------------------------------------

    async def export(self, *, user: str | None = None) -> str:
        """See ``Memory.export``."""
        return await asyncio.to_thread(self._memory.export, user=user)

    async def import_(
        self,
        data: object,
        *,
        user: str | None = None,
        agent: str | None = None,
        session: str | None = None,
        scope: str | None = None,
        hold: bool = False,
        origin: str = "",
        progress: Callable[[int], None] | None = None,
    ) -> AddResult:
        """See ``Memory.import_``. ``progress`` is called in another thread."""
        return await asyncio.to_thread(
            self._memory.import_,
            data,
            user=user,
            agent=agent,
            session=session,
            scope=scope,
            hold=hold,
            origin=origin,
            progress=progress,
        )

    async def backup(self, path: str | os.PathLike[str]) -> None:
        """See ``Memory.backup``."""
        await asyncio.to_thread(self._memory.backup, path)

    @staticmethod
    async def restore(
        backup: str | os.PathLike[str], target: str | os.PathLike[str], *, key: str = "", clock: Clock = utc_now
    ) -> AuditReport:
        """See ``Memory.restore``."""
        return await asyncio.to_thread(Memory.restore, backup, target, key=key, clock=clock)

    async def fork(self, target: str | os.PathLike[str]) -> AuditReport:
        """See ``Memory.fork``."""
        return await asyncio.to_thread(self._memory.fork, target)

    async def rotate_keys(self, *, lost_signer: bool = False) -> AuditReport:
        """See ``Memory.rotate_keys``."""
        return await asyncio.to_thread(self._memory.rotate_keys, lost_signer=lost_signer)
