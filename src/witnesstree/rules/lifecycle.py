"""The one table of status changes. What is not in it can not happen (house rule 2, threat T-L1)."""

from __future__ import annotations

from typing import Final

from witnesstree.types.decision import Decision
from witnesstree.types.trust import Op, Status, Trust

BIRTH: Final[dict[tuple[Op, bool], Status]] = {
    (Op.ADD, False): Status.ACTIVE,
    (Op.ADD, True): Status.HELD,
    (Op.IMPORT, False): Status.ACTIVE,
    (Op.IMPORT, True): Status.HELD,
}
"""(how it comes in, whether it is to wait for its owner) → first status."""

TRUST_AT_BIRTH: Final = Trust.CANDIDATE
"""Every memory and every corrected text begins as a candidate; nothing that exists yet moves it from there."""

TRANSITIONS: Final[dict[tuple[Status, Op], Status]] = {
    (Status.ACTIVE, Op.UPDATE): Status.ACTIVE,
    (Status.HELD, Op.UPDATE): Status.HELD,
    (Status.ACTIVE, Op.RETRACT): Status.RETRACTED,
    (Status.HELD, Op.RETRACT): Status.RETRACTED,
    (Status.HELD, Op.APPROVE): Status.ACTIVE,
}
"""(status before, what is done) → status after."""


def status_at_birth(op: Op, *, hold: bool) -> Status:
    """Return the first status of a memory.

    Raises:
        KeyError: memories do not come to be by this operation (a fault of the program, not of its caller).
    """
    return BIRTH[op, hold]


def decide(before: Status, op: Op) -> tuple[Decision, Status | None]:
    """Return whether a change is allowed, and the status after it."""
    after = TRANSITIONS.get((before, op))
    if after is None:
        return Decision(False, "no_transition", f"{op.name.lower()} is not possible for {before.name.lower()}"), None
    return Decision(True, "ok"), after
