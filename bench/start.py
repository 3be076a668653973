"""Bar f: CPU that starting costs above a bare interpreter."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys

from bench.figures import Figure
from bench.workshop import ROOT, Workshop

RUNS = 9


def run(shop: Workshop) -> list[Figure]:
    """Measure import and command line, in turn with the bare interpreter."""
    asked = {
        "bare": ["-c", "pass"],
        "import witnesstree": ["-c", "import witnesstree"],
        "from witnesstree import Memory": ["-c", "from witnesstree import Memory"],
        "wtree --help": ["-m", "witnesstree.cli.main", "--help"],
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
    return [
        Figure("f", f"{name}: more than a bare interpreter", statistics.median(taken[name]) - bare, "s CPU", limit)
        for name, limit in limits.items()
        if name not in failed
    ]


def child_cpu(command: list[str]) -> tuple[float, int]:
    """Return CPU seconds and exit status of a command."""
    child = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return used.ru_utime + used.ru_stime, child.returncode
