"""Letta: a memory block per owner in PostgreSQL; every entry is a checkpoint in the block's history, read by undo and redo."""

from __future__ import annotations

import asyncio
import os
import uuid
from collections.abc import Coroutine, Sequence
from importlib import metadata
from typing import Any

from witnesstree_conformance.protocol import Entry, Item, Place
from witnesstree_conformance.sql_raw import Layout, Row
from witnesstree_conformance.subjects.postgres import PostgresRaw, PostgresStore, database_of, uri_of

MANY = 100_000


class BlockHistoryRaw(PostgresRaw):
    """Rows of ``block_history``; the row of ``block`` points at the newest and repeats its value."""

    layout = Layout(
        table="block_history",
        key="id",
        order="block_id, sequence_number",
        owner="block_id",
        words=("value",),
        content=("value", "metadata_"),
        sort="sequence_number",
        time="created_at",
        author=("actor_id", "user-00000000-0000-4000-8000-000000000000"),
    )

    def owned_by(self, owner: str) -> Any:
        """Return the id of an owner's block."""
        found = self.rows("SELECT id FROM block WHERE label = ?", (owner,))
        return found[0]["id"] if found else None

    def fresh_key(self, slot: str, row: Row) -> Any:
        """Return a fresh id of a history entry."""
        return f"block_hist-{uuid.uuid4()}"

    def as_newest(self, row: Row) -> Row:
        """Return a copy with the next number of its block."""
        asked = "SELECT max(sequence_number) AS newest FROM block_history WHERE block_id = ?"
        newest = self.rows(asked, (row["block_id"],))[0]["newest"]
        return row | {"id": self.fresh_key("", row), "sequence_number": newest + 1}

    def _point(self, block: str) -> None:
        """Let a block point at the newest entry that is left, and say what that says."""
        asked = "SELECT * FROM block_history WHERE block_id = ? ORDER BY sequence_number DESC LIMIT 1"
        newest = next(iter(self.rows(asked, (block,))), {"id": None, "value": ""})
        self.update(block, {"current_history_entry_id": newest["id"], "value": newest["value"]}, "block", "id")

    def change_text(self, slot: str, old: str, new: str, *, weak: bool = False) -> None:
        """Replace words; the block follows."""
        super().change_text(slot, old, new, weak=weak)
        if not weak:
            self._point(self.row(slot)["block_id"])

    def remove(self, slots: Sequence[str], *, weak: bool = False) -> None:
        """Delete entries; the block points at what is left."""
        blocks = {self.row(slot)["block_id"] for slot in slots}
        super().remove(slots, weak=weak)
        for block in () if weak else blocks:
            self._point(block)

    def swap(self, first: str, second: str) -> None:
        """Exchange values; the block follows."""
        super().swap(first, second)
        self._point(self.row(first)["block_id"])

    def copy_over(self, source: str, target: str) -> None:
        """Copy a value; the block follows."""
        super().copy_over(source, target)
        self._point(self.row(target)["block_id"])

    def forge(self, like: str, old: str, new: str, *, weak: bool = False) -> None:
        """Insert an entry; the block points at it."""
        super().forge(like, old, new, weak=weak)
        if not weak:
            self._point(self.row(like)["block_id"])

    def duplicate(self, slot: str) -> None:
        """Insert a copy; the block points at it."""
        super().duplicate(slot)
        self._point(self.row(slot)["block_id"])

    def move(self, slot: str, owner: str) -> None:
        """Give an entry to another owner's block, as its newest."""
        row = self.row(slot)
        moved = self.as_newest(row | {"block_id": self.owned_by(owner)})
        self.update(slot, {"block_id": moved["block_id"], "sequence_number": moved["sequence_number"]})
        self._point(row["block_id"])
        self._point(moved["block_id"])

    def sweep_slot(self) -> str:
        """Return the newest entry: the block points at it."""
        return self.entries("alice")[-1]

    def swept(self) -> list[tuple[str, str]]:
        """Return the history and the block."""
        return [*super().swept(), ("block", "current_history_entry_id")]


