"""Names that a user confirmed to be of one thing: a question that uses one of them also finds what uses the other."""

from __future__ import annotations

from typing import Final

from witnesstree.errors import InputError
from witnesstree.flow.fetching import Fetching
from witnesstree.flow.view import View
from witnesstree.rules.alias import Alias, parse_alias
from witnesstree.types.record import Record
from witnesstree.types.trust import Authority, Op

MAX_ALIASES: Final = 200
"""Aliases of one user that take part in a search, the newest first."""


def confirmed_aliases(view: View, fetching: Fetching) -> list[Alias]:
    """Return the aliases that count: the user's own words, or what the user approved. Others rest until then (threat T-L1).

    Raises:
        SealError: one does not verify, and the store is not in quarantine mode.
    """
    facts = view.aliases()[:MAX_ALIASES]
    found = []
    for record in fetching.unfiltered(facts) if facts else ():
        if record is not None and is_confirmed(record):
            try:
                found.append(parse_alias(record.text))
            except InputError:
                continue  # another version of this program had other rules
    return found


def is_confirmed(record: Record) -> bool:
    """Return whether the user said it, or approved what somebody else proposed."""
    return record.authority is Authority.AUTHORIZED or record.op is Op.APPROVE
