"""The embedder that needs no network: a table of one vector a word piece, distilled from MiniLM (``docs/embedders.md``).

Rows are whole numbers under one scale, so that a sum is exact and a text has the same vector, byte for byte, on every machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from witnesstree.providers.data_files import read_table
from witnesstree.providers.vocabulary import EnglishPieces

_AT_ONCE: Final = 1 << 14
"""Rows that are copied out of the table at a time."""


class StaticEmbedder:
    """The vector of a text is the sum of its pieces' rows, brought to length 1. The table is read at the first use."""

    id = "local-1"
    dim = 256
    floor = 0.3

    @cached_property
    def _model(self) -> tuple[EnglishPieces, NDArray[np.int8]]:
        return EnglishPieces(), read_table()

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row of length 1 a text, shape [n, 256]; all zero where no word is known or the text is not English.

        Raises:
            ProviderError: the table can't be read.
        """
        cutter, table = self._model
        sums = np.zeros((len(texts), self.dim), np.int64)
        for place, text in enumerate(texts):
            pieces = cutter.of(text)
            for start in range(0, len(pieces), _AT_ONCE):
                sums[place] += table.take(pieces[start : start + _AT_ONCE], axis=0).sum(axis=0, dtype=np.int32)
        lengths = np.sqrt(np.einsum("ij,ij->i", sums, sums))[:, None]
        vectors: NDArray[np.float32] = np.divide(sums, np.maximum(lengths, 1.0)).astype(np.float32)
        return vectors

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return the vector of a question, shape [256]."""
        vector: NDArray[np.float32] = self.embed([text])[0]
        return vector
