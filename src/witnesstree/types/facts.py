"""The few fields of a row that views and audits keep, read straight from its verified content.

Whole records are for hits; these readers exist because a first load and an audit look at every row. They read the layout of
``types/wire`` and nothing else; a property test holds them to ``wire.decode``.
"""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

from witnesstree.errors import UnsupportedError
from witnesstree.types.trust import Op
from witnesstree.types.wire import FORMAT, HEADER

_HEADER_BYTES = HEADER.size
FIXED_BYTES: Final = 100
"""Length of the header up to its lengths: format to ``expires_at``."""
_LENGTHS: Final = struct.Struct(">IIII13H")


class RowFacts(NamedTuple):
    """What the view knows of a verified row; the words and everything else stay in the store until they are a hit.

    ``document`` is the row's number in the view and ``first_seq`` the log position at which the memory first came in; ``inner``
    is the first of the two hashes of the seal (``proof.seal``).
    """

    document: int
    seq: int
    first_seq: int
    id: bytes
    version: int
    seal: bytes
    inner: bytes
    fingerprint: bytes
    kind: int
    role: int
    authority: int
    trust: int
    status: int
    recorded_at: int
    said_at: int | None
    valid_from: int | None
    valid_to: int | None
    expires_at: int | None
    session: str
    scope: str
    name: str


class RowParts(NamedTuple):
    """A row's content taken apart: the first ``FIXED_BYTES`` bytes as they are, and the texts that a view indexes."""

    fixed: bytes
    text: str
    payload: bytes
    session: str
    scope: str
    name: str


def read_parts(seq: int, content: bytes) -> RowParts:
    """Return the parts of a row whose seal was verified.

    Raises:
        UnsupportedError: a newer version wrote it.
    """
    if content[0] != FORMAT:
        raise UnsupportedError(f"row {seq} was written by a newer version; upgrade this program", reason="newer_format")
    lengths = _LENGTHS.unpack_from(content, FIXED_BYTES)
    text_end = _HEADER_BYTES + lengths[0]
    payload_at = text_end + lengths[1] + lengths[2]
    user_at = payload_at + lengths[3]
    session_at = user_at + lengths[4] + lengths[5] + lengths[6]
    scope_at = session_at + lengths[7]
    name_at = scope_at + lengths[8]
    return RowParts(
        content[:FIXED_BYTES],
        content[_HEADER_BYTES:text_end].decode(),
        content[payload_at:user_at],
        content[session_at:scope_at].decode(),
        content[scope_at:name_at].decode(),
        content[name_at : name_at + lengths[9]].decode(),
    )


class AuditFacts(NamedTuple):
    """What an audit needs of a row's content to rebuild its log entry."""

    kind: int
    op: Op
    id: bytes
    version: int
    salt: bytes
    recorded_at: int
    actor: str


def audit_facts(content: bytes) -> AuditFacts:
    """Return the fields of a verified row that its log entry commits to."""
    fixed = HEADER.unpack_from(content)
    lengths = fixed[17:]
    actor_at = _HEADER_BYTES + sum(lengths[:5])
    actor = content[actor_at : actor_at + lengths[5]].decode()
    return AuditFacts(fixed[1], Op(fixed[6]), fixed[8], fixed[11], fixed[9], fixed[12], actor)
