"""The embedder that needs no network: a table of one vector a word piece, distilled from MiniLM (``docs/embedders.md``)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from importlib import resources
from typing import Final

import numpy as np
from numpy.typing import NDArray

from witnesstree.providers.wordpiece import WordPiece

DATA: Final = "witnesstree.providers.data"
_AT_ONCE: Final = 512


class StaticEmbedder:
    """The vector of a text is the sum of its pieces' vectors, brought to length 1. The table is read at the first use."""

    id = "local-1"
    dim = 256
    floor = 0.4

    @cached_property
    def _pieces(self) -> WordPiece:
        return WordPiece(resources.files(DATA).joinpath("vocabulary.txt").read_text("utf-8").splitlines())

    @cached_property
    def _table(self) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
        with resources.as_file(resources.files(DATA).joinpath("table.npy")) as path:
            raw = np.load(path, mmap_mode="r")
        return raw[:, 4:], np.ascontiguousarray(raw[:, :4]).view("<f4")[:, 0]

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row of length 1 a text, shape [n, 256]; all zero where no word is known."""
        found = np.zeros((len(texts), self.dim), np.float32)
        for start in range(0, len(texts), _AT_ONCE):
            self._embed_some(texts[start : start + _AT_ONCE], found[start : start + _AT_ONCE])
        return found

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return the vector of a question, shape [256]."""
        vector: NDArray[np.float32] = self.embed([text])[0]
        return vector

    def _embed_some(self, texts: Sequence[str], found: NDArray[np.float32]) -> None:
        cut = [self._pieces.pieces(text) for text in texts]
        filled = [place for place, numbers in enumerate(cut) if numbers]
        if not filled:
            return
        flat = np.fromiter((number for numbers in cut for number in numbers), np.int64)
        starts = np.cumsum([0, *(len(cut[place]) for place in filled[:-1])])
        rows, scales = self._table
        sums = np.add.reduceat(rows[flat].astype(np.float32) * scales[flat, None], starts, axis=0)
        lengths = np.sqrt(np.einsum("ij,ij->i", sums, sums))[:, None]
        found[filled] = np.divide(sums, lengths, out=np.zeros_like(sums), where=lengths > 0)
