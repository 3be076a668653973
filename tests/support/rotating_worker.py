"""A process that rotates keys again and again and reads in between: ``python -m tests.support.rotating_worker STORE TIMES``."""

from __future__ import annotations

import sys

from witnesstree import Memory


def main() -> int:
    """Rotate, open anew, read; exit 1 with the error if anything is refused."""
    store, times = sys.argv[1], int(sys.argv[2])
    for _ in range(times):
        with Memory.open(store, user="ana") as memory:
            for _ in range(5):
                assert memory.search("rent").hits
            report = memory.rotate_keys()
            assert report.ok, report.problems
            assert memory.search("rent").hits
    return 0


if __name__ == "__main__":
    sys.exit(main())
