"""Measures of a ranked answer against their definitions."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from witnesstree.rules.measures import ndcg_at, recall_at, reciprocal_rank

FOUND = st.lists(st.sampled_from("abcdefghij"), unique=True)
GOLD = st.sets(st.sampled_from("abcdefghijxyz"), min_size=1)


def test_worked_examples_come_out_as_by_hand() -> None:
    """By hand: gold at places 1 and 3, one never found."""
    found, gold = ["a", "b", "c"], {"a", "c", "z"}
    assert recall_at(1, found, gold) == pytest.approx(1 / 3)
    assert recall_at(10, found, gold) == pytest.approx(2 / 3)
    ideal = 1 + 1 / math.log2(3) + 1 / 2
    assert ndcg_at(10, found, gold) == pytest.approx((1 + 1 / 2) / ideal)
    assert reciprocal_rank(["b", "a"], gold) == 0.5
    assert reciprocal_rank([], gold) == 0


@given(FOUND, GOLD, st.integers(1, 20))
def test_measures_lie_between_nothing_and_all(found: list[str], gold: set[str], k: int) -> None:
    """One if the gold stands first, zero if none of it is there; a better place is never worth less."""
    for value in (recall_at(k, found, gold), ndcg_at(k, found, gold), reciprocal_rank(found, gold)):
        assert 0 <= value <= 1 + 1e-12
    perfect = [*sorted(gold), *(one for one in found if one not in gold)]
    assert ndcg_at(k, perfect, gold) == pytest.approx(1) and reciprocal_rank(perfect, gold) == 1
    assert recall_at(len(gold), perfect, gold) == 1
    assert ndcg_at(k, found, gold) <= ndcg_at(k, perfect, gold) + 1e-12
