"""Measures of a ranked answer, from 0 to 1, as information retrieval defines them: recall, nDCG, reciprocal rank."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence


def recall_at(k: int, found: Sequence[str], gold: Collection[str]) -> float:
    """Return which share of ``gold`` (not empty) is among the first ``k`` found."""
    return len(set(gold).intersection(found[:k])) / len(set(gold))


def ndcg_at(k: int, found: Sequence[str], gold: Collection[str]) -> float:
    """Return the normalised discounted cumulative gain of the first ``k`` found, every one of ``gold`` (not empty) worth one."""
    gain = sum(1 / math.log2(place + 2) for place, one in enumerate(found[:k]) if one in gold)
    return gain / sum(1 / math.log2(place + 2) for place in range(min(k, len(set(gold)))))


def reciprocal_rank(found: Sequence[str], gold: Collection[str]) -> float:
    """Return one over the place of the first found that is in ``gold``; 0 if none is."""
    return next((1 / place for place, one in enumerate(found, 1) if one in gold), 0.0)
