"""Bar c: rows that a full audit checks per second of CPU time."""

from __future__ import annotations

import statistics

from bench.figures import Figure, cpu_us
from bench.workshop import MANY, MIXED, Workshop
from witnesstree import Memory

MIN_RATE = 60_000


def run(shop: Workshop) -> list[Figure]:
    """Audit a store of few owners and one of many."""
    found = []
    for name, (url, _), owners, runs in (("5", shop.mixed(), MIXED, 3), ("100", shop.many(), MANY, 1)):
        with Memory.open(url) as memory:
            taken = [cpu_us(memory.audit) for _ in range(runs)]
            report = memory.audit()
        rows = sum(owners.values())
        assert report.ok
        assert report.rows > rows
        rate = rows / (statistics.median(taken) / 1e6)
        found.append(Figure("c", f"full audit, {rows:,} rows of {name} owners", rate, "turns/s", MIN_RATE, at_least=True))
    return found
