"""The embedder that the suite gives to tools that need one: words hashed into a vector. Deterministic, offline, no model.

Its own ranking by cosine is what retrieval figures are compared with, so that a number says what the tool adds or takes away.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Sequence

DIMENSIONS = 256


def embed(text: str) -> list[float]:
    """Return the unit vector of a text: every word, in lower case, adds one to one place or takes one from it."""
    vector = [0.0] * DIMENSIONS
    for word in re.findall(r"\w+", text.lower()):
        digest = hashlib.sha256(word.encode()).digest()
        vector[int.from_bytes(digest[:4], "big") % DIMENSIONS] += 1.0 if digest[4] & 1 else -1.0
    length = math.sqrt(sum(value * value for value in vector))
    return [value / length for value in vector] if length else [1.0, *vector[1:]]


def cosine(first: Sequence[float], second: Sequence[float]) -> float:
    """Return the cosine of two unit vectors."""
    return sum(a * b for a, b in zip(first, second, strict=True))
