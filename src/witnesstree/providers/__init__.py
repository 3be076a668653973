"""Models: embedders that turn texts into vectors. A model's package is imported where its embedder is first used."""

from __future__ import annotations

import importlib
from functools import lru_cache
from typing import Final, cast

from witnesstree.errors import InputError
from witnesstree.providers.base import Embedder

LOCAL: Final = "local"
NONE: Final = "none"
_EMBEDDERS: Final = {
    LOCAL: ("witnesstree.providers.local", "StaticEmbedder"),
    "minilm": ("witnesstree.providers.minilm", "MiniLmEmbedder"),
    "multilingual": ("witnesstree.providers.e5", "E5Embedder"),
}


@lru_cache(maxsize=8)
def make_embedder(name: str) -> Embedder | None:
    """Return the embedder of a name, one a process; None for ``none`` (words only).

    Raises:
        InputError: an unknown name.
    """
    if name == NONE:
        return None
    if name not in _EMBEDDERS:
        allowed = ", ".join([*_EMBEDDERS, NONE])
        raise InputError(f"there is no embedder {str(name)[:40]!r}; there are: {allowed}", field="embedder")
    module, kind = _EMBEDDERS[name]
    return cast(Embedder, getattr(importlib.import_module(module), kind)())


def as_embedder(value: object) -> Embedder | None:
    """Return an embedder object as it is, and the embedder of a name.

    Raises:
        InputError: neither, or an object that is no embedder.
    """
    if isinstance(value, str):
        return make_embedder(value)
    if all(hasattr(value, name) for name in ("id", "dim", "floor", "embed", "embed_query")):
        return cast(Embedder, value)
    raise InputError("embedder must be a name or an object with id, dim, floor, embed and embed_query", field="embedder")
