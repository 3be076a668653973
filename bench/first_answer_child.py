"""A fresh process that asks one question: ``python -m bench.first_answer_child STORE USER QUERY``; prints JSON."""

from __future__ import annotations

import json
import sys
import time

from bench.peers.protocol import peak_bytes, rss_bytes
from witnesstree import Memory


def main() -> None:
    """Open, search, print seconds and memory; closing (which may write a cache) comes after the measurement."""
    store, user, query = sys.argv[1:]
    before = rss_bytes()
    wall, cpu = time.perf_counter(), time.process_time()
    memory = Memory.open(store)
    hits = len(memory.search(query, user=user).hits)
    taken = {"cpu_s": time.process_time() - cpu, "wall_s": time.perf_counter() - wall}
    held = {"rss_before_bytes": before, "rss_bytes": rss_bytes(), "peak_bytes": peak_bytes()}
    memory.close()
    sys.stdout.write(json.dumps({"hits": hits, **taken, **held}))


main()
