"""Bar d: CPU of durable writes by owners of 1,000 to 200,000 rows, beside two baselines in the same run.

The bar is about CPU besides fsync, so the COMMIT statement, where SQLite writes and syncs, is measured apart on both sides.
Baselines: a bare insert of content of the same length with our pragmas; and the same turn kept without integrity, which also
does what any memory has to: check the message, embed it, encode the record, index it all. The bar is about the second.

Every size is measured in every round, and the quietest round of each size counts: noise only adds, and comes in phases.
"""

from __future__ import annotations

import gc
import secrets
import statistics
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import apsw
import numpy as np

from bench.corpus import parts
from bench.figures import Figure, cpu_us
from bench.workshop import BATCH, Workshop
from witnesstree import Memory
from witnesstree.flow import ingest
from witnesstree.flow.columns import LATEST, Columns
from witnesstree.flow.vectors import Vectors, embedded
from witnesstree.flow.words import WordIndex
from witnesstree.providers import make_embedder
from witnesstree.rules.terms import marks_of, words_of
from witnesstree.types.facts import read_parts
from witnesstree.types.message import check_message
from witnesstree.types.principal import Principal
from witnesstree.types.wire import encode

ARRIVAL = ingest.Arrival(Principal.of("one"))
SIZES = (1_000, 10_000, 50_000, 100_000, 200_000)
SINGLES = 40
ROUNDS = 10
BATCHES = 2
BATCH_ROWS = 500
CONTENT_BYTES = 300
MAX_ADD_US = 1_000
MAX_OVERHEAD_US = 300
MIN_RATE = 5_000
FLAT = 1.25


class CommitApart:
    """A connection that adds up the CPU time of its COMMIT statements."""

    def __init__(self, connection: apsw.Connection) -> None:
        """Watch ``connection``."""
        self._connection = connection
        self.commit_us = 0.0

    def execute(self, statement: str, *arguments: Any) -> Any:
        """Run a statement."""
        if statement != "COMMIT":
            return self._connection.execute(statement, *arguments)
        start = time.process_time()
        try:
            return self._connection.execute(statement)
        finally:
            self.commit_us += (time.process_time() - start) * 1e6

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


