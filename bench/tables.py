"""Tables in Markdown from the results files; pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench.figures import Figure, number

Results = Mapping[str, Any]

PEER_COLUMNS = (
    ("peers_quality", "R@10", "R@10", 1),
    ("peers_quality", "nDCG@10", "nDCG@10", 1),
    ("peers", "search p50, 10,000 rows, CPU", "search, 10,000 rows", 0),
    ("peers", "search p50, 50,000 rows, CPU", "search, 50,000 rows", 0),
    ("peers", "add a row, 10,000 rows, CPU", "add a row", 0),
    ("peers", "disk a row, 10,000 rows", "disk a row", 0),
    ("peers", "memory, 10,000 rows", "memory, 10,000 rows", 0),
)
"""Module, name of the figure, heading, digits behind the point (0: three figures that matter)."""
ERROR = "measured"
"""The name of the figure that stands for a system that failed."""
ABSENT = "–"


def figures_of(part: Mapping[str, Any]) -> list[Figure]:
    """Return the figures of one module of a results file."""
    return [Figure(**{name: value for name, value in row.items() if name != "met"}) for row in part["figures"]]


def table(heads: list[str], rows: list[list[str]]) -> str:
    """Return a Markdown table."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def cells(figure: Figure, mark: str = "**missed**") -> list[str]:
    """Return bar, name, measured, limit and verdict of a figure."""
    note = f" ({figure.note})" if figure.note else ""
    measured = f"{number(figure.value)} {figure.unit}{note}"
    if figure.name == ERROR:
        measured = f"error: {figure.note}"
    met = {None: "", True: "met", False: mark}[figure.met]
    return [figure.bar, figure.title, measured, "" if figure.name == ERROR else figure.limit_text, met]


def all_figures(results: Results) -> str:
    """Return every figure of a results file beside its bar, with the command and the machine."""
    rows = []
    machines = set()
    for part in sorted(results.values(), key=lambda part: part["figures"][0]["bar"]):
        machines.add(", ".join(f"{name} {value}" for name, value in sorted(part["machine"].items())))
        rows += [[*cells(figure), f"`{part['command']}`", part["date"]] for figure in figures_of(part)]
    heads = ["bar", "figure", "measured", "limit", "", "command", "date"]
    return table(heads, rows) + f"\n\nMachine: {'; '.join(sorted(machines))}."


def peer_cells(results: Results) -> tuple[list[str], list[list[str]]]:
    """Return heads and rows of the table of peers: a line a system, in the order in which they were measured."""
    found: dict[str, dict[tuple[str, str], Figure]] = {}
    for module in ("peers_quality", "peers"):
        for figure in figures_of(results[module]) if module in results else ():
            if figure.system:
                found.setdefault(figure.system, {})[module, figure.name] = figure
    heads = ["", *(heading for _, _, heading, _ in PEER_COLUMNS)]
    return heads, [[system, *_peer_row(figures)] for system, figures in found.items()]


def _peer_row(figures: Mapping[tuple[str, str], Figure]) -> list[str]:
    row = []
    for module, name, _, digits in PEER_COLUMNS:
        figure = figures.get((module, name))
        if figure is None:
            row.append("error" if (module, ERROR) in figures else ABSENT)
        else:
            row.append(f"{figure.value:.{digits}f} {figure.unit}" if digits else f"{number(figure.value)} {figure.unit}")
    return row


def peer_table(results: Results) -> str:
    """Return the table of peers in Markdown, with what it says and how to make it again: the text that README may hold."""
    parts = [results[module] for module in ("peers_quality", "peers") if module in results]
    commands = " and ".join(f"`{part['command']}`" for part in parts)
    dates = ", ".join(sorted({part["date"] for part in parts}))
    lines = [
        table(*peer_cells(results)),
        "",
        "R@10, nDCG@10: five LoCoMo conversations, each system given “Speaker: text”; “with fields”: speaker, session, time",
        "in fields of their own. Times: CPU of the calling process, p50, one owner, every system asked in turn in one run.",
        f"{ABSENT}: not measured, see `bench/RESULTS.md`. Made by {commands}, {dates}.",
    ]
    return "\n".join(lines)
