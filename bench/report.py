"""Keep the figures: results/integrity.json, and the table between two marks in RESULTS.md."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import apsw

from bench.figures import Figure, number

FOLDER = Path(__file__).resolve().parent
RESULTS = FOLDER / "results" / "integrity.json"
TABLE = FOLDER / "RESULTS.md"
BEGIN, END = "<!-- integrity: begin -->", "<!-- integrity: end -->"
INTRO = """# Results

Absolute times depend on the machine and on what else runs on it; ratios are taken inside one run, calls made in turn.
"""


def machine() -> dict[str, Any]:
    """Return what the figures depend on; no host name, no path."""
    return {
        "cores": os.cpu_count(),
        "system": platform.system(),
        "processor": platform.machine(),
        "python": platform.python_version(),
        "sqlite": apsw.sqlite_lib_version(),
    }


def save(found: dict[str, list[Figure]]) -> None:
    """Replace the figures of these modules, keep those of others, and write the table."""
    known: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for module, figures in found.items():
        rows = [asdict(figure) | {"value": float(f"{figure.value:.6g}"), "met": figure.met} for figure in figures]
        date = datetime.now(UTC).strftime("%Y-%m-%d")
        known[module] = {"command": f"python -m bench {module}", "date": date, "machine": machine(), "figures": rows}
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(known, indent=1, ensure_ascii=False, sort_keys=True) + "\n")
    _write_table(known)


def _write_table(known: dict[str, Any]) -> None:
    lines = [
        "## Bars of integrity",
        "",
        "| bar | figure | measured | limit | | command | date |",
        "|---|---|---|---|---|---|---|",
    ]
    machines = set()
    for part in sorted(known.values(), key=lambda part: part["figures"][0]["bar"]):
        machines.add(", ".join(f"{name} {value}" for name, value in sorted(part["machine"].items())))
        for row in part["figures"]:
            met = {None: "", True: "met", False: "**missed**"}[row.pop("met")]
            figure = Figure(**row)
            note = f" ({figure.note})" if figure.note else ""
            measured = f"{number(figure.value)} {figure.unit}{note}"
            cells = (figure.bar, figure.name, measured, figure.limit_text, met, f"`{part['command']}`", part["date"])
            lines.append("| " + " | ".join(cells) + " |")
    section = "\n".join([BEGIN, *lines, "", f"Machine: {'; '.join(sorted(machines))}.", END])
    text = TABLE.read_text() if TABLE.exists() else INTRO + f"\n{BEGIN}\n{END}\n"
    before, _, rest = text.partition(BEGIN)
    TABLE.write_text(before + section + rest.partition(END)[2])
