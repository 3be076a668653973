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


# Weights of the linear ranker over words and meaning (each 0 to 1) and the context of a turn. They were fitted on two-person
# conversations by five-fold cross-validation: see docs/retrieval.md and ``python -m bench quality``.
WORDS: Final = 1.0
MEANING: Final = 1.04
PREVIOUS: Final = 0.67
"""Share of what the turn before says."""
NEXT: Final = 0.25
"""Share of what the turn after says."""
SESSION: Final = 2.15
"""Share of the mean of the session's three best."""
SPEAKER: Final = 0.84
"""The one person whom the question names says it."""
QUESTION: Final = -0.3
"""A question answers nothing."""
TIME: Final = 0.53
"""A word of time, if the question asks when."""
SPEAKER_HEAD: Final = 0.3
"""The same as ``SPEAKER`` while candidates are chosen, on the scale of the mean of words and meaning."""
CLEARLY_ABOVE: Final = 0.3
"""A cosine this far above the embedder's floor is full similarity; the best of many weak ones is not."""
CANDIDATES: Final = 200
"""Memories that are ranked with their context at a time."""
REACH: Final = 8
"""How far a turn's neighbour may stand from it when sessions are interleaved, documents."""
