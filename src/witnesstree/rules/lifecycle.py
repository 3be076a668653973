"""The one table of status changes. What is not in it can not happen (house rule 2, threat T-L1)."""

from __future__ import annotations

from typing import Final

from witnesstree.types.decision import Decision
from witnesstree.types.trust import Op, Status

TRANSITIONS: Final[dict[tuple[Status | None, Op], Status]] = {
    (None, Op.ADD): Status.ACTIVE,
    (None, Op.IMPORT): Status.ACTIVE,
    (Status.ACTIVE, Op.UPDATE): Status.ACTIVE,
    (Status.HELD, Op.UPDATE): Status.HELD,
    (Status.ACTIVE, Op.RETRACT): Status.RETRACTED,
    (Status.HELD, Op.RETRACT): Status.RETRACTED,
    (Status.HELD, Op.APPROVE): Status.ACTIVE,
}
"""(status before, what is done) → status after. A held memory starts as (None, ADD) with ``hold``; see ``decide``."""


def decide(before: Status | None, op: Op, *, hold: bool = False) -> tuple[Decision, Status | None]:
    """Return whether a change is allowed, and the status after it."""
    after = TRANSITIONS.get((before, op))
    if after is None:
        word = "nothing" if before is None else before.name.lower()
        return Decision(False, "no_transition", f"{op.name.lower()} is not possible for {word}"), None
    if hold and before is None:
        after = Status.HELD
    return Decision(True, "ok"), after
