"""Edits of what finds entries: indexes of words and keys, and vectors. The entries themselves stay."""

from __future__ import annotations

from witnesstree_conformance.attacks.attack import Attack, Bench
from witnesstree_conformance.corpus import ALTERED, MARKER


def _unindex(bench: Bench) -> None:
    bench.raw.unindex(bench.slots[3])


def _index_only(bench: Bench) -> None:
    bench.raw.change_index(bench.slots[3], MARKER, ALTERED)


def _vector(bench: Bench) -> None:
    bench.raw.change_vector(bench.slots[0])


def _vectors(bench: Bench) -> None:
    slots = bench.slots
    bench.raw.swap_vectors(slots[2], slots[3])


ATTACKS = (
    Attack(
        "conceal_index",
        "Hide from the index",
        "An entry is taken out of the index; its row stays.",
        _unindex,
        group="index",
        removes=True,
    ),
    Attack(
        "index_only",
        "Change the index",
        "Words in the index are changed; the row stays.",
        _index_only,
        group="index",
        removes=True,
    ),
    Attack("vector_change", "Change a vector", "The vector of an entry is changed.", _vector, group="index", removes=True),
    Attack("vector_swap", "Swap vectors", "Two entries change vectors.", _vectors, group="index", removes=True),
)
