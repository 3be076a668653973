"""The data files of this package and their checksums; where they come from is in ``docs/embedders.md``."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from witnesstree.errors import ProviderError

TABLE: Final = "table.npy"
VOCABULARY: Final = "vocabulary.txt"
CENTRE: Final = "e5-centre.npy"
CHECKSUMS: Final = {
    TABLE: "2e56be8d8b7eb48bd454b993ee2201180e652dd42dc984fb2549f249c72d4497",
    CENTRE: "9a42c74c4dde30ce5c0a21b6936bd39eac3c50d47d51b8d98ae59b8e06746f6d",
    VOCABULARY: "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
}
"""The sha256 of each file. Another table is another model, and gets another id."""
PIECES: Final = 30_522


def data_path(name: str) -> Path:
    """Return the path of a data file."""
    return Path(__file__).parent / "data" / name


def read_vocabulary() -> list[str]:
    """Return the word pieces by number.

    Raises:
        ProviderError: the file can't be read.
    """
    try:
        pieces = data_path(VOCABULARY).read_text("utf-8").rstrip("\n").split("\n")
    except (OSError, ValueError):
        pieces = []
    if len(pieces) != PIECES:
        raise _damaged(VOCABULARY)
    return pieces


def read_table() -> NDArray[np.int8]:
    """Return the table, one row a piece; the file is mapped, so that only rows that are used are read.

    Raises:
        ProviderError: the file can't be read.
    """
    return _read_array(TABLE, (PIECES, 256), np.int8)


def read_centre() -> NDArray[np.float32]:
    """Return the mean vector of multilingual-e5-small.

    Raises:
        ProviderError: the file can't be read.
    """
    return _read_array(CENTRE, (384,), np.float32)


def _read_array(name: str, shape: tuple[int, ...], kind: type[Any]) -> NDArray[Any]:
    try:
        array = np.load(data_path(name), mmap_mode="r")
    except (OSError, ValueError, EOFError):
        raise _damaged(name) from None
    if array.dtype != kind or array.shape != shape:
        raise _damaged(name)
    return np.asarray(array)


def _damaged(name: str) -> ProviderError:
    return ProviderError(f"the embedder's file {name} is missing or damaged: install witnesstree again", reason="model_damaged")
