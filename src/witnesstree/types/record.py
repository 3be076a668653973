"""The noun everything is about: one version of one memory, and its sealed form as a store keeps it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from witnesstree.types.trust import Authority, Kind, Op, Role, Status, Trust


@dataclass(frozen=True, slots=True)
class Span:
    """A quote's place: code points ``start`` to ``end`` (end excluded) of one version of one memory's text."""

    source: bytes
    version: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Record:
    """One version of one memory. What a verb reads comes out of ``Sealer.verify`` first; what it writes was decided by ``rules``.

    Instants are microseconds since 1970-01-01 UTC; ``None`` means "not stated" or "open". ``id`` is 16 random bytes.
    ``salt`` hides the log's commitments to this record and disappears with it.
    """

    id: bytes
    version: int
    kind: Kind
    role: Role
    authority: Authority
    trust: Trust
    status: Status
    op: Op
    recorded_at: int
    salt: bytes
    fingerprint: bytes = bytes(16)
    said_at: int | None = None
    valid_from: int | None = None
    valid_to: int | None = None
    expires_at: int | None = None
    text: str = ""
    user: str = ""
    actor: str = ""
    agent: str = ""
    session: str = ""
    scope: str = ""
    name: str = ""
    source: str = ""
    subject: str = ""
    predicate: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)
    evidence: tuple[Span, ...] = ()
    purposes: tuple[str, ...] = ()
    origin: str = ""
    nonce: bytes = b""
    signature: bytes = b""
    payload: bytes = b""

    def with_changes(self, **changes: Any) -> Record:
        """Return a copy with some fields replaced (rules use this to write the next version)."""
        return replace(self, **changes)


class SealedRecord(NamedTuple):
    """A row as a store keeps it: opaque bytes and the seal over them.

    ``seq`` is the log position of the entry that wrote the row, and the row's place in the store; ``owner`` the 16-byte keyed
    name of the partition it belongs to; ``content`` the canonical bytes of a ``Record`` (``docs/spec/record.md``); ``seal``
    algorithm byte and 32-byte MAC (``proof.seal``) over all the others; ``vector`` what an embedder made of the text, or nothing
    (``types.vector``): derived, so it is sealed and not logged.
    """

    seq: int
    owner: bytes
    content: bytes
    seal: bytes
    vector: bytes = b""
