"""How found memories are ordered: BM25 weights and the tie-break. The interface stays when richer signals join."""

from __future__ import annotations

import math
from typing import Final

K1: Final = 0.9
"""Saturation of a term's repetition (BM25)."""
B: Final = 0.3
"""Strength of length normalisation (BM25); turns are short, so it is small."""
STOP_WEIGHT: Final = 0.1
"""Factor on the weight of a function word of the query."""


def term_weight(matching: int, total: int) -> float:
    """Return the inverse document frequency of a term found in ``matching`` of ``total`` memories (always positive)."""
    return math.log(1.0 + (total - matching + 0.5) / (matching + 0.5))


def order_key(score: float, authority: int, trust: int, seq: int) -> tuple[float, int, int, int]:
    """Return the sort key of a hit: better score, then stronger trust and authority, then the newer memory."""
    return (-score, -trust, -authority, -seq)
