"""Warm searches in turn: ``python -m bench.scale_child OWNERS QUERIES``, a line each, ``STORE<tab>USER``; prints JSON."""

from __future__ import annotations

import json
import random
import statistics
import sys
import time

from witnesstree import Memory


def main() -> None:
    """Open every store once, warm every owner up, then ask each question of each owner, in an order drawn anew each time.

    With a fixed order whoever follows the largest owner would always find the processor's caches full of its rows.
    """
    owners = [line.split("\t") for line in sys.argv[1].splitlines()]
    queries = sys.argv[2].splitlines()
    memories = {url: Memory.open(url) for url, _ in owners}
    for url, user in owners:
        memories[url].search(queries[0], user=user)
    cpu: list[list[float]] = [[] for _ in owners]
    wall: list[list[float]] = [[] for _ in owners]
    order, chance = list(range(len(owners))), random.Random(1)
    for query in queries:
        chance.shuffle(order)
        for place in order:
            url, user = owners[place]
            start, used = time.perf_counter(), time.process_time()
            memories[url].search(query, user=user)
            cpu[place].append((time.process_time() - used) * 1e6)
            wall[place].append((time.perf_counter() - start) * 1e6)
    for memory in memories.values():
        memory.close()
    medians = {"cpu_us": [statistics.median(times) for times in cpu], "wall_us": [statistics.median(times) for times in wall]}
    sys.stdout.write(json.dumps(medians))


main()
