"""Models: embedders that turn texts into vectors."""

from __future__ import annotations

from functools import lru_cache
from typing import cast

from witnesstree.errors import InputError
from witnesstree.providers.base import Embedder

LOCAL, NONE = "local", "none"


@lru_cache(maxsize=8)
def make_embedder(name: str) -> Embedder | None:
    """Return the embedder of a name, one a process; None for ``none`` (words only).

    Raises:
        InputError: an unknown name.
    """
    if name == LOCAL:
        from witnesstree.providers.local import StaticEmbedder

        return StaticEmbedder()
    if name == NONE:
        return None
    raise InputError(f'embedder must be "{LOCAL}" or "{NONE}", not {str(name)[:40]!r}', field="embedder")


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
