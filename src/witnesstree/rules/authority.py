"""Which authority a memory has: decided by who said it and how it came in, never by a label (features V4, threat T-L1)."""

from __future__ import annotations

from collections.abc import Iterable

from witnesstree.types.trust import Authority, Role

_SPOKEN = {
    Role.USER: Authority.AUTHORIZED,
    Role.SYSTEM: Authority.ATTESTED,
    Role.ASSISTANT: Authority.UNENDORSED,
    Role.TOOL: Authority.UNENDORSED,
    Role.DOCUMENT: Authority.UNENDORSED,
    Role.NONE: Authority.NONE,
}


def authority_of_turn(role: Role, *, is_import: bool, is_guest: bool) -> Authority:
    """Return the authority of a turn.

    Args:
        role: who spoke.
        is_import: the turn came from a file. A file can only report that the user said it.
        is_guest: the words carry another speaker's name; they are somebody's, but not the account owner's.
    """
    spoken = _SPOKEN[role]
    if is_import:
        return Authority.ATTESTED if role is Role.USER and not is_guest else Authority.UNENDORSED
    if is_guest and role is Role.USER:
        return Authority.ATTESTED
    return spoken


def authority_of_correction(*, by_agent: bool) -> Authority:
    """Return the authority of a corrected text: the user's own words, or what an agent reports that the user said."""
    return Authority.ATTESTED if by_agent else Authority.AUTHORIZED


def weakest(values: Iterable[Authority]) -> Authority:
    """Return the authority of a text that rests on several sources: the weakest one's."""
    return min(values, default=Authority.NONE)
