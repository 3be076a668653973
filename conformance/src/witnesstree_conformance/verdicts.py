"""Verdicts: what a read-back and an audit say about an edit. Pure; nothing here knows a tool.

Only a documented integrity refusal on the read path is ``refused``. A crash, a silently shorter answer and a line in a log
are three
other words, and none of them counts as detection.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from witnesstree_conformance.phases import Failure

REFUSED = "refused"
REPORTED = "reported"
NO_EFFECT = "no_effect"
ACCEPTED = "accepted"
EXECUTED = "executed"
DROPPED = "dropped"
LOGGED = "logged"
CRASHED = "crashed"
DENIED = "denied"
NOT_APPLICABLE = "n/a"
NOT_EVALUABLE = "not_evaluable"

MEANING: Mapping[str, str] = {
    REFUSED: "a documented integrity error on the read path",
    REPORTED: "served by reads; the tool's own audit call finds it",
    NO_EFFECT: "every answer equals the clean store's",
    ACCEPTED: "altered data was served and nothing said so",
    EXECUTED: "reading the store ran the attacker's code",
    DROPPED: "an entry is missing from answers although nothing was deleted, and nothing said so",
    LOGGED: "altered data was served; a line in the log is all there is",
    CRASHED: "an error that no one documents as an integrity refusal",
    DENIED: "one bad row also stops the reads of other owners",
    NOT_APPLICABLE: "the store has nothing that this attack could touch",
    NOT_EVALUABLE: "a control failed or the edit did not land: no verdict was earned",
}
HELD = frozenset({REFUSED, NO_EFFECT})
"""Verdicts of a read path that holds."""
NOTICED = HELD | {REPORTED}
_BAD = (EXECUTED, ACCEPTED, DROPPED, LOGGED, DENIED, CRASHED, REPORTED, REFUSED, NO_EFFECT)
"""Worst first."""


@dataclass(frozen=True)
class Reading:
    """What one channel of reading gave: an answer or a failure."""

    answer: Any = None
    failure: Failure | None = None


@dataclass(frozen=True)
class Judgement:
    """The verdict of the read path, its reason, and per channel what was seen."""

    verdict: str
    reason: str = ""
    channels: Mapping[str, str] = field(default_factory=dict)

    @property
    def has_effect(self) -> bool:
        """Whether altered or missing data reached the reader."""
        return self.verdict in {ACCEPTED, DROPPED, LOGGED, EXECUTED}


def is_refusal(failure: Failure, refusals: Sequence[str]) -> bool:
    """Return whether a tool documents this exception as an integrity refusal."""
    return bool(set(failure.names) & {*refusals, "witnesstree_conformance.protocol.Refusal"})


def worst(verdicts: Sequence[str]) -> str:
    """Return the worst of some verdicts of a read path."""
    return min(verdicts, key=_BAD.index)


def judge(
    clean: Mapping[str, Reading],
    seen: Mapping[str, Reading],
    refusals: Sequence[str],
    *,
    removes: bool,
    logged: Sequence[str] = (),
) -> Judgement:
    """Compare what was read from an edited store with what the clean one gave.

    Args:
        clean: channel → reading of the clean store.
        seen: the same channels after the edit.
        refusals: names of the tool's integrity exceptions.
        removes: the edit deletes or hides entries, so that a shorter answer is its aim and not a loss.
        logged: warnings that the clean read did not log.
    """
    channels: dict[str, str] = {}
    reasons: dict[str, str] = {}
    for name, before in clean.items():
        channels[name], reasons[name] = _judge_channel(before, seen.get(name, Reading()), refusals, removes=removes)
    verdict = worst(list(channels.values())) if channels else NOT_EVALUABLE
    reason = next((reasons[name] for name, word in channels.items() if word == verdict), "")
    if verdict in {ACCEPTED, DROPPED} and logged:
        return Judgement(LOGGED, logged[0], channels)
    return Judgement(verdict, reason, channels)


def _judge_channel(before: Reading, after: Reading, refusals: Sequence[str], *, removes: bool) -> tuple[str, str]:
    if after.failure is not None:
        if before.failure is not None and before.failure.names == after.failure.names:
            return NO_EFFECT, ""
        return (REFUSED if is_refusal(after.failure, refusals) else CRASHED), str(after.failure)
    old, new = _lines(before.answer), _lines(after.answer)
    if old == new:
        return NO_EFFECT, ""
    added = [line for line in new if line not in old]
    if not added and len(new) < len(old) and not removes:
        return DROPPED, f"{len(old) - len(new)} fewer"
    return ACCEPTED, _difference(old, new)


def words_alone(readings: Mapping[str, Reading]) -> dict[str, Reading]:
    """Return readings with nothing but the words: two honest writes of the same words differ in ids and times."""

    def words(answer: Any) -> Any:
        if isinstance(answer, list):
            return [words(item) for item in answer]
        return {"text": answer.get("text")} if isinstance(answer, dict) else answer

    return {name: Reading(words(reading.answer), reading.failure) for name, reading in readings.items()}


def _lines(answer: Any) -> list[str]:
    items = answer if isinstance(answer, list) else [answer]
    return [json.dumps(item, sort_keys=True, ensure_ascii=False, default=repr) for item in items]


def _difference(old: list[str], new: list[str]) -> str:
    """Say in one line what a reader got that he should not, or did not get."""
    added = [line for line in new if line not in old]
    missing = [line for line in old if line not in new]
    if added and missing:
        return f"served {_short(added[0], missing[0])}"
    if added:
        return f"served besides: {added[0][:160]}"
    if missing:
        return f"no longer served: {missing[0][:160]}"
    return "served twice" if len(new) > len(old) else "served in another order"


def _short(new: str, old: str) -> str:
    """Return the part of a line that differs, with a little of its surroundings."""
    start = next((n for n, (a, b) in enumerate(zip(new, old, strict=False)) if a != b), 0)
    return f"…{new[max(0, start - 60) : start + 60]}… instead of …{old[max(0, start - 60) : start + 60]}…"
