"""Bar a: what integrity costs a search and a get, beside the same calls without checks, in one run.

Reported beside it, without a bar: a search in one session and a page of a list, for the largest owner.
"""

from __future__ import annotations

import statistics
from functools import partial

from bench.figures import Figure, cpu_us, interleaved, quietest
from bench.unchecked import UncheckedMemory
from bench.workshop import CHAT_ROWS, CHAT_TURNS, MIXED, Workshop
from witnesstree import Memory

K = 10
MAX_SHARE = 15.0
MAX_US_SMALL = 50.0
MAX_US_GET = 25.0
SMALL = 500
QUERIES = 100
FILTERED = 20
PAGES = 50


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
            is_small = rows < SMALL
            a, b = quietest(checked, bare, 4, 11) if is_small else interleaved(checked, bare, 10 if rows <= 2_000 else 4)
            note = f"p50 {a:.0f} us with, {b:.0f} us without"
            if is_small:
                found.append(Figure("a", f"search, owner of {rows:,}: more than off", a - b, "us", MAX_US_SMALL, note=note))
            else:
                share = 100 * (a / b - 1)
                found.append(Figure("a", f"search, owner of {rows:,}: over off", share, "%", MAX_SHARE, note=note))
        ids = [hit.id for hit in memory.search(queries[0], user=user, k=100).hits]
        a, b = quietest([partial(memory.get, i, user=user) for i in ids], [partial(off.get, i, user=user) for i in ids], 10)
        found.append(Figure("a", "get: more than off", a - b, "us", MAX_US_GET, note=f"p50 {a:.0f} us with, {b:.0f} us without"))
    return found + _in_one_session(shop)


def _in_one_session(shop: Workshop) -> list[Figure]:
    """Measure a search with a session filter and the first page of a list."""
    url, texts = shop.chats()
    with Memory.open(url) as memory:
        off = UncheckedMemory(memory)
        checked, bare = [], []
        for number, query in enumerate(shop.corpus.queries(texts[: 10 * CHAT_TURNS], FILTERED)):
            asked = {"user": "one", "session": f"chat {number % 10}", "k": K}
            assert memory.search(query, **asked).hits == off.search(query, **asked).hits
            checked.append(partial(memory.search, query, **asked))
            bare.append(partial(off.search, query, **asked))
        a, b = interleaved(checked, bare, 2)
        assert len(memory.list(user="one", limit=10).items) == 10
        page = statistics.median(cpu_us(partial(memory.list, user="one", limit=10)) for _ in range(PAGES))
    note = f"{CHAT_TURNS} turns in the session; p50 without {b:.0f} us"
    return [
        Figure("a", f"search in one session, owner of {CHAT_ROWS:,}", a, "us", note=note),
        Figure("a", f"list(limit=10), owner of {CHAT_ROWS:,}", page, "us"),
    ]
