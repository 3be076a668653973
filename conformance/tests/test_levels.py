"""A level must be earned: empty, skipped and partly failed reports are never conformant."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from witnesstree_conformance.attacks import AT_REST
from witnesstree_conformance.levels import rate

CONTROLS = ("clean_reload", "no_op", "positive_retrieval")


def result(verdict: str = "refused") -> dict[str, Any]:
    """A report of a store that holds in every tier."""
    cells = [{"attack": id, "verdict": verdict} for id in AT_REST]
    return {
        "controls": [{"control": name, "required": True, "passed": True, "detail": ""} for name in CONTROLS],
        "rows": [{"tier": tier, "cells": copy.deepcopy(cells)} for tier in ("A", "B", "C", "E")],
    }


def test_a_store_that_refuses_everything_reaches_the_last_level():
    assert rate(result()) == {"level": "refuses-E", "conformant": True, "why": []}


@pytest.mark.parametrize(
    ("report", "why"),
    [
        ({}, "no required control ran"),
        ({"rows": [], "controls": []}, "no required control ran"),
        (result() | {"controls": []}, "no required control ran"),
        (result() | {"rows": []}, "tier A was not measured"),
        (result() | {"rows": [{"tier": "A", "cells": []}]}, "did not run"),
        (result() | {"rows": [{"tier": "B", "cells": result()["rows"][1]["cells"]}]}, "tier A was not measured"),
        (result() | {"error": "it could not be opened"}, "not measured"),
        (result("n/a"), "not applicable"),
    ],
)
def test_an_empty_or_skipped_report_is_never_conformant(report: dict[str, Any], why: str):
    rating = rate(report)
    assert rating["conformant"] is False and rating["level"] == "none"
    assert why in " ".join(rating["why"])


@pytest.mark.parametrize("verdict", ["accepted", "executed", "dropped", "logged", "crashed", "denied", "not_evaluable"])
def test_one_bad_cell_in_tier_a_is_enough(verdict: str):
    report = result()
    report["rows"][0]["cells"][-1]["verdict"] = verdict
    assert rate(report)["level"] == "none"


def test_one_attack_that_did_not_run_is_enough():
    report = result()
    del report["rows"][0]["cells"][7]
    assert rate(report)["conformant"] is False


@pytest.mark.parametrize("passed", [False, None])
@pytest.mark.parametrize("name", CONTROLS)
def test_a_control_that_failed_or_was_skipped_is_enough(name: str, passed: bool | None):
    report = result()
    next(control for control in report["controls"] if control["control"] == name)["passed"] = passed
    assert rate(report)["conformant"] is False


def test_an_honest_operation_that_raises_an_alarm_is_enough():
    report = result()
    report["controls"].append({"control": "honest_erase", "required": False, "passed": False, "detail": "false alarm"})
    assert rate(report)["conformant"] is False


def test_found_by_an_audit_is_not_refused_by_a_read():
    report = result("reported")
    assert rate(report)["level"] == "audited" and rate(report)["conformant"] is False


def test_a_tier_that_does_not_hold_ends_the_ladder():
    report = result()
    report["rows"][2]["cells"][0]["verdict"] = "accepted"
    assert rate(report)["level"] == "refuses-B"
