"""Quality of search and of answers on labelled conversations: ``WITNESSTREE_QUALITY=FILE python -m bench quality``.

The file has the form of LoCoMo and is not part of the project (its licence allows evaluation only). Every conversation is one
user's memory; a question's gold turns are its evidence. Questions of category 5 have no answer in the conversation.
"""

from __future__ import annotations

import json
import os
import statistics
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.figures import Figure
from bench.workshop import Workshop
from witnesstree import Memory
from witnesstree.rules.measures import ndcg_at, recall_at

VARIABLE = "WITNESSTREE_QUALITY"
K = 20
MIN_RECALL, MIN_NDCG, MAX_FALSE = 75.0, 59.0, 10.0


@dataclass
class Tally:
    """Figures of every question, 0 to 1."""

    recall: dict[int, list[float]] = field(default_factory=lambda: {1: [], 5: [], 10: [], 20: []})
    ndcg: list[float] = field(default_factory=list)
    answered: list[bool] = field(default_factory=list)
    right: list[bool] = field(default_factory=list)
    false: list[bool] = field(default_factory=list)

    def take(self, found: list[str], gold: set[str]) -> None:
        """Count one ranked answer in."""
        for k, values in self.recall.items():
            values.append(recall_at(k, found, gold))
        self.ndcg.append(ndcg_at(10, found, gold))


def turns(conversation: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a conversation's turns as messages."""
    number = 1
    while f"session_{number}_date_time" in conversation:
        when = datetime.strptime(conversation[f"session_{number}_date_time"], "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
        for turn in conversation.get(f"session_{number}", []):
            text = " ".join(filter(None, (turn["text"], turn.get("blip_caption"))))
            names = {"name": turn["speaker"], "session": f"session {number}", "id": turn["dia_id"]}
            yield {"role": "user", "content": text, "at": when.isoformat(), **names}
        number += 1


def measure(memory: Memory, user: str, questions: list[dict[str, Any]], turn_of: dict[str, str], tally: Tally) -> None:
    """Ask every question of one conversation."""
    known = set(turn_of.values())
    for question in questions:
        asked, gold = question["question"], known.intersection(question["evidence"])
        if question["category"] == 5:
            tally.false.append(not memory.answer(asked, user=user).abstained)
        elif gold:
            tally.take([turn_of[hit.id] for hit in memory.search(asked, user=user, k=K).hits], gold)
            answer = memory.answer(asked, user=user)
            tally.answered.append(not answer.abstained)
            tally.right.append(any(turn_of[citation.id] in gold for citation in answer.citations))


def run(shop: Workshop) -> list[Figure]:
    """Measure the file that the environment names."""
    path = os.environ.get(VARIABLE)
    if not path:
        return []
    tally = Tally()
    for number, sample in enumerate(json.loads(Path(path).read_text("utf-8"))):
        messages = list(turns(sample["conversation"]))
        with Memory.open(shop.path(f"quality-{number}"), user="owner") as memory:
            ids = memory.add(messages).episodes
            turn_of = {memory_id: message["id"] for memory_id, message in zip(ids, messages, strict=True)}
            measure(memory, "owner", sample["qa"], turn_of, tally)
    return _figures(tally)


def _figures(tally: Tally) -> list[Figure]:
    limits = {10: MIN_RECALL}
    means = {k: 100 * statistics.mean(values) for k, values in tally.recall.items()}
    found = [Figure("q", f"R@{k}", mean, "%", limits.get(k), at_least=True) for k, mean in means.items()]
    found.append(Figure("q", "nDCG@10", 100 * statistics.mean(tally.ndcg), "%", MIN_NDCG, at_least=True))
    found.append(Figure("q", "answered", 100 * statistics.mean(tally.answered), "%"))
    found.append(Figure("q", "answered from a gold turn", 100 * statistics.mean(tally.right), "%"))
    found.append(Figure("q", "false answers to unanswerable questions", 100 * statistics.mean(tally.false), "%", MAX_FALSE))
    return found
