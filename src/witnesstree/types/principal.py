"""Who acts, for whom: names after one documented normalisation."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

from witnesstree.errors import InputError
from witnesstree.types.limits import MAX_NAME_BYTES

SYSTEM_PARTITION = "system"


def normalise_name(value: object, field: str, *, required: bool = True) -> str:
    """Return an id or name in the form in which it is compared: Unicode NFC, otherwise exact (threat T-S5).

    Case, spaces inside, dots, slashes, quotes and wildcards keep two names apart. Control characters, invisible format
    characters, lone surrogates, surrounding white space and emptiness are refused, since two names that look alike must not
    be two owners by accident.

    Raises:
        InputError: naming ``field``.
    """
    if value is None and not required:
        return ""
    if not isinstance(value, str):
        raise InputError(f"{field} must be text, not {type(value).__name__}", field=field)
    if value.isascii() and value.isprintable() and value == value.strip() and 0 < len(value) <= MAX_NAME_BYTES:
        return value
    if len(value) > MAX_NAME_BYTES:
        raise InputError(f"{field} is longer than {MAX_NAME_BYTES} bytes", field=field)
    name = unicodedata.normalize("NFC", value)
    if not name and not required:
        return ""
    if not name or name != name.strip():
        raise InputError(f"{field} must not be empty or begin or end with white space", field=field)
    if any(unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp", "Co", "Cn") for c in name):
        raise InputError(f"{field} holds a control, invisible or unassigned character", field=field)
    if len(name.encode()) > MAX_NAME_BYTES:
        raise InputError(f"{field} is longer than {MAX_NAME_BYTES} bytes", field=field)
    return name


@dataclass(frozen=True, slots=True)
class Principal:
    """The authenticated caller of a verb: the user whose memory it is and, if any, the agent acting for them."""

    user: str
    agent: str = ""

    @classmethod
    def of(cls, user: object, agent: object = None) -> Principal:
        """Return the principal for raw names.

        Raises:
            InputError: a name is missing or malformed.
        """
        return cls(normalise_name(user, "user"), normalise_name(agent, "agent", required=False))

    @property
    def partition(self) -> str:
        """The partition that holds this user's memory; no other user's calls reach it (threats T-I1 and T-S1)."""
        return f"user:{self.user}"

    @property
    def actor(self) -> str:
        """The name that the log records for what this principal does."""
        return f"agent:{self.agent}" if self.agent else f"user:{self.user}"
