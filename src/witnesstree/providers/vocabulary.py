"""The word pieces of an English model, and which texts it can't read."""

from __future__ import annotations

import unicodedata
from typing import Final

import numpy as np
from numpy.typing import NDArray

from witnesstree.providers.data_files import read_vocabulary
from witnesstree.providers.wordpiece import UNKNOWN, WordPiece

MARK: Final = 0
FOREIGN: Final = 1
WORD: Final = 2
CUT: Final = 3
ENGLISH: Final = 4
_ENGLISH: Final = """
the of and to that for with my you it have are what this his her they from be not she your been has but when who where
why did does can would there their out one if about how don
"""
"""Frequent words that few other languages have."""
_ENGLISH_WORDS: Final = frozenset(_ENGLISH.split())


def kind_of(piece: str) -> int:
    """Return what a piece tells of its text's language.

    Returns:
        ``ENGLISH``: a frequent English word. ``WORD``: other Latin letters that begin a word. ``CUT``: Latin letters that go on
        with one. ``FOREIGN``: ``[UNK]``, or letters of another script. ``MARK``: digits, marks and the model's own signs.
    """
    if piece in _ENGLISH_WORDS:
        return ENGLISH
    if piece == UNKNOWN:
        return FOREIGN
    body = piece.removeprefix("##")
    if not (body.isascii() and body.isalpha()):
        letters = [letter for letter in body if letter.isalpha()]
        if not letters or (body.startswith("[") and body.endswith("]")):
            return MARK
        if not all(letter.isascii() or unicodedata.name(letter, "").startswith("LATIN ") for letter in letters):
            return FOREIGN
    return WORD if body == piece else CUT


def is_readable(counts: NDArray[np.int64]) -> bool:
    """Return whether a text is one that an English model can read.

    It is not if it has more foreign pieces than Latin ones, or if words fall apart (over a quarter of the pieces, and one, go on
    with a word) and fewer than a tenth are frequent English words. What that means for real texts is in ``docs/embedders.md``.

    Args:
        counts: how many pieces of each kind it has.
    """
    foreign, cut, english = int(counts[FOREIGN]), int(counts[CUT]), int(counts[ENGLISH])
    latin = int(counts[WORD]) + cut + english
    return foreign <= latin and (4 * cut <= latin + 4 or 10 * english >= latin)


class EnglishPieces:
    """Cuts texts for an English model. One that it can't read has no pieces: single letters of its words mean nothing."""

    def __init__(self) -> None:
        """Read the vocabulary.

        Raises:
            ProviderError: the file can't be read.
        """
        vocabulary = read_vocabulary()
        self._cutter = WordPiece(vocabulary)
        self._kinds = np.array([kind_of(piece) for piece in vocabulary], np.int8)

    def of(self, text: str) -> NDArray[np.intp]:
        """Return the numbers of a text's pieces; none if an English model can't read it."""
        pieces = np.array(self._cutter.ids(text), np.intp)
        counts = np.bincount(self._kinds[pieces], minlength=ENGLISH + 1)
        return pieces if is_readable(counts) else pieces[:0]
