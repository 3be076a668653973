"""The contract of an embedder: texts to vectors of length 1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class Embedder(Protocol):
    """Turns texts into vectors; equal ids mean comparable vectors."""

    @property
    def id(self) -> str:
        """A short ASCII name of model and version, at most 64 characters; stored with each vector."""

    @property
    def dim(self) -> int:
        """Number of components."""

    @property
    def floor(self) -> float:
        """The cosine below which two texts have nothing in common that this model can tell."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of texts to be found.

        Args:
            texts: any number of texts; any content, also empty.

        Returns:
            one row a text, shape [n, dim]: of length 1, or all zero where the model knows nothing of the text. A text has the
            same vector alone and among others.

        Raises:
            UnsupportedError: the package behind the model is not installed.
            ProviderError: the model's data can't be read, or a provider elsewhere can't be reached.
        """

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return the vector of a question, shape [dim].

        Raises:
            UnsupportedError, ProviderError: as for ``embed``.
        """
