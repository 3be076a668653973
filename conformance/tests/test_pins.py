"""Every subject against the pins that were looked at: a verdict that gets better or worse has to be looked at again.

Subjects that run where the suite runs are measured by ``make test``. The others install a library of their own, at pinned
versions; ``make test-all`` and ``make conformance`` measure them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from witnesstree_conformance import pins
from witnesstree_conformance.attacks import AT_REST, CORE
from witnesstree_conformance.batch import Selection, measure_one
from witnesstree_conformance.environments import pinned, requirements
from witnesstree_conformance.subjects import KNOWN, Known
from witnesstree_conformance.verdicts import EXECUTED, HELD, NOT_APPLICABLE, NOT_EVALUABLE

PINS = Path(__file__).resolve().parents[1] / "pins"
OURS = [name for name in KNOWN if name.startswith("witnesstree-")]
HERE = [*OURS, "chained-model", "naive"]
ELSEWHERE = [name for name in KNOWN if name not in {*HERE, "reference"}]
Json = dict[str, Any]


def measured_as_pinned(name: str) -> Json:
    """Measure a subject; fail for every difference from its pins."""
    result = measure_one(KNOWN[name], Selection())
    assert "error" not in result, result["error"]
    pin = pins.read(PINS, name)
    differences = pins.differences(pin, result) + pins.missing(pin, result)
    assert not differences, "\n".join(differences)
    return result


@pytest.mark.parametrize("name", HERE)
def test_a_subject_is_as_pinned(name: str):
    result = measured_as_pinned(name)
    if name in OURS:
        assert [c["control"] for c in result["controls"] if c["passed"] is False] == []
        assert result["rating"]["level"] == ("refuses-C" if "two-anchors" in name else "refuses-B")
        assert result["rating"]["in_use"]["overblocked"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", [*ELSEWHERE, "reference"])
def test_a_subject_with_a_library_of_its_own_is_as_pinned(name: str):
    measured_as_pinned(name)


# --- what the pins have to say ------------------------------------------------------------------------------
def pin_of(name: str) -> Json:
    return json.loads(pins.file_of(PINS, name).read_text())


def test_every_subject_has_pins_and_no_cell_was_left_unearned():
    assert {file.stem for file in PINS.glob("*.json")} == set(KNOWN)
    assert len(KNOWN) >= 16 and len(AT_REST) >= 25
    for name in KNOWN:
        for tier, cells in pin_of(name)["at_rest"].items():
            assert cells.keys() == AT_REST.keys(), (name, tier)
            assert NOT_EVALUABLE not in cells.values(), (name, tier)


@pytest.mark.parametrize("name", OURS)
def test_witnesstree_holds_every_edit_on_the_read_path(name: str):
    tiers = pin_of(name)["at_rest"]
    for tier in ("A", "B", "C") if "two-anchors" in name else ("A", "B"):
        read = {attack: word.split(",")[0].split(":")[0] for attack, word in tiers[tier].items()}
        assert {word for word in read.values() if word != NOT_APPLICABLE} <= HELD, (tier, read)
    assert all(EXECUTED not in word for cells in tiers.values() for word in cells.values())


@pytest.mark.parametrize("name", OURS)
def test_witnesstree_holds_memory_attacks(name: str):
    for cell, verdict in pin_of(name)["in_use"].items():
        attack = cell.split("/")[0]
        is_for_later = attack == "retrieval_hijack" or "/agent/" in cell
        if attack in {"cross_session_bleed", "indirect_prompt_injection"} or not is_for_later:
            assert verdict in {"held", "n/a"}, cell


ACCEPTED, REPORTED = "accepted", "reported"
PUBLISHED = {
    ("langgraph-sqlite", "A"): [ACCEPTED] * 5,
    ("letta", "A"): [ACCEPTED] * 5,
    ("mem0", "A"): [ACCEPTED] * 5,
    ("inspeximus", "A"): [ACCEPTED] * 5,
    ("inspeximus-receipts-key", "B"): [REPORTED] * 5,
    ("inspeximus-receipts-key", "C"): [REPORTED, ACCEPTED, REPORTED, REPORTED, REPORTED],
}
"""The cells that others published for the five edits of the core, measured with other code: tamper, truncate, delete from the
middle, reorder, forge."""


@pytest.mark.parametrize(("name", "tier"), PUBLISHED)
def test_published_cells_are_reproduced(name: str, tier: str):
    cells = pin_of(name)["at_rest"][tier]
    found = [REPORTED if "audit reported" in cells[attack] else cells[attack].split(",")[0] for attack in CORE]
    assert found == PUBLISHED[name, tier]


@pytest.mark.parametrize("known", KNOWN.values(), ids=KNOWN)
def test_what_is_measured_is_pinned_to_one_version(known: Known):
    if known.requirements:
        lines = [line for line in requirements(known).read_text().splitlines() if not line.startswith("#")]
        assert lines and len(pinned(known)) == len(lines)
        assert pin_of(known.name)["version"] in pinned(known).values()
    if known.npm:
        folder = requirements(known).parents[1] / "npm" / known.npm
        lock = json.loads((folder / "package-lock.json").read_text())
        assert all("integrity" in package for path, package in lock["packages"].items() if path)


def test_the_scorecard_shows_what_is_pinned():
    card = (PINS.parent / "SCORECARD.md").read_text()
    for name in KNOWN:
        (row,) = [line for line in card.splitlines() if line.startswith(f"| `{name}` |")][:1]
        assert f"| {pin_of(name)['version']} |" in row and pin_of(name)["level"] in row, row
