"""Keep the figures: one file a topic in results/, the tables between marks in RESULTS.md, and the page results/index.html."""

from __future__ import annotations

import json
import os
import platform
import tempfile
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import apsw

from bench.figures import Figure
from bench.page import page
from bench.tables import Results, all_figures, peer_table

FOLDER = Path(__file__).resolve().parent
RESULTS = FOLDER / "results"
TABLES = FOLDER / "RESULTS.md"
README = FOLDER.parent / "README.md"
RETRIEVAL = {"quality", "multilingual", "related", "peers", "peers_quality", "scale", "memory"}
TOPICS = {"integrity": "Bars of integrity", "retrieval": "Bars of retrieval, scale and peers"}
NEEDS_FILE = {"quality", "peers_quality"}
INTRO = """# Results

Absolute times depend on the machine and on what else runs on it; ratios are taken inside one run, calls made in turn.
The same figures with pictures: `results/index.html`. How each is taken: `docs/benchmarks.md`.
"""


def topic_of(module: str) -> str:
    """Return the topic whose file holds a module's figures."""
    return "retrieval" if module in RETRIEVAL else "integrity"


def command_of(module: str) -> str:
    """Return what makes a module's figures."""
    return f"{'WITNESSTREE_QUALITY=FILE ' if module in NEEDS_FILE else ''}python -m bench {module}"


def machine() -> dict[str, Any]:
    """Return what the figures depend on; no host name, no path."""
    return {
        "cores": os.cpu_count(),
        "system": platform.system(),
        "processor": platform.machine(),
        "python": platform.python_version(),
        "sqlite": apsw.sqlite_lib_version(),
        "stores on": file_system(tempfile.gettempdir()),
    }


def file_system(path: str) -> str:
    """Return the type of the file system that a path lies on; stores on tmpfs never wait for a disk."""
    try:
        mounts = [line.split()[1:3] for line in Path("/proc/mounts").read_text().splitlines()]
    except OSError:
        return "unknown"
    holding = [(len(place), kind) for place, kind in mounts if f"{path}/".startswith(f"{place.rstrip('/')}/")]
    return max(holding)[1] if holding else "unknown"


def save(found: dict[str, list[Figure]]) -> None:
    """Replace the figures of these modules, keep those of others, and write tables and page."""
    RESULTS.mkdir(exist_ok=True)
    for topic in TOPICS:
        known = load(topic)
        for module, figures in found.items():
            if topic_of(module) == topic and figures:
                known[module] = _part(module, figures)
        if known:
            text = json.dumps(known, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
            (RESULTS / f"{topic}.json").write_text(text, "utf-8")
    write_documents()


def _part(module: str, figures: list[Figure]) -> dict[str, Any]:
    rows = [asdict(figure) | {"value": float(f"{figure.value:.6g}"), "met": figure.met} for figure in figures]
    date = datetime.now(UTC).strftime("%Y-%m-%d")
    return {"command": command_of(module), "date": date, "machine": machine(), "figures": rows}


def load(topic: str) -> dict[str, Any]:
    """Return what a topic's file holds; nothing if there is none."""
    path = RESULTS / f"{topic}.json"
    return dict(json.loads(path.read_text("utf-8"))) if path.exists() else {}


def write_documents() -> None:
    """Write tables and page from the files; also ``python -m bench.report``."""
    results: dict[str, Results] = {topic: load(topic) for topic in TOPICS}
    text = TABLES.read_text("utf-8") if TABLES.exists() else INTRO
    for topic, title in TOPICS.items():
        if results[topic]:
            text = between_marks(text, topic, f"## {title}\n\n{all_figures(results[topic])}")
    if {"peers", "peers_quality"} & results["retrieval"].keys():
        table = peer_table(results["retrieval"])
        text = between_marks(text, "peers", table)
        README.write_text(between_marks(README.read_text("utf-8"), "peers", table), "utf-8")
    TABLES.write_text(text, "utf-8")
    shown = {TOPICS[topic]: results[topic] for topic in reversed(TOPICS) if results[topic]}  # pictures first
    (RESULTS / "index.html").write_text(page(shown), "utf-8")


def between_marks(text: str, name: str, section: str) -> str:
    """Return a text with what stands between a section's marks replaced; the marks are added at the end if it has none."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    if begin not in text:
        text = f"{text.rstrip()}\n\n{begin}\n{end}\n"
    before, _, rest = text.partition(begin)
    return f"{before}{begin}\n{section}\n{end}{rest.partition(end)[2]}"


if __name__ == "__main__":
    write_documents()
