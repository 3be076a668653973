"""The embedder that the suite gives to tools that need one: words hashed into a vector. Deterministic, offline, no model.

Its own ranking by cosine is what retrieval figures are compared with, so that a number says what the tool adds or takes away.
"""

from __future__ import annotations

import hashlib
import math
import re
import struct
from collections.abc import Sequence

DIMENSIONS, PLACES_OF_A_WORD = 256, 16


def embed(text: str) -> list[float]:
    """Return the unit vector of a text: every word, in lower case, adds its own few numbers in its own few places.

    No two texts of different words are equally far from a third, so that no ranking depends on how a tool breaks ties.
    """
    vector = [0.0] * DIMENSIONS
    for word in re.findall(r"\w+", text.lower()):
        digest = hashlib.blake2b(word.encode(), digest_size=4 * PLACES_OF_A_WORD).digest()
        for place, weight in struct.iter_unpack("<Hh", digest):
            vector[place % DIMENSIONS] += weight / 0x8000
    length = math.sqrt(sum(value * value for value in vector))
    return [value / length for value in vector] if length else [1.0, *vector[1:]]


def cosine(first: Sequence[float], second: Sequence[float]) -> float:
    """Return the cosine of two unit vectors."""
    return sum(a * b for a, b in zip(first, second, strict=True))
