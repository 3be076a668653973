"""What a benchmark gives back, and how CPU time is taken."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """One measured figure beside its bar.

    ``limit`` None: reported only. ``at_least``: the limit is a floor. ``system``: which memory, where several are compared.
    """

    bar: str
    name: str
    value: float
    unit: str
    limit: float | None = None
    at_least: bool = False
    note: str = ""
    system: str = ""

    @property
    def title(self) -> str:
        """The name, after the system if there is one."""
        return f"{self.system}: {self.name}" if self.system else self.name

    @property
    def met(self) -> bool | None:
        """Whether the bar is met; None without a bar."""
        if self.limit is None:
            return None
        return self.value >= self.limit if self.at_least else self.value <= self.limit

    @property
    def limit_text(self) -> str:
        """The limit as one reads it."""
        return "" if self.limit is None else f"{'≥' if self.at_least else '≤'} {number(self.limit)} {self.unit}"

    def line(self) -> str:
        """Return the figure as one line."""
        verdict = {None: "reported", True: "met", False: "MISSED"}[self.met]
        return f"{self.bar}  {self.title:<62} {number(self.value):>9} {self.unit:<12} {self.limit_text:<20} {verdict}"


def number(value: float) -> str:
    """Return a number with three figures that matter."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def cpu_us(run: Callable[[], object]) -> float:
    """Return the CPU microseconds of this process that one call takes."""
    start = time.process_time_ns()
    run()
    return (time.process_time_ns() - start) / 1000


def interleaved(
    first: Sequence[Callable[[], object]], second: Sequence[Callable[[], object]], rounds: int
) -> tuple[float, float]:
    """Return the medians, in CPU microseconds, of two lists of calls made in turn, each going first every other time."""
    gc.collect()
    taken: tuple[list[float], list[float]] = ([], [])
    for turn in range(rounds):
        for place, pair in enumerate(zip(first, second, strict=True)):
            for which in (0, 1) if (turn + place) % 2 else (1, 0):
                taken[which].append(cpu_us(pair[which]))
    return statistics.median(taken[0]), statistics.median(taken[1])


def quietest(
    first: Sequence[Callable[[], object]], second: Sequence[Callable[[], object]], rounds: int, times: int = 5
) -> tuple[float, float]:
    """Return what ``interleaved`` gives in the quietest of several runs: where a bar is an absolute time, noise only adds."""
    return min((interleaved(first, second, rounds) for _ in range(times)), key=sum)
