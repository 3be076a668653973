"""Bar a: what integrity costs a search and a get, beside the same calls without checks, in one run."""

from __future__ import annotations

from functools import partial

from bench.figures import Figure, interleaved
from bench.unchecked import UncheckedMemory
from bench.workshop import MIXED, Workshop
from witnesstree import Memory

K = 10
MAX_SHARE = 15.0
MAX_US_SMALL = 50.0
MAX_US_GET = 25.0
SMALL = 500
QUERIES = 100


def run(shop: Workshop) -> list[Figure]:
    """Measure owners of 100 to 50,000 rows in one store."""
    url, samples = shop.mixed()
    found = []
    with Memory.open(url) as memory:
        off = UncheckedMemory(memory)
        for user, rows in MIXED.items():
            queries = shop.corpus.queries(samples[user], QUERIES)
            for query in queries:
                assert memory.search(query, user=user, k=K).hits == off.search(query, user=user, k=K).hits
            checked = [partial(memory.search, query, user=user, k=K) for query in queries]
            bare = [partial(off.search, query, user=user, k=K) for query in queries]
            a, b = interleaved(checked, bare, 10 if rows <= 2_000 else 4)
            note = f"p50 {a:.0f} us with, {b:.0f} us without"
            if rows < SMALL:
                found.append(Figure("a", f"search, owner of {rows:,}: more than off", a - b, "us", MAX_US_SMALL, note=note))
            else:
                share = 100 * (a / b - 1)
                found.append(Figure("a", f"search, owner of {rows:,}: over off", share, "%", MAX_SHARE, note=note))
        ids = [hit.id for hit in memory.search(queries[0], user=user, k=100).hits]
        a, b = interleaved([partial(memory.get, i, user=user) for i in ids], [partial(off.get, i, user=user) for i in ids], 20)
        found.append(Figure("a", "get: more than off", a - b, "us", MAX_US_GET, note=f"p50 {a:.0f} us with, {b:.0f} us without"))
    return found
