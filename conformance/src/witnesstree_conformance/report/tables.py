"""What both renderings show, as plain rows and columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from witnesstree_conformance.pins import in_use_name
from witnesstree_conformance.verdicts import HELD, NOT_APPLICABLE, NOT_EVALUABLE, REPORTED

Json = Mapping[str, Any]
WORDS = {"not_evaluable": "not evaluable", "no_effect": "no effect"}
NOT_RUN = "—"


@dataclass(frozen=True)
class Column:
    """A subject in one tier."""

    subject: str
    tier: str
    cells: Mapping[str, Json]


def word(verdict: str) -> str:
    """Return a verdict as people read it."""
    return WORDS.get(verdict, verdict)


def shown(cell: Json | None) -> str:
    """Return what a table says of a cell: the read path, and behind a stroke the audit where it has something to say."""
    if cell is None:
        return NOT_RUN
    verdict = str(cell.get("read") if cell["verdict"] == REPORTED else cell["verdict"])
    return word(verdict) + (" / reported" if cell["verdict"] == REPORTED and verdict != REPORTED else "")


def columns(document: Json, tier: str) -> list[Column]:
    """Return the subjects that were measured in a tier."""
    return [
        Column(subject["name"], tier, {cell["attack"]: cell for cell in row["cells"]})
        for subject in document["subjects"]
        for row in subject["rows"]
        if row["tier"] == tier
    ]


def attacks(document: Json, kind: str) -> list[Json]:
    """Return the attacks of a kind."""
    return [attack for attack in document["attacks"] if attack.get("kind") == kind]


def counted(cells: Mapping[str, Json]) -> str:
    """Return how many cells held, were reported by an audit, and were neither."""
    verdicts = [cell["verdict"] for cell in cells.values()]
    held = sum(verdict in HELD for verdict in verdicts)
    reported = verdicts.count(REPORTED)
    earned = sum(verdict not in {NOT_APPLICABLE, NOT_EVALUABLE} for verdict in verdicts)
    parts = [f"{held} of {earned} held"]
    parts += [f"{reported} reported"] if reported else []
    unearned = verdicts.count(NOT_EVALUABLE)
    return ", ".join([*parts, f"{unearned} not evaluable"] if unearned else parts)


def tiers(document: Json) -> list[str]:
    """Return the tiers that any subject was measured in."""
    found = {row["tier"] for subject in document["subjects"] for row in subject["rows"]}
    return [tier for tier in ("A", "B", "C", "E") if tier in found]


def in_use_groups(document: Json) -> list[str]:
    """Return attack and channel of the memory attacks, in the order of the suite."""
    order = [attack["id"] for attack in attacks(document, "in use")]
    found: dict[str, None] = {}
    for subject in document["subjects"]:
        found |= dict.fromkeys(subject["rating"].get("in_use", {}).get("groups", {}))
    return sorted(found, key=lambda name: (_place(order, name.split("/")[0]), name))


def _place(order: list[str], name: str) -> int:
    return order.index(name) if name in order else len(order)


def in_use_shown(subject: Json, group: str) -> str:
    """Return held of earned for a group of memory attacks."""
    counts = subject["rating"].get("in_use", {}).get("groups", {}).get(group)
    if counts is None:
        return NOT_RUN
    earned = counts["held"] + counts["open"]
    if earned:
        return f"{counts['held']} of {earned}" + (f", {counts['not_evaluable']} not evaluable" if counts["not_evaluable"] else "")
    return word(NOT_EVALUABLE) if counts["not_evaluable"] else NOT_APPLICABLE


def cost_row(subject: Json) -> list[str] | None:
    """Return write, overhead, and per size reading, audit and bytes; nothing if costs were not measured."""
    costs = subject.get("costs")
    if not costs:
        return None
    write = costs["write"]
    row = [f"{write['median_ms']:.2f}", f"{write['overhead_ms']:+.2f}"]
    for size in costs["sizes"]:
        row.append(str(size.get("not_measured")) if "not_measured" in size else _size(size))
    honest = costs["honest_operations"]
    return [*row, f"{len(honest['alarms'])} of {honest['done']}"]


def _size(size: Json) -> str:
    audit = f", audit {size['audit_ms']:.0f}" if "audit_ms" in size else ""
    return f"read {size['read_ms']:.0f}{audit}; {size['bytes_per_entry']:.0f} bytes each"


def details(subject: Json) -> Iterator[tuple[str, str, str, str, list[str]]]:
    """Yield where, attack, verdict, reason and raw edit of every cell that says something."""
    for row in subject["rows"]:
        for cell in row["cells"]:
            edit = list(cell.get("edit", ())) + [line for field in _open_fields(cell) for line in field]
            yield f"tier {row['tier']}", cell["attack"], shown(cell), str(cell.get("reason", "")), edit
    for cell in subject.get("in_use", ()):
        yield "in use", in_use_name(cell), word(cell["verdict"]), cell["reason"], []


def _open_fields(cell: Json) -> list[list[str]]:
    """Return the edits of a sweep that the read path did not hold against."""
    bad = [field for field in cell.get("fields", ()) if field["verdict"] not in HELD | {NOT_APPLICABLE}]
    return [[f"{field['field']}: {word(field['verdict'])}", *(f"  {line}" for line in field.get("edit", ()))] for field in bad]
