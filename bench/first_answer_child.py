"""A fresh process that asks one question: ``python -m bench.first_answer_child STORE USER QUERY``; prints JSON."""

from __future__ import annotations

import json
import sys
import time

from witnesstree import Memory


def main() -> None:
    """Open, search, print CPU seconds; closing (which may write a cache) comes after the measurement."""
    store, user, query = sys.argv[1:]
    start = time.process_time()
    memory = Memory.open(store)
    hits = len(memory.search(query, user=user).hits)
    taken = time.process_time() - start
    memory.close()
    sys.stdout.write(json.dumps({"cpu_s": taken, "hits": hits}))


main()
