"""Bar e: bytes on disk per turn of 100 characters after close."""

from __future__ import annotations

import os

from bench.corpus import parts
from bench.figures import Figure
from bench.workshop import Workshop
from witnesstree import Memory

SINGLES = 2_000
BATCHED = 20_000
MAX_BYTES = 1_500


def run(shop: Workshop) -> list[Figure]:
    """Measure single adds and batches of 500."""
    found = []
    for name, rows, batch in (("single adds", SINGLES, 1), ("batches of 500", BATCHED, 500)):
        path = shop.path(f"disk-{batch}")
        with Memory.open(path) as memory:
            for size in parts(rows, batch):
                memory.add(shop.corpus.hundred(size), user="one")
        size = sum(os.path.getsize(path + end) for end in ("", "-wal", "-shm") if os.path.exists(path + end))
        found.append(Figure("e", f"disk a turn of 100 characters, {name}", size / rows, "bytes", MAX_BYTES))
    return found
