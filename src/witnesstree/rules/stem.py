"""A light stemmer for English words, our own: walks, walked and walking meet; other languages pass nearly untouched."""

from __future__ import annotations

from typing import Final

_VOWELS: Final = frozenset("aeiouy")
_KEPT_DOUBLE: Final = frozenset("lsz")


def stem(word: str) -> str:
    """Return the stem of a lower-case word; what is short or not plain letters stays as it is."""
    if len(word) < 4 or not word.isascii() or not word.isalpha():
        return word
    word = _without_ending(_without_plural(word))
    if word.endswith("ly") and len(word) > 5:
        word = word[:-2]
    if word.endswith("e") and len(word) > 3:
        word = word[:-1]
    if word.endswith("y") and len(word) > 3:
        word = word[:-1] + "i"
    return word


def _without_plural(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "xes", "ches", "shes", "zes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def _without_ending(word: str) -> str:
    for ending in ("ing", "ed"):
        root = word.removesuffix(ending)
        if root != word and len(root) >= 3 and not _VOWELS.isdisjoint(root):
            is_doubled = len(root) > 3 and root[-1] == root[-2] and root[-1] not in _KEPT_DOUBLE
            return root[:-1] if is_doubled else root
    return word
