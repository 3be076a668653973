"""Switches of verbs. What is nearly true or nearly false is refused: ``dry_run=None`` must not erase."""

from __future__ import annotations

from witnesstree.errors import InputError


def check_flag(value: object, field: str) -> bool:
    """Return a switch.

    Raises:
        InputError: neither True nor False.
    """
    if not isinstance(value, bool):
        raise InputError(f"{field} must be True or False, not {type(value).__name__}", field=field)
    return value
