"""WordPiece as in BERT (uncased): text to the numbers of word pieces, in pure Python and in linear time.

Text is cleaned and lower-cased, accents go, punctuation and Chinese characters stand alone. Each word is then cut into the
longest pieces of the vocabulary, from the left. A word that can't be cut, or has more than 100 characters, is one ``[UNK]``.
Characters are classed by this Python's Unicode tables: one that is newer than they are is treated as unassigned.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from itertools import chain
from typing import Final

UNKNOWN: Final = "[UNK]"
MAX_WORD: Final = 100
MAX_CACHED: Final = 1 << 16
_ASCII_WORDS: Final = re.compile(r"[a-z0-9]+|[!-/:-@\[-`{-~]")
_ASCII_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_CHINESE: Final = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)


def _is_punctuation(character: str) -> bool:
    if character.isascii():
        return not character.isalnum() and character.isprintable() and character != " "
    return unicodedata.category(character).startswith("P")


def _normal_form(code: int) -> str:
    """Return what one character becomes: nothing, a space, or letters; what stands alone has spaces around it."""
    character = chr(code)
    category = unicodedata.category(character)
    if character in "\t\n\r" or category.startswith("Z"):
        return " "
    if code == 0xFFFD or category in ("Cc", "Cf", "Co", "Cs"):
        return ""
    kept = [part for part in unicodedata.normalize("NFD", character) if unicodedata.category(part) != "Mn"]
    lowered = "".join(f" {part} " if _is_punctuation(part) else part for part in "".join(kept).lower())
    return f" {lowered} " if any(low <= code <= high for low, high in _CHINESE) else lowered


class _Forms(dict[int, str]):
    """Normal forms by code point, for ``str.translate``; made when first met, kept up to a bound."""

    def __missing__(self, code: int) -> str:
        form = _normal_form(code)
        if len(self) < MAX_CACHED:
            self[code] = form
        return form


class _Pieces(dict[str, tuple[int, ...]]):
    """Piece numbers by word; made when first met; emptied when it is full."""

    def __init__(self, vocabulary: dict[str, int]) -> None:
        super().__init__()
        self._vocabulary = vocabulary
        self._unknown = (vocabulary[UNKNOWN],)
        self._longest = max(map(len, vocabulary))

    def __missing__(self, word: str) -> tuple[int, ...]:
        if len(word) > MAX_WORD:
            return self._unknown
        if len(self) >= MAX_CACHED:
            self.clear()
        self[word] = pieces = self._cut(word)
        return pieces

    def _cut(self, word: str) -> tuple[int, ...]:
        pieces: list[int] = []
        start, mark = 0, ""
        while start < len(word):
            for end in range(min(len(word), start + self._longest), start, -1):
                piece = self._vocabulary.get(mark + word[start:end])
                if piece is not None:
                    break
            else:
                return self._unknown
            pieces.append(piece)
            start, mark = end, "##"
        return tuple(pieces)


class WordPiece:
    """A tokeniser over one vocabulary; safe to share between threads."""

    def __init__(self, vocabulary: Iterable[str]) -> None:
        """Number the pieces in their order; ``[UNK]`` must be among them."""
        self._pieces = _Pieces({piece: number for number, piece in enumerate(vocabulary)})
        self._forms = _Forms()

    def words(self, text: str) -> list[str]:
        """Return the normalised words and single marks of a text, in order."""
        if text.isascii():
            return _ASCII_WORDS.findall(_ASCII_CONTROL.sub("", text).lower())
        return text.translate(self._forms).split()

    def ids(self, text: str) -> list[int]:
        """Return the numbers of a text's pieces, in order, without ``[CLS]`` and ``[SEP]``."""
        return list(chain.from_iterable(map(self._pieces.__getitem__, self.words(text))))
