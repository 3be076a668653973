"""The document of results: ``schema.json`` says what is in it. What a file claims about levels is never believed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from witnesstree_conformance import __version__
from witnesstree_conformance.attacks import AT_REST
from witnesstree_conformance.in_use import IN_USE
from witnesstree_conformance.in_use.scene import HELD_IN_USE, OPEN, summary
from witnesstree_conformance.levels import rate
from witnesstree_conformance.protocol import PROTOCOL_VERSION, TIERS
from witnesstree_conformance.verdicts import MEANING, NOT_APPLICABLE, NOT_EVALUABLE

FORMAT = "witnesstree-conformance-results/1"
SCHEMA = Path(__file__).parent / "schema.json"
IN_USE_WORDS = frozenset({HELD_IN_USE, OPEN, NOT_APPLICABLE, NOT_EVALUABLE})
Json = dict[str, Any]


class ReportError(ValueError):
    """A file holds no results, or results that contradict themselves; the message says where, in one line."""


def document(results: Sequence[Json], made: datetime) -> Json:
    """Return the document of some results.

    Args:
        results: what ``measure`` returned, one per subject.
        made: when.
    """
    at_rest = [
        {
            "id": attack.id,
            "kind": "at rest",
            "title": attack.title,
            "story": attack.story,
            "version": attack.version,
            "group": attack.group,
            "tiers": list(attack.tiers),
            "weak": attack.weak,
        }
        for attack in AT_REST.values()
    ]
    in_use = [
        {"id": attack.id, "kind": "in use", "title": attack.title, "story": attack.story, "version": attack.version}
        for attack in IN_USE.values()
    ]
    return {
        "format": FORMAT,
        "suite": __version__,
        "protocol": PROTOCOL_VERSION,
        "made": made.isoformat(timespec="seconds"),
        "attacks": [*at_rest, *in_use],
        "subjects": [rated(result) for result in results],
    }


def rated(result: Json) -> Json:
    """Return a result with the rating that its own cells and controls give."""
    rating = rate(result)
    return result | {"rating": rating | {"in_use": summary(result["in_use"])} if "in_use" in result else rating}


def load(path: Path) -> Json:
    """Read a document; ratings are computed anew.

    Raises:
        ReportError: it is none.
    """
    try:
        found = json.loads(path.read_bytes())
    except OSError as error:
        raise ReportError(f"{path} can't be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise ReportError(f"{path} holds no JSON: {error}") from error
    try:
        _check(found)
    except ReportError as error:
        raise ReportError(f"{path}: {error}") from error
    known: Json = found
    return known | {"subjects": [rated(subject) for subject in known["subjects"]]}


def _need(condition: bool, message: str) -> None:
    if not condition:
        raise ReportError(message)


def _check(found: Any) -> None:
    _need(isinstance(found, dict) and found.get("format") == FORMAT, f"no results of format {FORMAT}")
    _need(all(isinstance(found.get(key), str) for key in ("suite", "made")), "'suite' and 'made' must be text")
    attacks, subjects = found.get("attacks"), found.get("subjects")
    _need(_are_objects(attacks) and all(isinstance(a.get("id"), str) for a in attacks), "'attacks' must be objects with an id")
    _need(_are_objects(subjects), "'subjects' must be objects")
    names = [subject.get("name") for subject in subjects]
    _need(all(isinstance(name, str) for name in names), "every subject needs a name")
    _need(len(set(names)) == len(names), "a subject occurs twice")
    for subject in subjects:
        _check_subject(subject, str(subject["name"]))


def _are_objects(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, dict) for item in value)


def _check_subject(subject: Mapping[str, Any], name: str) -> None:
    for key in ("controls", "rows"):
        _need(_are_objects(subject.get(key)), f"{name}: '{key}' must be objects")
    _need(_are_objects(subject.get("in_use", [])), f"{name}: 'in_use' must be objects")
    for control in subject["controls"]:
        known = isinstance(control.get("control"), str) and isinstance(control.get("required"), bool)
        _need(
            known and control.get("passed", 0) in (True, False, None), f"{name}: a control without name, 'required' or 'passed'"
        )
        _need(isinstance(control.get("detail"), str), f"{name}: control {control['control']} has no 'detail'")
    tiers = [row.get("tier") for row in subject["rows"]]
    _need(all(tier in TIERS for tier in tiers) and len(set(tiers)) == len(tiers), f"{name}: an unknown tier, or one twice")
    for row in subject["rows"]:
        _need(_are_objects(row.get("cells")), f"{name}: the cells of tier {row['tier']} must be objects")
        _check_cells(row["cells"], frozenset(MEANING), f"{name}: tier {row['tier']}")
        attacks = [cell["attack"] for cell in row["cells"]]
        _need(len(set(attacks)) == len(attacks), f"{name}: tier {row['tier']}: an attack occurs twice")
    _check_cells(subject.get("in_use", []), IN_USE_WORDS, f"{name}: in use")


def _check_cells(cells: Sequence[Mapping[str, Any]], words: frozenset[str], where: str) -> None:
    for cell in cells:
        _need(isinstance(cell.get("attack"), str), f"{where}: a cell without its attack")
        _need(
            isinstance(cell.get("verdict"), str) and cell["verdict"] in words, f"{where}: {cell['attack']} has no known verdict"
        )
        _need(isinstance(cell.get("reason", ""), str), f"{where}: the reason of {cell['attack']} must be text")
