"""Vectors of one owner's documents: int8 rows in one buffer, compared exactly with a query. Nothing approximates them."""

from __future__ import annotations

import struct
from typing import Final

import numpy as np
from numpy.typing import NDArray

_SCALE: Final = struct.Struct(">f")
_BLOCK: Final = 512
"""Rows turned into floats at a time: they stay in the processor's cache."""
_START: Final = 64


def pack_vector(model: str, values: NDArray[np.float32]) -> bytes:
    """Return the stored form of a vector of length 1 (``docs/spec/record.md``); one that is all zero keeps its model id only.

    Args:
        model: id of the embedder, at most 255 ASCII characters.
        values: the components, shape [dim].
    """
    head = bytes([len(model)]) + model.encode("ascii")
    largest = float(np.abs(values).max(initial=0.0))
    if not largest:
        return head + _SCALE.pack(0.0)
    packed = _SCALE.pack(largest / 127)
    components: NDArray[np.int8] = np.rint(values / _SCALE.unpack(packed)[0]).clip(-127, 127).astype(np.int8)
    return head + packed + components.tobytes()


def model_of(vector: bytes) -> str:
    """Return the id of the embedder that made a stored vector."""
    return vector[1 : 1 + vector[0]].decode("ascii", "replace") if vector else ""


class Vectors:
    """One vector a document, or none."""

    def __init__(self) -> None:
        """Begin with no document."""
        self.models: set[str] = set()
        self.dim = 0
        self.count = 0
        self._head = b""
        self._scales: NDArray[np.float32] = np.zeros(_START, np.float32)
        self._rows: NDArray[np.int8] = np.zeros((_START, 0), np.int8)

    def add(self, vector: bytes) -> None:
        """Add the next document's stored vector (may be nothing)."""
        document = self.count
        self.count += 1
        if self.count > len(self._scales):
            self._scales = np.concatenate((self._scales, np.zeros(len(self._scales), np.float32)))
            self._rows = np.concatenate((self._rows, np.zeros_like(self._rows)))
        if not vector:
            return
        if not vector.startswith(self._head) or not self._head:
            self.models.add(model_of(vector))
            if self._head:
                return  # of another model: never compared
            self._head = vector[: 1 + vector[0]]
        at = len(self._head)
        dim = len(vector) - at - 4
        if not dim:
            return
        if not self.dim:
            self.dim = dim
            self._rows = np.zeros((len(self._scales), dim), np.int8)
        if dim == self.dim:
            self._scales[document] = _SCALE.unpack_from(vector, at)[0]
            self._rows[document] = np.frombuffer(vector, np.int8, dim, at + 4)

    def remove(self, documents: list[int]) -> None:
        """Overwrite documents' vectors."""
        self._scales[documents] = 0
        self._rows[documents] = 0

    @property
    def known(self) -> NDArray[np.bool_]:
        """One bool a document: whether it has a vector."""
        known: NDArray[np.bool_] = self._scales[: self.count] != 0
        return known

    def cosines(self, query: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the cosine between a query vector of length 1, shape [dim], and every document; 0 where there is no vector."""
        found = np.zeros(self.count, np.float32)
        if len(query) != self.dim:
            return found
        for start in range(0, self.count, _BLOCK):
            part = self._rows[start : min(start + _BLOCK, self.count)]
            # No matrix product: a BLAS would start threads for this little work and let them spin.
            np.einsum("ij,j->i", part.astype(np.float32), query, out=found[start : start + len(part)])
        return found * self._scales[: self.count]

    def dump(self, documents: NDArray[np.int64]) -> tuple[dict[str, object], bytes]:
        """Return (models and dimension, bytes) of these documents' vectors."""
        about = {"models": sorted(self.models), "dim": self.dim, "head": self._head.hex()}
        return about, self._scales[documents].astype("<f4").tobytes() + self._rows[documents].tobytes()

    @classmethod
    def load(cls, about: dict[str, object], data: memoryview) -> Vectors:
        """Return the vectors that ``dump`` described."""
        vectors = cls()
        vectors.models = set(about["models"])  # type: ignore[call-overload]
        vectors.dim = int(about["dim"])  # type: ignore[call-overload]
        vectors._head = bytes.fromhex(str(about["head"]))
        vectors.count = len(data) // (4 + vectors.dim)
        scales = np.frombuffer(data, "<f4", vectors.count).astype(np.float32)
        rows = np.frombuffer(data, np.int8, vectors.count * vectors.dim, 4 * vectors.count).reshape(vectors.count, vectors.dim)
        spare = max(_START, vectors.count // 8)
        vectors._scales = np.concatenate((scales, np.zeros(spare, np.float32)))
        vectors._rows = np.concatenate((rows, np.zeros((spare, vectors.dim), np.int8)))
        return vectors
