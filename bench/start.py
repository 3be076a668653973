"""Bar f: CPU that starting costs above a bare interpreter; and what it costs until the first answer, above ``import numpy``."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys

from bench.figures import Figure
from bench.workshop import ROOT, Workshop
from witnesstree import Memory

RUNS = 9
FIRST_SEARCH = """
import sys, witnesstree
with witnesstree.Memory.open(sys.argv[1]) as memory:
    assert memory.search("Where does the ferry leave?", user="one").hits
"""
MAX_FIRST_S = 0.35


def run(shop: Workshop) -> list[Figure]:
    """Measure import and command line, in turn with the bare interpreter."""
    asked = {
        "bare": ["-c", "pass"],
        "import witnesstree": ["-c", "import witnesstree"],
        "from witnesstree import Memory": ["-c", "from witnesstree import Memory"],
        "wtree --help": ["-m", "witnesstree.cli.main", "--help"],
        "numpy": ["-c", "import numpy"],
        "first search": ["-c", FIRST_SEARCH, _small_store(shop)],
    }
    taken: dict[str, list[float]] = {name: [] for name in asked}
    failed = set()
    for _ in range(RUNS):
        for name, arguments in asked.items():
            used, status = child_cpu([sys.executable, *arguments])
            taken[name].append(used)
            if status:
                failed.add(name)
    bare = statistics.median(taken["bare"])
    limits = {"import witnesstree": 0.15, "from witnesstree import Memory": None, "wtree --help": 0.3}
    found = [
        Figure("f", f"{name}: more than a bare interpreter", statistics.median(taken[name]) - bare, "s CPU", limit)
        for name, limit in limits.items()
        if name not in failed
    ]
    name = "import, open, first search with the local embedder: more than `import numpy`"
    over = statistics.median(taken["first search"]) - statistics.median(taken["numpy"])
    assert "first search" not in failed
    return [*found, Figure("f", name, over, "s CPU", MAX_FIRST_S)]


def _small_store(shop: Workshop) -> str:
    """Return the path of a store of a few memories in English, so that the embedder is needed."""
    with Memory.open(shop.path("start")) as memory:
        memory.add(["The ferry leaves from pier 3.", "Ana keeps the tickets.", "The harbour is closed on Mondays."], user="one")
    return shop.path("start")


def child_cpu(command: list[str]) -> tuple[float, int]:
    """Return CPU seconds and exit status of a command."""
    child = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return used.ru_utime + used.ru_stime, child.returncode
