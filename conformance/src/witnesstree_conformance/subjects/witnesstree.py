"""Witnesstree itself, by the same rules as everybody else: its embedded store on SQLite, with one anchor and with two."""

from __future__ import annotations

import dataclasses
import enum
import os
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, ClassVar

from witnesstree import Memory, Message
from witnesstree_conformance.protocol import Entry, Item, Place, Subject
from witnesstree_conformance.subjects.witnesstree_raw import WitnesstreeRaw

VOLATILE = {"score", "signals"}
"""Fields of a hit that say how well it fits, and not what it is. Order shows them."""
KEY = "11" * 32
"""The master key of the runs, as hex."""


def database(place: Place) -> Path:
    """Return the store's file."""
    return place.store / "memory.db"


PAGE = 1000


class Sqlite(Subject):
    """The default: one file, its head remembered in the client's state folder."""

    title = "Witnesstree (SQLite)"
    config = "the defaults; the master key is given by the client"
    refusals = ("witnesstree.errors.IntegrityError",)
    audit_name = "Memory.audit()"
    tiers = ("A", "B", "C")
    has_second_anchor: ClassVar[bool] = False

    @classmethod
    def version(cls) -> str:
        """Return the package's version."""
        try:
            return version("witnesstree")
        except PackageNotFoundError:
            return "from source"

    @classmethod
    def sidecars(cls, place: Place) -> list[Path]:
        """Return the journals."""
        return [Path(f"{database(place)}{suffix}") for suffix in ("-wal", "-shm", "-journal")]

    def open(self, place: Place) -> None:
        """Open the store; its master key comes from a secret manager, so to say, and lies in no zone of tiers A to C."""
        os.environ["WITNESSTREE_HOME"] = str(place.state / "witnesstree")
        self._memory = Memory.open(database(place), key=KEY, anchor=self.anchor(place))

    def anchor(self, place: Place) -> str:
        """Return where the head is remembered."""
        if not self.has_second_anchor:
            return "file"
        (place.witness / "anchors").mkdir(exist_ok=True)
        return f"file:{place.witness / 'anchors'}"

    def close(self) -> None:
        """Close the store."""
        self._memory.close()

    def remember(self, entry: Entry) -> str:
        """Add one turn. What is no turn of the user comes as a document; what only says that it is, by import."""
        if entry.channel == "laundered":
            turn = {"role": "user", "content": entry.text, "metadata": dict(entry.claims)}
            return str(self._memory.import_([turn], user=entry.owner, session=entry.session).episodes[0])
        role = "document" if entry.channel == "external" else "user"
        message = Message(role=role, text=entry.text, session=entry.session, metadata=dict(entry.claims))
        return str(self._memory.add([message], user=entry.owner).episodes[0])

    def recall(self, owner: str) -> Sequence[Item]:
        """List everything, page by page, oldest first."""
        page = self._memory.list(user=owner, limit=PAGE)
        memos = list(page.items)
        while page.cursor:
            page = self._memory.list(user=owner, limit=PAGE, cursor=page.cursor)
            memos += page.items
        return [_item(memo) for memo in memos]

    def search(self, owner: str, query: str, k: int) -> Sequence[Item]:
        """Search with the defaults."""
        return [_item(hit) for hit in self._memory.search(query, user=owner, k=k).hits]

    def get(self, id: str, owner: str) -> Item | None:
        """Get one memory of the owner."""
        return _item(self._memory.get(id, user=owner))

    def context(self, owner: str, query: str) -> str:
        """Return the context of a search."""
        return self._memory.search(query, user=owner).context()

    def audit(self) -> Sequence[str]:
        """Audit the whole store."""
        return [f"{problem.reason}: {problem.message}" for problem in self._memory.audit().problems]

    def update(self, id: str, owner: str, text: str) -> None:
        """Write the next version."""
        self._memory.update(id, text, user=owner)

    def erase(self, id: str, owner: str) -> None:
        """Erase a memory."""
        self._memory.forget(id, user=owner)

    def reindex(self) -> None:
        """Make all vectors anew."""
        self._memory.reindex()

    def raw(self, place: Place, tier: str) -> WitnesstreeRaw:
        """Return the attacker's access."""
        return WitnesstreeRaw(place, tier, database(place))


class SqliteTwoAnchors(Sqlite):
    """The head is remembered on another machine too."""

    title = "Witnesstree (SQLite, two anchors)"
    config = "the defaults, and a second anchor in the witness zone"
    has_second_anchor = True


def _item(memo: Any) -> Item:
    """Return every field of a memo or hit as JSON values."""
    return {field.name: _plain(getattr(memo, field.name)) for field in dataclasses.fields(memo) if field.name not in VOLATILE}


def _plain(value: Any) -> Any:
    if isinstance(value, enum.Enum):
        return value.name
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _item(value)
    if isinstance(value, dict):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value if value is None or isinstance(value, str | int | float | bool) else repr(value)
