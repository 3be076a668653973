"""Vectors of one owner's documents: int8 rows in one buffer, compared exactly with a query. Nothing approximates them."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from witnesstree.errors import ProviderError
from witnesstree.providers.base import Embedder

_SCALE: Final = struct.Struct(">f")
_BLOCK: Final = 512
"""Rows turned into floats at a time: they stay in the processor's cache."""
_START: Final = 64


def pack_vector(model: str, values: NDArray[np.float32]) -> bytes:
    """Return the stored form of a vector of length 1 (``docs/spec/record.md``); one that is all zero keeps its model id only.

    Args:
        model: id of the embedder, at most 255 ASCII characters.
        values: the components, shape [dim].

    Raises:
        ProviderError: a component is no finite number.
    """
    head = bytes([len(model)]) + model.encode("ascii")
    largest = float(np.abs(values).max(initial=0.0))
    if not math.isfinite(largest):
        raise _wrong(model, len(values))
    if not largest:
        return head + _SCALE.pack(0.0)
    packed = _SCALE.pack(largest / 127)
    components: NDArray[np.int8] = np.rint(values / _SCALE.unpack(packed)[0]).clip(-127, 127).astype(np.int8)
    return head + packed + components.tobytes()


def embedded(embedder: Embedder, texts: Sequence[str]) -> list[bytes]:
    """Return the stored form of each text's vector.

    Raises:
        ProviderError: the embedder gives something else than one vector a text of its dimension.
    """
    made, model = np.asarray(embedder.embed(texts)), embedder.id
    if made.dtype.kind != "f" or made.shape != (len(texts), embedder.dim):
        raise _wrong(model, embedder.dim)
    return [pack_vector(model, values) for values in made]


def _wrong(model: str, dim: int) -> ProviderError:
    return ProviderError(f"the embedder {model} did not give each text a vector of {dim} finite numbers", reason="wrong_vector")


def model_of(vector: bytes) -> str:
    """Return the id of the embedder that made a stored vector."""
    return vector[1 : 1 + vector[0]].decode("ascii", "replace") if vector else ""


def dim_of(vector: bytes) -> int:
    """Return the number of components of a stored vector; 0 if it has none."""
    return max(0, len(vector) - 5 - vector[0]) if vector else 0


class Vectors:
    """One vector a document, or none. Added ones wait as they are until somebody asks."""

    def __init__(self) -> None:
        """Begin with no document."""
        self.dim = 0
        self.count = 0
        self._models: set[str] = set()
        self._head = b""
        self._settled = 0
        self._waiting: list[bytes] = []
        self._scales: NDArray[np.float32] = np.zeros(_START, np.float32)
        self._rows: NDArray[np.int8] = np.zeros((_START, 0), np.int8)

    def add(self, vector: bytes) -> None:
        """Add the next document's stored vector (may be nothing)."""
        self._waiting.append(vector)
        self.count += 1

    @property
    def models(self) -> set[str]:
        """The ids of the embedders that made these vectors."""
        self._settle()
        return self._models

    def _settle(self) -> None:
        """Put what waits into the arrays. A vector of another model than the first one's is never compared: it counts as none."""
        waiting = self._waiting
        if not waiting:
            return
        self._waiting = []
        if not self.dim:
            self._begin(next((vector for vector in waiting if vector and len(vector) > 5 + vector[0]), b""))
        at, width = len(self._head), len(self._head) + 4 + self.dim
        blank = bytes(width)
        good = [vector if len(vector) == width and vector.startswith(self._head) else blank for vector in waiting]
        self._models |= {model_of(vector) for vector in {vector[: 1 + vector[0]] for vector in waiting if vector}}
        data = np.frombuffer(b"".join(good), np.uint8).reshape(len(good), width)
        scales = np.ascontiguousarray(data[:, at : at + 4]).view(">f4")[:, 0]
        first, last = self._settled, self._settled + len(good)
        if last > len(self._scales):
            spare = max(last, 2 * len(self._scales)) - len(self._scales)
            self._scales = np.concatenate((self._scales, np.zeros(spare, np.float32)))
            self._rows = np.concatenate((self._rows, np.zeros((spare, self.dim), np.int8)))
        self._scales[first:last] = scales
        self._rows[first:last] = data[:, at + 4 :].view(np.int8)
        self._settled = last

    def _begin(self, vector: bytes) -> None:
        """Take model and dimension from the first vector."""
        if vector:
            self._head = vector[: 1 + vector[0]]
            self.dim = len(vector) - len(self._head) - 4
            self._rows = np.zeros((len(self._scales), self.dim), np.int8)

    def remove(self, documents: list[int]) -> None:
        """Overwrite documents' vectors."""
        self._settle()
        self._scales[documents] = 0
        self._rows[documents] = 0

    @property
    def known(self) -> NDArray[np.bool_]:
        """One bool a document: whether it has a vector."""
        self._settle()
        known: NDArray[np.bool_] = self._scales[: self.count] != 0
        return known

    def cosines(self, query: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the cosine between a query vector of length 1, shape [dim], and every document; 0 where there is no vector."""
        self._settle()
        found = np.zeros(self.count, np.float32)
        if len(query) != self.dim:
            return found
        for start in range(0, self.count, _BLOCK):
            part = self._rows[start : min(start + _BLOCK, self.count)]
            # No matrix product: a BLAS would start threads for this little work and let them spin.
            np.einsum("ij,j->i", part.astype(np.float32), query, out=found[start : start + len(part)])
        found *= self._scales[: self.count]
        return found

    def dump(self, documents: NDArray[np.int64]) -> tuple[dict[str, object], bytes]:
        """Return (models and dimension, bytes) of these documents' vectors."""
        self._settle()
        about = {"models": sorted(self._models), "dim": self.dim, "head": self._head.hex()}
        return about, self._scales[documents].astype("<f4").tobytes() + self._rows[documents].tobytes()

    @classmethod
    def load(cls, about: dict[str, object], data: memoryview) -> Vectors:
        """Return the vectors that ``dump`` described."""
        vectors = cls()
        vectors._models = set(about["models"])  # type: ignore[call-overload]
        vectors.dim = int(about["dim"])  # type: ignore[call-overload]
        vectors._head = bytes.fromhex(str(about["head"]))
        vectors.count = vectors._settled = len(data) // (4 + vectors.dim)
        scales = np.frombuffer(data, "<f4", vectors.count).astype(np.float32)
        rows = np.frombuffer(data, np.int8, vectors.count * vectors.dim, 4 * vectors.count).reshape(vectors.count, vectors.dim)
        spare = max(_START, vectors.count // 8)
        vectors._scales = np.concatenate((scales, np.zeros(spare, np.float32)))
        vectors._rows = np.concatenate((rows, np.zeros((spare, vectors.dim), np.int8)))
        return vectors
