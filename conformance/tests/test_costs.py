"""Cost columns: what is counted, and that a store which cries wolf is seen to."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from witnesstree_conformance import costs
from witnesstree_conformance.phases import Phases
from witnesstree_conformance.protocol import Entry, Item, Place, Refusal, Subject
from witnesstree_conformance.runner import Run, _seed
from witnesstree_conformance.snapshots import make_zones
from witnesstree_conformance.subjects.naive import Naive
from witnesstree_conformance.subjects.reference import Reference


def measured(kind: type[Subject], folder: Path, sizes: Sequence[int]) -> dict[str, Any]:
    run = Run(kind, Place(folder / "run"), Phases(folder / "noise.txt"))
    make_zones(run.place)
    _seed(run)
    return costs.measure_costs(run, sizes=sizes)


def test_a_plain_table_costs_what_a_plain_table_costs(tmp_path: Path):
    found = measured(Naive, tmp_path, (100, 200))
    assert found["write"]["median_ms"] > 0 and found["write"]["plain_ms"] > 0
    assert [size["entries"] for size in found["sizes"]] == [100, 200]
    assert all(50 < size["bytes_per_entry"] < 500 and size["read_ms"] > 0 and "audit_ms" not in size for size in found["sizes"])
    assert found["honest_operations"] == {"done": costs.HONEST_OPERATIONS, "alarms": []}


def test_an_audit_is_timed_where_there_is_one(tmp_path: Path):
    found = measured(Reference, tmp_path, (70,))
    assert found["sizes"][0]["audit_ms"] > 0
    assert found["honest_operations"]["alarms"] == []


class CriesWolf(Naive):
    """Calls a correction tampering."""

    title = "cries wolf"

    def recall(self, owner: str) -> Sequence[Item]:
        items = super().recall(owner)
        if any("Corrected" in str(item["text"]) for item in items):
            raise Refusal("somebody changed this")
        return items


def test_false_alarms_are_counted(tmp_path: Path):
    assert measured(CriesWolf, tmp_path, ())["honest_operations"]["alarms"]


class Slow(Naive):
    """Takes its time."""

    title = "slow"

    def remember(self, entry: Entry) -> str:
        import time

        time.sleep(0.01)
        return super().remember(entry)


def test_what_would_take_too_long_is_said_and_not_done(tmp_path: Path):
    (size,) = measured(Slow, tmp_path, (10_000,))["sizes"]
    assert size["not_measured"].startswith("writing them would take ")


class Forgets(Naive):
    """Reads no more than a hundred entries."""

    title = "forgets"

    def recall(self, owner: str) -> Sequence[Item]:
        return super().recall(owner)[:100]


def test_a_size_that_can_not_be_measured_leaves_the_others(tmp_path: Path):
    found = measured(Forgets, tmp_path, (80, 120, 160))
    assert [("read_ms" in size, "not_measured" in size) for size in found["sizes"]] == [(True, False), (False, True)]
    assert "100 of 120 entries were read" in found["sizes"][1]["not_measured"]
    assert found["honest_operations"]["alarms"] == []
