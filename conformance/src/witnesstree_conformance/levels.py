"""Conformance levels: what a set of results allows to say. Pure. A verdict that was not earned never counts for anything."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from witnesstree_conformance.attacks import AT_REST, CORE
from witnesstree_conformance.verdicts import HELD, NOT_APPLICABLE, NOTICED

Json = dict[str, Any]
LEVELS = ("none", "audited", "refuses-A", "refuses-B", "refuses-C", "refuses-E")
"""``audited``: every edit of tier A is refused, without effect, or found by the tool's audit. ``refuses-X``: every edit of
the tiers
up to X is refused by plain reads or without effect."""


def rate(result: Json) -> Json:
    """Return the level of a result, whether it is conformant (``refuses-A`` or better), and what stands in the way."""
    against = objections(result)
    if against:
        return {"level": "none", "conformant": False, "why": against}
    rows = {row["tier"]: row["cells"] for row in result["rows"]}
    level, why = "none", _open_cells(rows.get("A", []), NOTICED)
    if not why:
        level = "audited"
    refused = _open_cells(rows.get("A", []), HELD)
    if not refused:
        level = "refuses-A"
        for tier in ("B", "C", "E"):
            if tier not in rows:
                continue
            refused = _open_cells(rows[tier], HELD)
            if refused:
                break
            level = f"refuses-{tier}"
    return {"level": level, "conformant": level.startswith("refuses"), "why": (why or refused)[:20]}


def reaches(level: str, wanted: str) -> bool:
    """Return whether a level is another, or better."""
    return LEVELS.index(level) >= LEVELS.index(wanted)


def objections(result: Json) -> list[str]:
    """Return why nothing can be said at all: no rows, missing or failed controls, attacks that did not run."""
    if result.get("error"):
        return [f"not measured: {result['error']}"]
    controls = result.get("controls") or []
    required = [control for control in controls if control.get("required")]
    if not required:
        return ["no required control ran"]
    failed = [f"control {control['control']} failed: {control['detail']}" for control in required if control["passed"] is False]
    if failed:
        return failed
    failed = [f"control {c['control']} failed: {c['detail']}" for c in controls if c["passed"] is False]
    if failed:
        return failed
    passed = {control["control"] for control in controls if control["passed"] is True}
    missing = {"clean_reload", "no_op", "positive_retrieval"} - passed
    if missing:
        return [f"control {name} did not pass" for name in sorted(missing)]
    rows = result.get("rows") or []
    tiers = [row["tier"] for row in rows]
    if "A" not in tiers:
        return ["tier A was not measured"]
    if len(set(tiers)) < len(tiers):
        return ["a tier occurs twice"]
    return [line for row in rows for line in _not_run(row)]


def _not_run(row: Json) -> list[str]:
    cells = {cell["attack"]: cell for cell in row["cells"]}
    lines = [f"{row['tier']}: {id} did not run" for id in AT_REST if id not in cells]
    for id in CORE:
        if cells.get(id, {}).get("verdict") == NOT_APPLICABLE:
            lines.append(f"{row['tier']}: {id} was not applicable, so nothing is known about it")
    return lines


def _open_cells(cells: Sequence[Json], good: frozenset[str]) -> list[str]:
    """Return the cells that stand in the way; one that is not evaluable does, one that is not applicable does not."""
    return [
        f"{cell['attack']}: {cell['verdict']}"
        for cell in cells
        if cell["verdict"] not in good and cell["verdict"] != NOT_APPLICABLE
    ]