class BareTable:
    """A table with rows as large as ours, written by one INSERT a transaction, with our pragmas and nothing else."""

    def __init__(self, path: Path, rows: int) -> None:
        """Make the table and fill it."""
        self._connection = apsw.Connection(str(path))
        for pragma in ("journal_mode = WAL", "synchronous = FULL", "secure_delete = ON", "temp_store = MEMORY"):
            self._connection.execute(f"PRAGMA {pragma}")
        self._connection.execute(
            "CREATE TABLE memory (seq INTEGER PRIMARY KEY, owner BLOB NOT NULL, content BLOB NOT NULL) STRICT"
        )
        self._connection.execute("CREATE INDEX memory_owner ON memory (owner)")
        self._words = WordIndex()
        self._words.add(["warm"])
        self._vectors, self._columns = Vectors(), Columns()
        self._embedder: Any = make_embedder("local")
        self._words.scores(["warm"], np.ones(1, np.bool_))
        self._next = 0
        with self._connection:
            for _ in range(rows):
                self._insert(secrets.token_bytes(CONTENT_BYTES))
        self.watch = CommitApart(self._connection)

    def _insert(self, content: bytes) -> None:
        self._connection.execute("INSERT INTO memory (seq, owner, content) VALUES (?, ?, ?)", (self._next, b"0" * 16, content))
        self._next += 1

    def add(self, content: bytes) -> None:
        """Insert one row durably."""
        self.watch.execute("BEGIN IMMEDIATE")
        self._insert(content)
        self.watch.execute("COMMIT")

    def keep(self, text: str) -> None:
        """Check, encode, insert durably and index one turn: what remains of ``add`` without integrity."""
        message = check_message(text)
        record = ingest._turn(ARRIVAL, message, ingest.fingerprint_of(ARRIVAL, message), at=time.time_ns() // 1000)
        [vector] = embedded(self._embedder, [text])
        content = encode(record)
        self.add(content + vector)
        parts, words = read_parts(self._next, content), words_of(text)
        marks, names, seq = marks_of(text, words), (parts.session, parts.scope, parts.name), self._next
        self._columns.append(parts.fixed, (bytes(33), bytes(32)), seq=seq, first_seq=0, names=names, marks=marks, state=LATEST)
        self._words.add(words)
        self._vectors.add(vector)

    def close(self) -> None:
        """Close it."""
        self._connection.close()


@dataclass(frozen=True)
class Singles:
    """Medians, in CPU microseconds, of a durable add and of the two baselines; whole, and without their COMMIT."""

    add: float
    insert: float
    keep: float
    add_apart: float
    insert_apart: float
    keep_apart: float


class Grown:
    """A memory with one owner of so many rows, and a bare table as large."""

    def __init__(self, shop: Workshop, rows: int) -> None:
        """Make both and fill them."""
        self.shop = shop
        self.memory = Memory.open(shop.path(f"writes-{rows}"))
        for part in parts(rows, BATCH):
            self.memory.add(shop.corpus.texts(part), user="one")
        self.memory.search("warm", user="one")
        self.table = BareTable(shop.folder / f"bare-{rows}.db", rows)
        store: Any = self.memory._store.store
        self.watch = store._writer = CommitApart(store._open_writer())

    def singles(self) -> Singles:
        """Measure an add and both baselines in turn, and take medians."""
        whole: tuple[list[float], list[float], list[float]] = ([], [], [])
        apart: tuple[list[float], list[float], list[float]] = ([], [], [])
        gc.collect()
        for text in self.shop.corpus.texts(SINGLES):
            content = secrets.token_bytes(CONTENT_BYTES)
            calls = (partial(self.memory.add, text, user="one"), partial(self.table.add, content), partial(self.table.keep, text))
            for times, without, watch, call in zip(
                whole, apart, (self.watch, self.table.watch, self.table.watch), calls, strict=True
            ):
                before = watch.commit_us
                times.append(cpu_us(call))
                without.append(times[-1] - (watch.commit_us - before))
        return Singles(*map(statistics.median, (*whole, *apart)))

    def batch_rate(self) -> float:
        """Measure one batch, in turns per second of CPU time."""
        texts = self.shop.corpus.texts(BATCH_ROWS)
        return BATCH_ROWS / (cpu_us(partial(self.memory.add, texts, user="one")) / 1e6)

    def close(self) -> None:
        """Close both."""
        self.table.close()
        store: Any = self.memory._store.store
        store._writer = self.watch._connection
        self.memory.close()


def run(shop: Workshop) -> list[Figure]:
    """Measure single adds and batches at each size."""
    grown = {size: Grown(shop, size) for size in SIZES}
    singles: dict[int, list[Singles]] = {size: [] for size in SIZES}
    batches: dict[int, list[float]] = {size: [] for size in SIZES}
    for _ in range(ROUNDS):
        for size, one in grown.items():
            singles[size].append(one.singles())
            batches[size] += [one.batch_rate() for _ in range(BATCHES)]
    for one in grown.values():
        one.close()
    quietest = {size: min(taken, key=lambda once: once.add + once.insert + once.keep) for size, taken in singles.items()}
    return _figures(quietest, {size: statistics.median(sorted(rates)[-ROUNDS:]) for size, rates in batches.items()})


def _figures(singles: dict[int, Singles], batches: dict[int, float]) -> list[Figure]:
    found = []
    for size, taken in singles.items():
        note = f"bare insert {taken.insert:.0f} us, turn kept without integrity {taken.keep:.0f} us"
        found.append(Figure("d", f"single add at {size:,} rows", taken.add, "us CPU", MAX_ADD_US, note=note))
        over = taken.add_apart - taken.keep_apart
        name = f"single add at {size:,} rows besides its COMMIT"
        found.append(Figure("d", f"{name}: more than kept without integrity", over, "us CPU", MAX_OVERHEAD_US))
        found.append(Figure("d", f"{name}: more than a bare insert", taken.add_apart - taken.insert_apart, "us CPU"))
        found.append(
            Figure("d", f"single add at {size:,} rows, whole: more than a bare insert", taken.add - taken.insert, "us CPU")
        )
    for size, rate in batches.items():
        found.append(Figure("d", f"batches of 500 at {size:,} rows", rate, "turns/s", MIN_RATE, at_least=True))
    over = [taken.add_apart - taken.keep_apart for taken in singles.values()]
    low, high = min(SIZES), 100_000
    found.append(Figure("d", "integrity of a single add, 200,000 rows against 1,000", over[-1] / over[0], "times", FLAT))
    found.append(Figure("d", "batches, 100,000 rows against 1,000", batches[low] / batches[high], "times slower", FLAT))
    return found
