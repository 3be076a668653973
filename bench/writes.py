"""Bar d: CPU of durable writes while one owner grows to 200,000 rows, beside two baselines in the same run.

The bar is about the bare insert: one INSERT of content of the same length in one transaction, with our pragmas. The second
baseline also does what any memory has to: check the message, encode the record, index its words. It has no bar of its own.
"""

from __future__ import annotations

import gc
import secrets
import statistics
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import apsw

from bench.corpus import parts
from bench.figures import Figure, cpu_us
from bench.workshop import BATCH, Workshop
from witnesstree import Memory
from witnesstree.flow import ingest
from witnesstree.flow.words import WordIndex
from witnesstree.types.message import check_message
from witnesstree.types.principal import Principal
from witnesstree.types.wire import encode

ARRIVAL = ingest.Arrival(Principal.of("one"))
SIZES = (1_000, 10_000, 50_000, 100_000, 200_000)
SINGLES = 100
BATCHES = 7
BATCH_ROWS = 500
CONTENT_BYTES = 300
MAX_ADD_US = 1_000
MAX_OVERHEAD_US = 300
MIN_RATE = 5_000
FLAT = 1.25


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
        self._next = 0
        with self._connection:
            for _ in range(rows):
                self._insert(secrets.token_bytes(CONTENT_BYTES))

    def _insert(self, content: bytes) -> None:
        self._connection.execute("INSERT INTO memory (seq, owner, content) VALUES (?, ?, ?)", (self._next, b"0" * 16, content))
        self._next += 1

    def add(self, content: bytes) -> None:
        """Insert one row durably."""
        self._connection.execute("BEGIN IMMEDIATE")
        self._insert(content)
        self._connection.execute("COMMIT")

    def keep(self, text: str) -> None:
        """Check, encode, insert durably and index one turn: what remains of ``add`` without integrity."""
        message = check_message(text)
        record = ingest._turn(ARRIVAL, message, ingest.fingerprint_of(ARRIVAL, message), at=time.time_ns() // 1000)
        self.add(encode(record))
        self._words.add(text)

    def close(self) -> None:
        """Close it."""
        self._connection.close()


@dataclass(frozen=True)
class Singles:
    """Medians, in CPU microseconds, of a durable add and of the two baselines."""

    add: float
    insert: float
    keep: float


def run(shop: Workshop) -> list[Figure]:
    """Measure single adds and batches at each size."""
    singles, batches = {}, {}
    with Memory.open(shop.path("writes")) as memory:
        rows = 0
        for size in SIZES:
            for part in parts(size - rows, BATCH):
                memory.add(shop.corpus.texts(part), user="one")
            memory.search("warm", user="one")
            table = BareTable(shop.folder / f"bare-{size}.db", size)
            singles[size] = _singles(shop, memory, table)
            table.close()
            batches[size] = _batches(shop, memory)
            rows = size + SINGLES + BATCHES * BATCH_ROWS
    return _figures(singles, batches)


def _singles(shop: Workshop, memory: Memory, table: BareTable) -> Singles:
    """Measure durable adds and both baselines in turn."""
    gc.collect()
    taken: tuple[list[float], list[float], list[float]] = ([], [], [])
    for text in shop.corpus.texts(SINGLES):
        content = secrets.token_bytes(CONTENT_BYTES)
        calls = (partial(memory.add, text, user="one"), partial(table.add, content), partial(table.keep, text))
        for times, call in zip(taken, calls, strict=True):
            times.append(cpu_us(call))
    return Singles(*map(statistics.median, taken))


def _batches(shop: Workshop, memory: Memory) -> float:
    """Return the median rate, in turns per second of CPU time."""
    rates = []
    for _ in range(BATCHES):
        texts = shop.corpus.texts(BATCH_ROWS)
        rates.append(BATCH_ROWS / (cpu_us(partial(memory.add, texts, user="one")) / 1e6))
    return statistics.median(rates)


def _figures(singles: dict[int, Singles], batches: dict[int, float]) -> list[Figure]:
    found = []
    for size, taken in singles.items():
        note = f"bare insert {taken.insert:.0f} us, turn kept without integrity {taken.keep:.0f} us"
        found.append(Figure("d", f"single add at {size:,} rows", taken.add, "us CPU", MAX_ADD_US, note=note))
        over = taken.add - taken.insert
        found.append(Figure("d", f"single add at {size:,} rows: more than a bare insert", over, "us CPU", MAX_OVERHEAD_US))
        over = taken.add - taken.keep
        found.append(Figure("d", f"single add at {size:,} rows: more than kept without integrity", over, "us CPU"))
    for size, rate in batches.items():
        found.append(Figure("d", f"batches of 500 at {size:,} rows", rate, "turns/s", MIN_RATE, at_least=True))
    over = [taken.add - taken.insert for taken in singles.values()]
    low, high = min(SIZES), 100_000
    found.append(Figure("d", "single add over bare, 200,000 rows against 1,000", over[-1] / over[0], "times", FLAT))
    found.append(Figure("d", "batches, 100,000 rows against 1,000", batches[low] / batches[high], "times slower", FLAT))
    return found
