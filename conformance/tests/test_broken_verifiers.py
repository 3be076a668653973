"""The suite tests itself: it passes the reference store in every tier, and fails each deliberately broken one."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.tests.broken import BROKEN
from witnesstree_conformance.attacks import AT_REST
from witnesstree_conformance.runner import measure
from witnesstree_conformance.subjects.reference import Reference
from witnesstree_conformance.verdicts import ACCEPTED, DENIED, EXECUTED, HELD

CONTROLS = ("clean_reload", "no_op", "positive_retrieval")


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> dict:
    return measure(Reference, tmp_path_factory.mktemp("reference"), in_use=False)


def test_the_reference_passes_all_tiers(reference: dict):
    assert [row["tier"] for row in reference["rows"]] == ["A", "B", "C", "E"]
    assert reference["rating"] == {"level": "refuses-E", "conformant": True, "why": []}


def test_every_attack_is_really_tried_on_the_reference(reference: dict):
    """None of its cells is n/a but the journal, which a holder of the main file alone can't plant."""
    idle = {(row["tier"], cell["attack"]) for row in reference["rows"] for cell in row["cells"] if cell["verdict"] == "n/a"}
    assert idle == {("A", "planted_journal")}


def test_every_attack_has_a_broken_verifier():
    assert BROKEN.keys() == AT_REST.keys()


@pytest.mark.parametrize("attack", BROKEN)
def test_the_suite_fails_a_verifier_that_is_broken_for(attack: str, tmp_path: Path):
    tier = AT_REST[attack].tiers[0]
    result = measure(BROKEN[attack], tmp_path, tiers=[tier], attacks=[attack], controls=CONTROLS, in_use=False)
    assert [control for control in result["controls"] if control["passed"] is False] == []
    cell = result["rows"][0]["cells"][0]
    assert cell["verdict"] in {ACCEPTED, EXECUTED, DENIED}, cell
    assert cell["verdict"] not in HELD
    assert result["rating"]["conformant"] is False
