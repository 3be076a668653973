"""The few fields of a row that views and audits keep, read straight from its verified content.

Whole records are for hits; these readers exist because a first load and an audit look at every row. They read the layout of
``types/wire`` and nothing else; a property test holds them to ``wire.decode``.
"""

from __future__ import annotations

from typing import NamedTuple

from witnesstree.errors import UnsupportedError
from witnesstree.types.trust import Op
from witnesstree.types.wire import ABSENT, FORMAT, HEADER

_HEADER_BYTES = HEADER.size


class RowFacts(NamedTuple):
    """What the view keeps of a verified row; the words and everything else stay in the store until they are a hit."""

    seq: int
    id: bytes
    version: int
    seal: bytes
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


def read_facts(seq: int, content: bytes, seal: bytes) -> tuple[RowFacts, str, bytes]:
    """Return the facts, text and payload of a row whose seal was verified.

    Raises:
        UnsupportedError: a newer version wrote it.
    """
    fixed = HEADER.unpack_from(content)
    if fixed[0] != FORMAT:
        raise UnsupportedError(f"row {seq} was written by a newer version; upgrade this program", reason="newer_format")
    lengths = fixed[17:]
    text_end = _HEADER_BYTES + lengths[0]
    payload_at = text_end + lengths[1] + lengths[2]
    user_at = payload_at + lengths[3]
    session_at = user_at + lengths[4] + lengths[5] + lengths[6]
    scope_at = session_at + lengths[7]
    facts = RowFacts(
        seq,
        fixed[8],
        fixed[11],
        seal,
        fixed[10],
        fixed[1],
        fixed[2],
        fixed[3],
        fixed[4],
        fixed[5],
        fixed[12],
        None if fixed[13] == ABSENT else fixed[13],
        None if fixed[14] == ABSENT else fixed[14],
        None if fixed[15] == ABSENT else fixed[15],
        None if fixed[16] == ABSENT else fixed[16],
        content[session_at:scope_at].decode(),
        content[scope_at : scope_at + lengths[8]].decode(),
    )
    return facts, content[_HEADER_BYTES:text_end].decode(), content[payload_at:user_at]


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
