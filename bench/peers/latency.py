"""Bar p: search beside the peers: the same rows of one owner, the same questions, every system in turn, in one run.

Every system is a process of its own and all stand loaded side by side; only the one that is asked works. Two figures of ours:
with the default embedder, and with ``embedder='none'``; the bars hold for both.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from contextlib import ExitStack

from bench.corpus import EnglishCorpus
from bench.figures import Figure, number
from bench.peers.driver import OURS, OURS_WORDS, SYSTEMS, VERAMEM, VEREL, Child, PeerError, System, error_figure
from bench.workshop import Workshop

SIZES = (10_000, 50_000)
QUERIES = 60
ROUNDS = 2
K = 10
BOUND_S = 300.0
USER = "one"
LIMITS = ((VEREL, 10_000, 1.5), (VEREL, 50_000, 0.6), (VERAMEM, 50_000, 0.2))
GROWTH_LIMIT = 5.0


class Bench:
    """The loaded systems, and what was measured of them."""

    def __init__(self, shop: Workshop, stack: ExitStack) -> None:
        """Begin with none."""
        self._shop = shop
        self._stack = stack
        self.figures: list[Figure] = []
        self.children: dict[tuple[System, int], Child] = {}
        self.cpu: dict[tuple[System, int], list[float]] = {}
        self.wall: dict[tuple[System, int], list[float]] = {}

    def load(self, system: System, size: int, texts: list[str], queries: list[str]) -> None:
        """Start a system and give it the rows; what fails, or takes too long, is a line of its own."""
        ids = [str(place) for place in range(size)]
        try:
            child = self._stack.enter_context(Child(system, self._shop.folder / f"peers-{size}"))
            child.give_vectors(queries)
            child.open("store")
            loaded = child.load(ids, texts[:size], USER, BOUND_S)
            first = child.ask("search", query=queries[0], user=USER, k=K)
            if loaded.rows == size:
                self.children[system, size] = child
                self.cpu[system, size], self.wall[system, size] = [], []
            note = f"first search {first['wall_us'] / 1000:.0f} ms wall"
            if loaded.rows < size:
                note = f"only {loaded.rows:,} rows went in within {BOUND_S:.0f} s"
            per_row = 1000 / loaded.rows
            self._add(system, f"add a row, {size:,} rows, CPU", loaded.cpu_s * per_row, "ms", note)
            self._add(system, f"add a row, {size:,} rows, wall", loaded.wall_s * per_row, "ms", note)
        except PeerError as error:
            self.figures.append(error_figure("p", system, error))

    def ask(self, queries: list[str]) -> None:
        """Ask every loaded system every question, in turn; who begins moves on."""
        order = list(self.children)
        for turn in range(ROUNDS * len(queries)):
            start = turn % len(order)
            for key in order[start:] + order[:start]:
                if key in self.children:
                    self._ask_one(key, queries[turn % len(queries)])

    def _ask_one(self, key: tuple[System, int], query: str) -> None:
        try:
            took = self.children[key].ask("search", query=query, user=USER, k=K)
        except PeerError as error:
            self.figures.append(error_figure("p", key[0], error))
            del self.children[key]
            return
        self.cpu[key].append(took["cpu_us"])
        self.wall[key].append(took["wall_us"])

    def measure(self) -> None:
        """Report medians, memory and disk."""
        for (system, size), child in self.children.items():
            key = (system, size)
            self._add(system, f"search p50, {size:,} rows, CPU", statistics.median(self.cpu[key]) / 1000, "ms")
            self._add(system, f"search p50, {size:,} rows, wall", statistics.median(self.wall[key]) / 1000, "ms")
            try:
                used = child.ask("measure")
                self._add(system, f"memory, {size:,} rows", used["rss_bytes"] / 1e6, "MB")
                self._add(system, f"disk a row, {size:,} rows", child.ask("close")["disk_bytes"] / size, "bytes")
            except PeerError as error:
                self.figures.append(error_figure("p", system, error))

    def _add(self, system: System, name: str, value: float, unit: str, note: str = "") -> None:
        self.figures.append(Figure("p", name, value, unit, system=system.title, note=note))


def run(shop: Workshop) -> list[Figure]:
    """Measure all systems at both sizes."""
    corpus = EnglishCorpus()
    texts = corpus.texts(max(SIZES))
    queries = corpus.queries(texts[: min(SIZES)], QUERIES)
    with ExitStack() as stack:
        bench = Bench(shop, stack)
        for size in SIZES:
            for system in SYSTEMS:
                bench.load(system, size, texts, queries)
        bench.ask(queries)
        bench.measure()
    return bench.figures + list(ratios(bench.cpu, bench.wall))


def ratios(cpu: dict[tuple[System, int], list[float]], wall: dict[tuple[System, int], list[float]]) -> Iterator[Figure]:
    """Yield the bars: our median over a peer's, and over our own at the smaller size; a peer that is missing misses the bar."""
    small, large = min(SIZES), max(SIZES)
    for ours in (OURS, OURS_WORDS):
        for peer, size, limit in LIMITS:
            name = f"search, {size:,} rows: {ours.mode}, over {peer.name}"
            yield _ratio(name, (ours, size), (peer, size), cpu, wall, limit)
        name = f"search: {ours.mode}, {large:,} rows over {small:,}"
        yield _ratio(name, (ours, large), (ours, small), cpu, wall, GROWTH_LIMIT)


def _ratio(
    name: str,
    one: tuple[System, int],
    other: tuple[System, int],
    cpu: dict[tuple[System, int], list[float]],
    wall: dict[tuple[System, int], list[float]],
    limit: float,
) -> Figure:
    if not cpu.get(one) or not cpu.get(other):
        return Figure("p", name, 0.0, "", 1.0, at_least=True, note="could not be measured")
    ours, theirs = statistics.median(cpu[one]), statistics.median(cpu[other])
    in_wall = statistics.median(wall[one]) / statistics.median(wall[other])
    note = f"CPU p50 {ours / 1000:.2f} ms over {theirs / 1000:.2f} ms; in wall time {number(in_wall)}"
    return Figure("p", name, ours / theirs, "times", limit, note=note)
