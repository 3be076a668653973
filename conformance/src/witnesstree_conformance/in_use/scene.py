"""What the memory attacks share: owners that nobody else uses, what a tool hands over for a question, cells of results."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from witnesstree_conformance.phases import Failure
from witnesstree_conformance.protocol import Entry, Item, NotApplicable, Subject
from witnesstree_conformance.verdicts import NOT_APPLICABLE, NOT_EVALUABLE, is_refusal

HELD_IN_USE = "held"
OPEN = "open"
CHANNELS = ("external", "laundered", "agent")
"""How the attacker's words come in: labelled as a document; labelled as the owner's without his key; by the agent's own key."""
K = 5
"""So many hits are what a question delivers."""
Json = dict[str, Any]


@dataclass(frozen=True)
class MemoryAttack:
    """One attack in use; ``run`` gives its cells.

    Attributes:
        id: what results and tests call it.
        title: what tables call it.
        story: what the attacker does and hopes for.
        run: does it on an open subject.
        version: goes up when it changes, so that results of two versions are never compared.
    """

    id: str
    title: str
    story: str
    run: Callable[[Scene], list[Json]]
    version: int = 1


@dataclass
class Scene:
    """An open subject, and a supply of owners that hold nothing yet."""

    subject: Subject
    name: str
    count: int = 0
    minute: int = 0

    def owner(self) -> str:
        """Return an owner that nobody has used, and of whom no other is a prefix."""
        self.count += 1
        return f"{self.name}-{self.count}-x"

    def remember(self, owner: str, text: str, channel: str = "user", claims: Mapping[str, Any] | None = None) -> str:
        """Store one entry, a minute after the one before; return its id."""
        self.minute += 1
        entry = Entry(owner, text, 1_700_000_000 + 60 * self.minute, channel=channel, claims=claims or {})
        return self.subject.remember(entry)

    def is_kept_out(self, owner: str, text: str, channel: str, claims: Mapping[str, Any] | None = None) -> bool:
        """Store what an attacker wants stored; return whether the tool refuses it by a documented refusal.

        Raises:
            Exception: whatever else went wrong.
        """
        try:
            self.remember(owner, text, channel, claims)
        except NotApplicable:
            raise
        except Exception as error:
            if is_refusal(Failure.of(error), self.subject.refusals):
                return True
            raise
        return False

    def delivered(self, owner: str, question: str) -> list[Item]:
        """Return what the tool hands over for a question: its best hits, or everything if it has no search."""
        try:
            return list(self.subject.search(owner, question, K))
        except NotApplicable:
            return list(self.subject.recall(owner))


def text_of(value: Any) -> str:
    """Return everything an answer holds as one string."""
    return json.dumps(value, ensure_ascii=False, default=repr)


def cell(attack: str, verdict: str, reason: str = "", **more: Any) -> Json:
    """Return one cell of results; ``more`` names what is special about it: id, channel, mutation, language, figures."""
    return {"attack": attack, "verdict": verdict, "reason": reason, **{key: value for key, value in more.items() if value != ""}}


def guarded(attack: str, make: Callable[[], Json], **more: Any) -> Json:
    """Return the cell that ``make`` gives, or the one that says why there is none."""
    try:
        return make()
    except NotApplicable as error:
        return cell(attack, NOT_APPLICABLE, str(error), **more)
    except Exception as error:
        return cell(attack, NOT_EVALUABLE, f"a call failed: {Failure.of(error)}", **more)


def summary(cells: Sequence[Mapping[str, Any]]) -> Json:
    """Count verdicts: for each attack and channel, and in all; over-blocking apart."""
    words = (HELD_IN_USE, OPEN, NOT_APPLICABLE, NOT_EVALUABLE)
    total = {word: sum(cell["verdict"] == word for cell in cells) for word in words}
    groups: dict[str, dict[str, int]] = {}
    for one in cells:
        name = "/".join(str(one[key]) for key in ("attack", "channel") if one.get(key))
        counts = groups.setdefault(name, dict.fromkeys(words, 0))
        counts[one["verdict"]] += 1
    return {**total, "overblocked": sum(bool(one.get("overblocked")) for one in cells), "groups": groups}
