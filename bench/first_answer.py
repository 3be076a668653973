"""Bar b: CPU of a fresh process from after its imports to its first answer."""

from __future__ import annotations

from collections.abc import Callable

from bench.figures import Figure
from bench.workshop import Workshop

RUNS = 5


def run(shop: Workshop) -> list[Figure]:
    """Measure cold and warm starts."""
    mixed, samples = shop.mixed()
    many, many_samples = shop.many()
    large, small = "user-50000", "user-042"
    query = shop.corpus.queries(samples[large], 1)[0]
    other = shop.corpus.queries(many_samples[small], 1)[0]

    def first(url: str, user: str, words: str, before: Callable[[], None]) -> float:
        taken = []
        for _ in range(RUNS):
            before()
            done = shop.child("bench.first_answer_child", url, user, words)
            assert done["hits"] > 0
            taken.append(done["cpu_s"])
        return min(taken)  # of several processes the quietest: noise only adds

    cold = first(mixed, large, query, shop.drop_caches)
    warm = first(mixed, large, query, lambda: None)
    few = first(many, small, other, shop.drop_caches)
    return [
        Figure("b", "first answer, no cache, owner of 50,000", cold, "s CPU", 1.0),
        Figure("b", "first answer, no cache, owner of 2,000 of 200,000 rows", few, "s CPU", 0.1),
        Figure("b", "first answer, warm cache, owner of 50,000", warm, "s CPU", 0.15),
    ]
