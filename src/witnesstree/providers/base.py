"""The contract of an embedder: texts to vectors of length 1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class QueryEmbedder(Protocol):
    """The part of an embedder that a search needs."""

    @property
    def floor(self) -> float:
        """The cosine below which two texts have nothing in common that this model can tell."""

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return the vector of a question, shape [dim].

        Raises:
            UnsupportedError, ProviderError: as for ``Embedder.embed``.
        """


class Embedder(QueryEmbedder, Protocol):
    """Turns texts into vectors; equal ids and dimensions mean comparable vectors.

    One that asks somebody over a network has an attribute ``is_remote`` that is true: then no lock is held while it is asked.
    """

    @property
    def id(self) -> str:
        """A short ASCII name of model and version, at most 64 characters; stored with each vector."""

    @property
    def dim(self) -> int:
        """Number of components; 0 while it is not known (a remote one that was not asked yet)."""

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
            AccessError: a provider elsewhere needs a key that is not there.
        """


def is_remote(embedder: Embedder | None) -> bool:
    """Return whether asking an embedder means waiting for somebody else."""
    return bool(getattr(embedder, "is_remote", False))
