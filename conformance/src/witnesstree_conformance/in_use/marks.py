"""How a reader could tell an attacker's entry from the owner's own: a field that the tool returns and that differs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from witnesstree_conformance.protocol import Item

ABSENT = "(absent)"


def flat(value: Any, prefix: str = "") -> dict[str, str]:
    """Return the leaves of an item by their path, as strings."""
    if isinstance(value, Mapping):
        return {path: leaf for key, inner in value.items() for path, leaf in flat(inner, f"{prefix}{key}/").items()}
    if isinstance(value, list | tuple):
        return {path: leaf for number, inner in enumerate(value) for path, leaf in flat(inner, f"{prefix}{number}/").items()}
    return {prefix.rstrip("/"): repr(value)}


def marks(trusted: Sequence[Item], suspect: Item) -> list[str]:
    """Return the fields in which all the owner's own entries agree and the suspect differs.

    At least one of the owner's entries must have been written after the suspect: then times, ids and counters differ among the
    owner's entries too and are no marks.
    """
    if len(trusted) < 2:
        return []
    own = [flat(item) for item in trusted]
    other = flat(suspect)
    found = []
    for name in sorted({name for item in own for name in item} | set(other)):
        values = {item.get(name, ABSENT) for item in own}
        if len(values) == 1 and other.get(name, ABSENT) not in values:
            found.append(name)
    return found
