"""WordPiece (the tokenisation of BERT, uncased) in plain Python: text to numbers of word pieces."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Final

MAX_WORD: Final = 100
"""A longer word is unknown, characters."""
_CACHED: Final = 1 << 17
_HAN: Final = "\u4e00-\u9fff\u3400-\u4dbf\uf900-\ufaff\U00020000-\U0002a6df\U0002a700-\U0002ceaf\U0002f800-\U0002fa1f"
_WORDS: Final = re.compile(rf"[{_HAN}]|[^\W_{_HAN}]+|[^\w\s]|_")
_ASCII_WORDS: Final = re.compile(r"[a-z0-9]+|[^\sa-z0-9]")


class WordPiece:
    """Cuts words into the longest pieces that a vocabulary has."""

    def __init__(self, vocabulary: Iterable[str]) -> None:
        """Take the pieces in the order of their numbers; ``##`` marks one that continues a word."""
        self._numbers = {piece: number for number, piece in enumerate(vocabulary)}
        self._known: dict[str, tuple[int, ...]] = {}

    def pieces(self, text: str) -> list[int]:
        """Return the numbers of a text's pieces; a word that can't be told from its pieces gives none."""
        found: list[int] = []
        known = self._known
        for word in _words(text):
            numbers = known.get(word)
            if numbers is None:
                if len(known) >= _CACHED:
                    known.clear()
                numbers = known[word] = self._cut(word)
            found += numbers
        return found

    def _cut(self, word: str) -> tuple[int, ...]:
        """Return the pieces of one word; none if it falls apart into letters, as words of other scripts do."""
        if len(word) > MAX_WORD:
            return ()
        numbers: list[int] = []
        start = 0
        while start < len(word):
            prefix = "##" if start else ""
            end = len(word)
            while end > start and prefix + word[start:end] not in self._numbers:
                end -= 1
            if end == start:
                return ()
            numbers.append(self._numbers[prefix + word[start:end]])
            start = end
        is_spelt = len(numbers) > 2 and len(word) < 2 * len(numbers)
        is_foreign_letter = len(word) <= len(numbers) and not word.isascii()
        return () if is_spelt or is_foreign_letter else tuple(numbers)


def _words(text: str) -> list[str]:
    lowered = text.lower()
    if lowered.isascii():
        return _ASCII_WORDS.findall(lowered)
    plain = "".join(mark for mark in unicodedata.normalize("NFD", lowered) if unicodedata.category(mark) != "Mn")
    return _WORDS.findall(plain)
