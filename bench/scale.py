"""Bar s: stores of 10,000 to 1,000,000 rows in one file, with owners of 0.1 %, 10 % and the rest, default embedder for all.

The same questions go to every owner in turn, in one process, after one warm-up; first answers come from fresh processes.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass

from bench.corpus import EnglishCorpus, parts
from bench.figures import Figure
from bench.workshop import BATCH, Workshop
from witnesstree import Memory

SIZES = (10_000, 100_000, 1_000_000)
QUERIES = 40
CROWD = 20_000
CROWD_ROWS = 5
SMALL_ROWS = 1_000
SMALL_LIMIT = 1.5
TENTH_LIMIT = 40.0


@dataclass(frozen=True)
class Owner:
    """One owner of one store."""

    url: str
    user: str
    rows: int
    store: str

    @property
    def title(self) -> str:
        """The owner as tables show it."""
        return f"owner of {self.rows:,} in {self.store}"


class Built:
    """The stores, and what building them took."""

    def __init__(self, shop: Workshop) -> None:
        """Build all of them."""
        self._shop = shop
        self._corpus = EnglishCorpus()
        self.figures: list[Figure] = []
        self.owners: list[Owner] = []
        for size in SIZES:
            shares = {"small": size // 1000, "tenth": size // 10}
            shares["rest"] = size - sum(shares.values())
            self._build(f"a store of {size:,} rows", shares, size)
        crowd = {f"user-{number}": CROWD_ROWS for number in range(CROWD)}
        rows = CROWD * CROWD_ROWS + SMALL_ROWS
        self._build(f"a store of {CROWD + 1:,} owners", {"small": SMALL_ROWS} | crowd, rows, measured=("small",))
        self.queries = self._corpus.queries(self._corpus.texts(1_000), QUERIES)

    def _build(self, name: str, shares: dict[str, int], rows: int, measured: tuple[str, ...] | None = None) -> None:
        url = self._shop.path(name.replace(" ", "-"))
        cpu = 0.0
        with Memory.open(url) as memory:
            for user, count in shares.items():
                for size in parts(count, BATCH):
                    texts = self._corpus.texts(size)
                    start = time.process_time()
                    memory.add(texts, user=user)
                    cpu += time.process_time() - start
        size = sum(os.path.getsize(url + end) for end in ("", "-wal", "-shm") if os.path.exists(url + end))
        self.figures.append(Figure("s", f"build {name}", rows / cpu, "rows/s CPU"))
        self.figures.append(Figure("s", f"disk a row, {name}", size / rows, "bytes"))
        self.owners += [Owner(url, user, shares[user], name) for user in measured or shares]


def run(shop: Workshop) -> list[Figure]:
    """Build, search warm, then answer first from fresh processes."""
    built = Built(shop)
    asked = [f"{owner.url}\t{owner.user}" for owner in built.owners]
    medians = shop.child("bench.scale_child", "\n".join(asked), "\n".join(built.queries))
    cpu = dict(zip(built.owners, medians["cpu_us"], strict=True))
    wall = dict(zip(built.owners, medians["wall_us"], strict=True))
    found = built.figures
    for owner in built.owners:
        found.append(Figure("s", f"search p50, {owner.title}, CPU", cpu[owner] / 1000, "ms"))
        found.append(Figure("s", f"search p50, {owner.title}, wall", wall[owner] / 1000, "ms"))
    return found + list(ratios(cpu)) + list(_first_answers(shop, built))


def ratios(cpu: dict[Owner, float]) -> Iterator[Figure]:
    """Yield the bars: what an owner costs does not grow with the store around it, and grows no worse than its rows."""
    small = {owner.store: owner for owner in cpu if owner.rows == SMALL_ROWS}
    least, most = f"a store of {min(SIZES):,} rows", f"a store of {max(SIZES):,} rows"
    base = small[least]
    for store in sorted(set(small) - {least}):
        name = f"owner of {SMALL_ROWS:,} in {store}, over one in {least}"
        yield Figure("s", name, cpu[small[store]] / cpu[base], "times", SMALL_LIMIT)
    large = next(owner for owner in cpu if owner.store == most and owner.rows == max(SIZES) // 10)
    name = f"owner of {large.rows:,} in {most}, over owner of {SMALL_ROWS:,} in {least}"
    yield Figure("s", name, cpu[large] / cpu[base], "times", TENTH_LIMIT)


def _first_answers(shop: Workshop, built: Built) -> Iterator[Figure]:
    for owner in built.owners:
        shop.drop_caches()
        for state in ("no cache", "warm cache"):
            done = shop.child("bench.first_answer_child", owner.url, owner.user, built.queries[0])
            note = f"{done['wall_s']:.2f} s wall"
            yield Figure("s", f"first answer, {state}, {owner.title}", done["cpu_s"], "s CPU", note=note)
        above = (done["rss_bytes"] - done["rss_before_bytes"]) / 1e6
        yield Figure("s", f"memory above the import, warm cache, {owner.title}", above, "MB")
