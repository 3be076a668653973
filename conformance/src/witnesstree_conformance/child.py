"""Measures one subject in the interpreter that runs this; nothing but the standard library and the subject's own packages is
needed.

``python -m witnesstree_conformance.child NAME FOLDER RESULT [--tier A] [--attack tamper]``: progress on stdout, results as
JSON in a file.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure; return the exit code."""
    parser = argparse.ArgumentParser(prog="witnesstree_conformance.child")
    parser.add_argument("name")
    parser.add_argument("folder", type=Path)
    parser.add_argument("result", type=Path)
    parser.add_argument("--tier", action="append", default=[])
    parser.add_argument("--attack", action="append", default=[])
    parser.add_argument("--in-use", action=argparse.BooleanOptionalAction, default=True, help="attacks on a memory in use")
    parser.add_argument("--costs", action="store_true", help="what writing, reading and verifying cost")
    parser.add_argument("--allow-host", action="append", default=[], help="a host on which a live server may be measured")
    parser.add_argument("--show", action="store_true", help="print the table of verdicts")
    given = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # so that servers are stopped
    state = given.folder.resolve() / "run" / "state"
    state.mkdir(parents=True, exist_ok=True)
    # Before the library is imported: it reads and writes its settings in the client's zone, not in the home of whoever runs this.
    os.environ |= {"HOME": str(state), "XDG_CONFIG_HOME": str(state / ".config"), "XDG_CACHE_HOME": str(state / ".cache")}
    os.environ |= {"XDG_DATA_HOME": str(state / ".data"), "XDG_STATE_HOME": str(state / ".state")}

    from witnesstree_conformance.runner import measure
    from witnesstree_conformance.subjects import UnknownSubject, find, load

    try:
        kind = load(find(given.name), given.allow_host)
    except UnknownSubject as error:
        print(f"error: {error}", file=sys.stderr)
        return 2

    def progress(line: str) -> None:
        print(line, flush=True)

    result = measure(
        kind,
        given.folder.resolve(),
        name=given.name,
        tiers=given.tier,
        attacks=given.attack,
        in_use=given.in_use,
        costs=given.costs,
        progress=(lambda line: None) if given.show else progress,
    )
    given.result.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n")
    if given.show:
        _show(result)
    return 0


def _show(result: dict[str, object]) -> None:
    """Print controls and verdicts, one line each: for whoever writes an adapter."""
    print(result.get("error") or "", result["rating"], result["seconds"], result.get("costs", ""))
    for control in result["controls"]:  # type: ignore[attr-defined]
        print(f"{control['control']:22} {control['passed']!s:6} {control['detail']}")
    for row in result["rows"]:  # type: ignore[attr-defined]
        for cell in row["cells"]:
            head = f"{row['tier']} {cell['attack']:22} {cell['verdict']:14} {cell.get('audit', ''):9}"
            print(head, f"{cell['seconds']:6}", cell.get("reason", "")[:160])
    from witnesstree_conformance.pins import in_use_name

    for cell in result.get("in_use", []):  # type: ignore[attr-defined]
        print(f"{in_use_name(cell):70} {cell['verdict']:14}", cell["reason"][:160])


if __name__ == "__main__":
    sys.exit(main())
