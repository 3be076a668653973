"""Questions that share no topic word with their note (``data/related.json``), in a store of 73 short notes.

Questions at even places were looked at while the rings of ``rules.related`` were weighed, those at odd places only to report.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bench.figures import Figure
from bench.workshop import Workshop
from witnesstree import Memory

FILE = Path(__file__).resolve().parent / "data" / "related.json"
HALVES = {"tuned on": 0, "only reported": 1}
K = 10


def run(shop: Workshop) -> list[Figure]:
    """Measure search without an embedder and with the default one."""
    data: dict[str, Any] = json.loads(FILE.read_text("utf-8"))
    figures = []
    for embedder in ("none", "local"):
        with Memory.open("ram:", user="owner", embedder=embedder) as memory:
            memory.add([note for _, note in data["pairs"]] + data["others"])
            hits = [[hit.text for hit in memory.search(question, k=K).hits] for question, _ in data["pairs"]]
        places = [found.index(note) if note in found else K for found, (_, note) in zip(hits, data["pairs"], strict=True)]
        for half, first in HALVES.items():
            mine = places[first::2]
            for k in (1, 3):
                share = 100 * sum(place < k for place in mine) / len(mine)
                figures.append(
                    Figure("r", f"no word shared, {embedder}, {half}: R@{k}", share, "%", note=f"{len(mine)} questions")
                )
    return figures
