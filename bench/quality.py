"""Quality of search and of answers on labelled conversations: ``WITNESSTREE_QUALITY=FILE python -m bench quality``.

The file has the form of LoCoMo and is not part of the project (its licence allows evaluation only). Every conversation is one
user's memory; a question's gold turns are its evidence. Questions of category 5 have no answer in the conversation.
"""

from __future__ import annotations

import importlib.util
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
from witnesstree.rules.measures import ndcg_at, recall_at, reciprocal_rank

VARIABLE = "WITNESSTREE_QUALITY"
K = 20
LIMITS = {"local": {"R@10": 75.0, "nDCG@10": 59.0}, "minilm": {"R@10": 79.0, "nDCG@10": 61.0}}
MAX_FALSE = 10.0


@dataclass
class Tally:
    """Figures of every question, 0 to 1."""

    recall: dict[int, list[float]] = field(default_factory=lambda: {1: [], 5: [], 10: [], 20: []})
    ndcg: list[float] = field(default_factory=list)
    reciprocal: list[float] = field(default_factory=list)
    answered: list[bool] = field(default_factory=list)
    right: list[bool] = field(default_factory=list)
    false: list[bool] = field(default_factory=list)

    def take(self, found: list[str], gold: set[str]) -> None:
        """Count one ranked answer in."""
        for k, values in self.recall.items():
            values.append(recall_at(k, found, gold))
        self.ndcg.append(ndcg_at(10, found, gold))
        self.reciprocal.append(reciprocal_rank(found, gold))

    def means(self) -> dict[str, float]:
        """Return the means of what was found, in %."""
        kept = {f"R@{k}": values for k, values in self.recall.items()} | {"nDCG@10": self.ndcg, "MRR": self.reciprocal}
        return {name: 100 * statistics.mean(values) for name, values in kept.items()}


def gold_of(question: dict[str, Any], known: set[str]) -> set[str]:
    """Return the turns that answer a question; none if it has no answer, or its evidence names no turn."""
    return set() if question["category"] == 5 else known.intersection(question["evidence"])


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
        asked, gold = question["question"], gold_of(question, known)
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
    samples = json.loads(Path(path).read_text("utf-8"))
    embedders = ["local"] + (["minilm"] if importlib.util.find_spec("onnxruntime") else [])
    figures = []
    for embedder in embedders:
        tally = Tally()
        for memory, sample, turn_of in _stores(shop, samples, embedder):
            measure(memory, "owner", sample["qa"], turn_of, tally)
        figures += _figures(tally, embedder)
    return figures


def as_found_by_us(shop: Workshop, samples: list[dict[str, Any]]) -> Tally:
    """Return what a search finds, without the questions that have no answer and without ``answer``."""
    tally = Tally()
    for memory, sample, turn_of in _stores(shop, samples, "local", "beside peers"):
        for question in sample["qa"]:
            if gold := gold_of(question, set(turn_of.values())):
                tally.take([turn_of[hit.id] for hit in memory.search(question["question"], user="owner", k=K).hits], gold)
    return tally


def _stores(
    shop: Workshop, samples: list[dict[str, Any]], embedder: str, purpose: str = ""
) -> Iterator[tuple[Memory, dict[str, Any], dict[str, str]]]:
    for number, sample in enumerate(samples):
        messages = list(turns(sample["conversation"]))
        path = Path(shop.path(f"quality {purpose} {embedder} {number}"))
        with Memory.open(path, user="owner", embedder=embedder) as memory:
            ids = memory.add(messages).episodes
            turn_of = {memory_id: message["id"] for memory_id, message in zip(ids, messages, strict=True)}
            yield memory, sample, turn_of
        for end in ("", "-wal", "-shm"):
            Path(f"{path}{end}").unlink(missing_ok=True)


def _figures(tally: Tally, embedder: str) -> list[Figure]:
    means, limits = tally.means(), LIMITS[embedder]
    found = [Figure("q", f"{embedder}: {name}", mean, "%", limits.get(name), at_least=True) for name, mean in means.items()]
    for name, values, limit in (
        ("answered", tally.answered, None),
        ("answered from a gold turn", tally.right, None),
        ("false answers to unanswerable questions", tally.false, MAX_FALSE),
    ):
        found.append(Figure("q", f"{embedder}: {name}", 100 * statistics.mean(values), "%", limit))
    return found
