"""Made-up memories: 18 words a row from a skewed vocabulary of 20,000, and three-word questions about them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from witnesstree.providers.data_files import read_vocabulary
from witnesstree.rules.function_words import FUNCTION_WORDS

VOCABULARY = 20_000
WORDS_A_ROW = 18
WORDS_A_QUERY = 3


class Corpus:
    """An endless, reproducible stream of rows. A word's share falls with its rank (Zipf with exponent 1)."""

    def __init__(self, seed: int = 1) -> None:
        """Begin the stream that belongs to ``seed``."""
        self._random = np.random.default_rng(seed)
        letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
        spell = np.random.default_rng(0)
        self.words = ["".join(spell.choice(letters, size)) for size in spell.integers(3, 8, VOCABULARY)]

    def texts(self, count: int) -> list[str]:
        """Return the next rows, about 110 characters each."""
        ranks = (VOCABULARY ** self._random.random((count, WORDS_A_ROW))).astype(int) - 1
        return [" ".join(self.words[rank] for rank in row) for row in ranks]

    def hundred(self, count: int) -> list[str]:
        """Return the next rows, exactly 100 characters each."""
        return [(text + " and so on and on and on and on and on").ljust(100, ".")[:100] for text in self.texts(count)]

    def queries(self, texts: list[str], count: int) -> list[str]:
        """Return questions: three different words of a row picked at random."""
        found = []
        for row in self._random.integers(0, len(texts), count):
            words = list(dict.fromkeys(texts[row].split()))
            found.append(" ".join(self._random.choice(words, WORDS_A_QUERY, replace=False)))
        return found


class EnglishCorpus(Corpus):
    """The same stream in English words, the more frequent the earlier: the offline embedder reads it, made-up words it does not.

    Words that only build sentences are left out; a peer that keeps them in its query would pay for each.
    """

    def __init__(self, seed: int = 1) -> None:
        """Take the words from the vocabulary of the offline embedder, in its order."""
        super().__init__(seed)
        whole = (word for word in read_vocabulary() if word.isascii() and word.isalpha() and len(word) > 2)
        words = [word for word in whole if word not in FUNCTION_WORDS]
        self.words = [words[place % len(words)] for place in range(VOCABULARY)]


def parts(count: int, size: int) -> Iterator[int]:
    """Yield batch sizes that make up ``count``."""
    for done in range(0, count, size):
        yield min(size, count - done)
