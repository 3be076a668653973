"""``python -m bench [NAME ...]``: run the benchmarks, print a line per figure, keep them; exit code 1 if a bar is missed."""

from __future__ import annotations

import importlib
import sys
import time

from bench.report import save
from bench.workshop import Workshop

_PLAIN = (
    *("search", "first_answer", "audit_speed", "writes", "disk", "start"),
    *("quality", "multilingual", "related", "scale", "memory"),
)
MODULES = {name: f"bench.{name}" for name in _PLAIN} | {
    "peers": "bench.peers.latency",
    "peers_quality": "bench.peers.quality",
}


def main(names: list[str]) -> int:
    """Run the named modules, or all; return 0, 1 if a bar is missed, 2 if a name is unknown."""
    unknown = [name for name in names if name not in MODULES]
    if unknown:
        sys.stderr.write(f"there is no benchmark {unknown[0]}; there are {', '.join(MODULES)}\n")
        return 2
    found = {}
    with Workshop() as shop:
        for name in names or MODULES:
            start = time.monotonic()
            found[name] = importlib.import_module(MODULES[name]).run(shop)
            for figure in found[name]:
                print(figure.line(), figure.note and f"({figure.note})", flush=True)
            print(f"   {name}: {time.monotonic() - start:.0f} s", flush=True)
    save(found)
    missed = [figure for figures in found.values() for figure in figures if figure.met is False]
    for figure in missed:
        print(figure.line(), flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
