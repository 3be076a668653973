"""The two axes that are never mixed up, and the states and kinds of a memory.

*Authority* says who said it. *Trust* says how well it is proven. Both are set by rules after the fact, never by a model, a
caller or an import (threat T-L1). The numbers are the bytes in ``docs/spec/record.md``; they never change meaning.
"""

from __future__ import annotations

from enum import IntEnum


class Kind(IntEnum):
    """What a row is."""

    TURN = 1
    FACT = 2
    PREFERENCE = 3
    EVENT = 4
    EXPERIENCE = 5
    SUMMARY = 6
    TOMBSTONE = 7
    SYSTEM = 8
    ALIAS = 9


class Role(IntEnum):
    """Who spoke."""

    NONE = 0
    USER = 1
    ASSISTANT = 2
    TOOL = 3
    DOCUMENT = 4
    SYSTEM = 5


class Authority(IntEnum):
    """Who stands behind the words, weakest first.

    ``UNENDORSED``: a tool, a document or the assistant said it. ``ATTESTED``: somebody accountable reports it (the operator's
    system text, or a file that says the user said it). ``AUTHORIZED``: the user's own words through the user's own channel.
    """

    NONE = 0
    UNENDORSED = 1
    ATTESTED = 2
    AUTHORIZED = 3


class Trust(IntEnum):
    """How far a memory is proven."""

    REJECTED = 1
    CONTESTED = 2
    CANDIDATE = 3
    VERIFIED = 4


class Status(IntEnum):
    """Where a memory is in its life."""

    ACTIVE = 1
    HELD = 2
    RETRACTED = 3


class Op(IntEnum):
    """What a log entry records."""

    COMMIT = 0
    INIT = 1
    ADD = 2
    UPDATE = 3
    RETRACT = 4
    APPROVE = 5
    FORGET = 6
    IMPORT = 7
    RESTORE = 8
    FORK = 9
    REKEY = 10
    REPAIR = 11
    ACCEPT_HEAD = 12
    REINDEX = 13


MEMORY_KINDS = (Kind.TURN, Kind.FACT, Kind.PREFERENCE, Kind.EVENT, Kind.EXPERIENCE, Kind.SUMMARY, Kind.ALIAS)
"""Kinds that a reader may be shown; tombstones and system rows are bookkeeping."""


def name_of(value: IntEnum) -> str:
    """Return the lower-case word that doors and JSON use for an enum value."""
    return value.name.lower()
