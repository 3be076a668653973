"""Bar m: memory that a process holds after its first search, above the bare import."""

from __future__ import annotations

from bench.corpus import EnglishCorpus, parts
from bench.figures import Figure
from bench.workshop import BATCH, Workshop
from witnesstree import Memory

OWNERS = {"user-10000": 10_000, "user-100000": 100_000}


def run(shop: Workshop) -> list[Figure]:
    """Measure both owners of one store, without a cache and with it."""
    corpus = EnglishCorpus()
    url = shop.path("memory")
    with Memory.open(url) as memory:
        for user, rows in OWNERS.items():
            for size in parts(rows, BATCH):
                texts = corpus.texts(size)
                memory.add(texts, user=user)
    query = corpus.queries(texts, 1)[0]
    shop.drop_caches()
    found = []
    for user, rows in OWNERS.items():
        for state in ("no cache", "warm cache"):
            done = shop.child("bench.first_answer_child", url, user, query)
            before = done["rss_before_bytes"] / 1e6
            note = f"the import {before:.0f} MB; peak {done['peak_bytes'] / 1e6:.0f} MB"
            name = f"memory above the import, owner of {rows:,}, {state}"
            found.append(Figure("m", name, done["rss_bytes"] / 1e6 - before, "MB", note=note))
    return found
