"""How found memories are ordered: BM25 weights, the weights of the ranker, and the tie-break."""

from __future__ import annotations

import math
from typing import Final

K1: Final = 0.9
"""Saturation of a term's repetition (BM25)."""
B: Final = 0.1
"""Strength of length normalisation (BM25); turns are short, so it is small."""
STOP_WEIGHT: Final = 0.2
"""Factor on the weight of a function word of the query."""

RELATED: Final = 0.3
"""Factor on the weight of a term where only a related word stands for it (``rules.related``)."""


def term_weight(matching: int, total: int) -> float:
    """Return the inverse document frequency of a term found in ``matching`` of ``total`` memories (always positive)."""
    return math.log(1.0 + (total - matching + 0.5) / (matching + 0.5))


def order_key(score: float, authority: int, trust: int, seq: int) -> tuple[float, int, int, int]:
    """Return the sort key of a hit: better score, then stronger trust and authority, then the newer memory."""
    return (-score, -trust, -authority, -seq)


WEIGHTS: Final = {
    "words": 1.0,
    "meaning": 0.75,
    "before": 0.7,
    "before2": 0.65,
    "session": 1.1,
    "speaker": 0.65,
    "question": -0.2,
    "time": 0.5,
    "answers": 0.4,
    "first": 0.25,
}
"""Weights of the linear ranker; what each signal is stands in ``flow.fusion.Signals``. They were fitted on two-person
conversations, one set for all embedders: see docs/retrieval.md and ``scripts/fit_ranking.py``."""
SPEAKER_HEAD: Final = 0.3
"""The same as ``speaker`` while candidates are chosen, on the scale of the mean of words and meaning."""
CLEARLY_ABOVE: Final = 0.3
"""A cosine this far above the embedder's floor is full similarity; the best of many weak ones is not."""
CANDIDATES: Final = 200
"""Memories that are ranked with their context at a time."""
REACH: Final = 8
"""How many turns that a filter leaves out are looked past for a turn's neighbour."""
