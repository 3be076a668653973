"""Bar d: CPU of durable writes while one owner grows to 200,000 rows, beside bare inserts of the same bytes."""

from __future__ import annotations

import gc
import secrets
import statistics
import time
from pathlib import Path

import apsw

from bench.corpus import parts
from bench.figures import Figure, cpu_us
from bench.workshop import BATCH, Workshop
from witnesstree import Memory

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

    def close(self) -> None:
        """Close it."""
        self._connection.close()


def run(shop: Workshop) -> list[Figure]:
    """Measure single adds and batches at each size."""
    singles, bare, batches = {}, {}, {}
    with Memory.open(shop.path("writes")) as memory:
        rows = 0
        for size in SIZES:
            for part in parts(size - rows, BATCH):
                memory.add(shop.corpus.texts(part), user="one")
            memory.search("warm", user="one")
            table = BareTable(shop.folder / f"bare-{size}.db", size)
            singles[size], bare[size] = _singles(shop, memory, table)
            table.close()
            batches[size] = _batches(shop, memory)
            rows = size + SINGLES + BATCHES * BATCH_ROWS
    return _figures(singles, bare, batches)


def _singles(shop: Workshop, memory: Memory, table: BareTable) -> tuple[float, float]:
    """Return the medians, in CPU microseconds, of durable adds and bare inserts, made in turn."""
    texts = shop.corpus.texts(SINGLES)
    contents = [secrets.token_bytes(CONTENT_BYTES) for _ in texts]
    gc.collect()
    adds, inserts = [], []
    for text, content in zip(texts, contents, strict=True):
        adds.append(cpu_us(lambda text=text: memory.add(text, user="one")))
        inserts.append(cpu_us(lambda content=content: table.add(content)))
    return statistics.median(adds), statistics.median(inserts)


def _batches(shop: Workshop, memory: Memory) -> float:
    """Return the median rate, in turns per second of CPU time."""
    rates = []
    for _ in range(BATCHES):
        texts = shop.corpus.texts(BATCH_ROWS)
        start = time.process_time()
        memory.add(texts, user="one")
        rates.append(BATCH_ROWS / (time.process_time() - start))
    return statistics.median(rates)


def _figures(singles: dict[int, float], bare: dict[int, float], batches: dict[int, float]) -> list[Figure]:
    found = []
    for size in SIZES:
        at, note = f"at {size:,} rows", f"bare insert {bare[size]:.0f} us"
        found.append(Figure("d", f"single add {at}", singles[size], "us CPU", MAX_ADD_US, note=note))
        over = singles[size] - bare[size]
        found.append(Figure("d", f"single add {at}: more than a bare insert", over, "us CPU", MAX_OVERHEAD_US))
    for size in SIZES:
        found.append(Figure("d", f"batches of 500 at {size:,} rows", batches[size], "turns/s", MIN_RATE, at_least=True))
    over = [singles[size] - bare[size] for size in SIZES]
    low, high = min(SIZES), 100_000
    found.append(Figure("d", "single add, 200,000 rows against 1,000", over[-1] / over[0], "times", FLAT))
    found.append(Figure("d", "batches, 100,000 rows against 1,000", batches[low] / batches[high], "times slower", FLAT))
    return found
