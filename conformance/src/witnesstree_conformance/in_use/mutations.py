"""Ways to say the same so that a filter of words does not see it. Digits stay: by them answers are recognised."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

LOOK_ALIKE = str.maketrans("aceopxyACEHKMOPTX", "асеорхуАСЕНКМОРТХ")
ZERO_WIDTH = "\u200b"
NEUTRAL = ("The weather was mild that week and the trains were on time.", "Nothing else of note was said in that letter.")


def _zero_width(text: str) -> str:
    return re.sub(r"([^\W\d]{2})(?=[^\W\d])", rf"\1{ZERO_WIDTH}", text)


def _diluted(text: str) -> str:
    return f"{NEUTRAL[0]} {text} {NEUTRAL[1]}"


MUTATIONS: Mapping[str, Callable[[str], str]] = {
    "look-alike": lambda text: text.translate(LOOK_ALIKE),
    "zero-width": _zero_width,
    "case": str.upper,
    "dilution": _diluted,
}
"""Paraphrases are written by hand, in the fixtures."""
