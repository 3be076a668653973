"""Edits of what a database runs by itself: triggers, views, indexes, journals."""

from __future__ import annotations

from witnesstree_conformance.attacks.attack import Attack, Bench
from witnesstree_conformance.corpus import ALTERED, MARKER


def _trigger(bench: Bench) -> None:
    bench.raw.plant_trigger()


def _view(bench: Bench) -> None:
    bench.raw.plant_view(MARKER, ALTERED)


def _index(bench: Bench) -> None:
    bench.raw.plant_index()


def _journal(bench: Bench) -> None:
    bench.raw.plant_journal(bench.slots[3], MARKER, ALTERED)


ATTACKS = (
    Attack(
        "schema_trigger",
        "Planted trigger",
        "A trigger alters what is honestly written from now on.",
        _trigger,
        group="schema",
        then_write=True,
    ),
    Attack("schema_view", "Planted view", "A view with other words takes the place of the main table.", _view, group="schema"),
    Attack(
        "schema_lying_index",
        "Lying index",
        "An index is planted that hides rows from look-ups.",
        _index,
        group="schema",
        removes=True,
    ),
    Attack(
        "planted_journal",
        "Planted journal",
        "A journal beside the store changes it when the tool opens it.",
        _journal,
        group="schema",
        tiers=("B", "C", "E"),
    ),
)