class BlockHistory(PostgresStore):
    """Blocks and their checkpoints by the block manager of the server."""

    title = "Letta, history of memory blocks"
    config = "BlockManager in PostgreSQL, a user and a block per owner, one organization"

    @classmethod
    def version(cls) -> str:
        """Return the package's version."""
        return metadata.version("letta")

    @classmethod
    def load(cls) -> None:
        """Import the server; the address of its database is set when it is opened."""
        os.environ |= {"LETTA_PG_URI": "postgresql://nobody@localhost/none", "LETTA_DISABLE_SQLALCHEMY_POOLING": "true"}
        import letta.orm
        import letta.services.block_manager
        import letta.services.organization_manager
        import letta.services.user_manager  # noqa: F401

    @classmethod
    def create(cls, place: Place, name: str) -> None:
        """Make a database with the server's tables: it makes them itself when it starts."""
        from letta.orm.base import Base
        from sqlalchemy import text

        async def make() -> None:
            engine = _engine(place, name)
            async with engine.begin() as connection:
                await connection.execute(text("CREATE EXTENSION IF NOT EXISTS vector"))
                await connection.run_sync(Base.metadata.create_all)
            await engine.dispose()

        super().create(place, name)
        asyncio.run(make())

    def open(self, place: Place) -> None:
        """Point the server's engine at the place's database."""
        import letta.server.db as server
        from letta.services.block_manager import BlockManager
        from letta.services.organization_manager import OrganizationManager
        from letta.services.user_manager import UserManager
        from sqlalchemy.ext.asyncio import async_sessionmaker

        self._loop = asyncio.new_event_loop()
        server.engine = _engine(place, database_of(place))
        server.async_session_factory = async_sessionmaker(server.engine, expire_on_commit=False, autoflush=False)
        self._blocks, self._users = BlockManager(), UserManager()
        self._organization = self._do(OrganizationManager().create_default_organization_async())
        self._actors = {user.name: user for user in self._do(self._users.list_actors_async(limit=MANY))}

    def close(self) -> None:
        """Dispose of the engine, and close the loop."""
        import letta.server.db as server

        self._do(server.engine.dispose())
        self._loop.close()

    def remember(self, entry: Entry) -> str:
        """Put words into the owner's block, and keep a checkpoint."""
        from letta.schemas.block import Block, BlockUpdate

        actor = self._actor(entry.owner)
        about = {**entry.claims, "source": "document" if entry.channel == "external" else "user"}
        block = self._block(entry.owner)
        if block is None:
            new = Block(label=entry.owner, value=entry.text, metadata=about)
            block = self._do(self._blocks.create_or_update_block_async(new, actor))
        else:
            self._do(self._blocks.update_block_async(block.id, BlockUpdate(value=entry.text, metadata=about), actor))
        self._do(self._blocks.checkpoint_block_async(block.id, actor))
        return str(block.id)

    def recall(self, owner: str) -> Sequence[Item]:
        """Walk the owner's block back to its first checkpoint, and forward again; return it at every step, oldest first."""
        from letta.errors import LettaInvalidArgumentError

        block = self._block(owner)
        if block is None:
            return []
        actor, seen = self._actor(owner), [_item(block)]
        try:
            while True:
                seen.append(_item(self._do(self._blocks.undo_checkpoint_block(block.id, actor))))
        except LettaInvalidArgumentError:
            pass
        for _ in seen[1:]:
            self._do(self._blocks.redo_checkpoint_block(block.id, actor))
        return seen[::-1]

    def get(self, id: str, owner: str) -> Item | None:
        """Return a block as it is now; every user of the organization may."""
        block = self._do(self._blocks.get_block_by_id_async(id, self._actor(owner)))
        return None if block is None else _item(block)

    def recall_anyone(self, query: str) -> Sequence[Item]:
        """List blocks without naming an owner."""
        return [_item(block) for block in self._do(self._blocks.get_blocks_async(self._actor("anyone"), limit=MANY))]

    def update(self, id: str, owner: str, text: str) -> None:
        """Put other words into a block, and keep a checkpoint."""
        from letta.schemas.block import BlockUpdate

        self._do(self._blocks.update_block_async(id, BlockUpdate(value=text), self._actor(owner)))
        self._do(self._blocks.checkpoint_block_async(id, self._actor(owner)))

    def erase(self, id: str, owner: str) -> None:
        """Delete a block."""
        self._do(self._blocks.delete_block_async(id, self._actor(owner)))

    def raw(self, place: Place, tier: str) -> BlockHistoryRaw:
        """Return the attacker's access."""
        return BlockHistoryRaw(place, tier)

    def _actor(self, owner: str) -> Any:
        from letta.schemas.user import User

        if owner not in self._actors:
            user = User(name=owner, organization_id=self._organization.id)
            self._actors[owner] = self._do(self._users.create_actor_async(user))
        return self._actors[owner]

    def _block(self, owner: str) -> Any:
        return next(iter(self._do(self._blocks.get_blocks_async(self._actor(owner), label=owner))), None)

    def _do(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self._loop.run_until_complete(work)


def _engine(place: Place, database: str) -> Any:
    from sqlalchemy import NullPool
    from sqlalchemy.ext.asyncio import create_async_engine

    return create_async_engine(uri_of(place, database).replace("postgresql://", "postgresql+asyncpg://"), poolclass=NullPool)


def _item(block: Any) -> Item:
    """Return every field of a block, with its words as ``text``."""
    return {**block.model_dump(mode="json"), "text": block.value}
