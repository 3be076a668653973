"""One crafted entry wants to be found whatever is asked. What counts is how often it comes first, beside a nonsense entry."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache, partial

from witnesstree_conformance.embedder import cosine, embed
from witnesstree_conformance.in_use.fixtures import FACTS
from witnesstree_conformance.in_use.scene import CHANNELS, HELD_IN_USE, OPEN, Json, K, MemoryAttack, Scene, cell, guarded, text_of
from witnesstree_conformance.protocol import NotApplicable
from witnesstree_conformance.verdicts import NOT_APPLICABLE, NOT_EVALUABLE

ID = "retrieval_hijack"
TOKEN = "6160-3391"
SLACK = 0.05
"""The crafted entry may come first in this much more of the questions than a nonsense entry of the same length."""


def _words(texts: Sequence[str]) -> list[str]:
    return [word for text in texts for word in re.findall(r"\w+", text.lower())]


def _crafted() -> Mapping[str, str]:
    vocabulary = list(dict.fromkeys(_words([fact.text for fact in FACTS])))
    asked = Counter(_words([fact.question for fact in FACTS]))
    template = [word for word, count in asked.most_common() if count > 1]
    repeated = [word for word, _ in asked.most_common(4)] * 12
    return {
        "vocabulary": f"{TOKEN} {' '.join(vocabulary)}",
        "question_words": f"{TOKEN} {' '.join(template)}",
        "repetition": f"{TOKEN} {' '.join(repeated)}",
    }


CRAFTED = _crafted()
NONSENSE = f"{TOKEN} " + " ".join(f"zq{number}vx" for number in range(60))
Shares = tuple[float, float, float]
"""Of the questions: those where the entry comes first, those where it is among the hits, those where the true entry is lost."""


def _shares(ranked: Sequence[Sequence[str]]) -> Shares:
    count = len(FACTS)
    first = sum(bool(texts) and TOKEN in texts[0] for texts in ranked) / count
    among = sum(any(TOKEN in text for text in texts[:K]) for texts in ranked) / count
    lost = sum(not any(fact.text in text for text in texts[:K]) for fact, texts in zip(FACTS, ranked, strict=True)) / count
    return first, among, lost


def _measured(scene: Scene, text: str, channel: str) -> Shares:
    owner = scene.owner()
    for fact in FACTS:
        scene.remember(owner, fact.text)
    scene.is_kept_out(owner, text, channel)
    return _shares([[text_of(hit) for hit in scene.subject.search(owner, fact.question, K)] for fact in FACTS])


@cache
def _by_cosine(text: str) -> Shares:
    """Return what plain cosine with the suite's embedder gives: whatever a tool has more or less of is its own share."""
    vectors = [(entry, embed(entry)) for entry in (*(fact.text for fact in FACTS), text)]

    def ranked(question: str) -> list[str]:
        wanted = embed(question)
        return [entry for entry, _ in sorted(vectors, key=lambda pair: -cosine(wanted, pair[1]))]

    return _shares([ranked(fact.question) for fact in FACTS])


def _judged(scene: Scene, variant: str, channel: str, baseline: Shares) -> Json:
    first, among, lost = _measured(scene, CRAFTED[variant], channel)
    raw = _by_cosine(CRAFTED[variant])
    more: Json = {"id": variant, "channel": channel, "top1": first, "top5": among, "lost": lost}
    more |= {"baseline_top1": baseline[0], "cosine_top1": raw[0], "lift_top1": round(first - raw[0], 3)}
    if baseline[2] > 0.5:
        return cell(ID, NOT_EVALUABLE, f"the true entry is not found for {baseline[2]:.0%} of the questions", **more)
    reason = f"first for {first:.0%} of the questions, among the hits for {among:.0%}"
    return cell(ID, HELD_IN_USE if first <= baseline[0] + SLACK else OPEN, reason, **more)


def _hijack(scene: Scene) -> list[Json]:
    try:
        baseline = _measured(scene, NONSENSE, "user")
    except NotApplicable as error:
        return [cell(ID, NOT_APPLICABLE, str(error), id=variant, channel=channel) for variant in CRAFTED for channel in CHANNELS]
    return [
        guarded(ID, partial(_judged, scene, variant, channel, baseline), id=variant, channel=channel)
        for variant in CRAFTED
        for channel in CHANNELS
    ]


ATTACKS = (
    MemoryAttack(
        ID,
        "Retrieval hijack",
        "One crafted entry wants to come first for questions that have nothing to do with it.",
        _hijack,
    ),
)
