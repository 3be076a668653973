"""What a rule answers: yes or no, with a reason a program and a person can read."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Decision:
    """A rule's answer. A "no" is an answer, not an exception."""

    allowed: bool
    reason: str
    detail: str = ""

    def to_dict(self) -> dict[str, object]:
        """Return plain data."""
        return {"allowed": self.allowed, "reason": self.reason, "detail": self.detail}
