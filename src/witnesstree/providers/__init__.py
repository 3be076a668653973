"""Models: embedders that turn texts into vectors. A model's package is imported where its embedder is first used."""

from __future__ import annotations

import importlib
import re
from functools import lru_cache
from pathlib import Path
from typing import Final, cast

from witnesstree.errors import InputError
from witnesstree.providers.base import Embedder, is_remote
from witnesstree.types.limits import MAX_DIMENSIONS
from witnesstree.types.settings import Settings

LOCAL: Final = "local"
NONE: Final = "none"
_REMOTE: Final = ("openai:", "http:", "https:")
_EMBEDDERS: Final = {
    LOCAL: ("witnesstree.providers.local", "StaticEmbedder"),
    "minilm": ("witnesstree.providers.minilm", "MiniLmEmbedder"),
    "multilingual": ("witnesstree.providers.e5", "E5Embedder"),
}


def make_embedder(name: str, settings: Settings | None = None) -> Embedder | None:
    """Return the embedder of a name; None for ``none`` (words only). Nothing is loaded or sent for that.

    Args:
        name: one of the names here, ``openai:MODEL``, or an ``http:`` or ``https:`` URL with ``#MODEL``.
        settings: keys of providers; none if not given.

    Raises:
        InputError: an unknown name, or a URL that can't be used.
    """
    if isinstance(name, str) and name.startswith(_REMOTE):
        from witnesstree.providers.remote import make_remote  # the HTTP client behind it is not needed otherwise

        return make_remote(name, settings or Settings(Path(), Path()))
    return _make_local(name)


@lru_cache(maxsize=8)
def _make_local(name: str) -> Embedder | None:
    """Return the embedder of a name, one a process."""
    if name == NONE:
        return None
    if name not in _EMBEDDERS:
        allowed = ", ".join([*_EMBEDDERS, NONE])
        shown = repr(name[:40]) if name.isidentifier() else "of this name"  # a misspelt URL may hold a password
        raise InputError(f"there is no embedder {shown}; there are: {allowed}, openai:MODEL, http://...#MODEL", field="embedder")
    module, kind = _EMBEDDERS[name]
    return cast(Embedder, getattr(importlib.import_module(module), kind)())


def as_embedder(value: object, settings: Settings | None = None) -> Embedder | None:
    """Return an embedder object as it is, and the embedder of a name (see ``make_embedder``).

    Raises:
        InputError: neither, or an object that is no embedder.
    """
    if isinstance(value, str):
        return make_embedder(value, settings)
    if all(hasattr(value, name) for name in ("id", "dim", "floor", "embed", "embed_query")):
        return _checked(cast(Embedder, value))
    raise InputError("embedder must be a name or an object with id, dim, floor, embed and embed_query", field="embedder")


def _checked(embedder: Embedder) -> Embedder:
    """Return an embedder object whose name and numbers can be stored and compared.

    Raises:
        InputError: naming what is wrong.
    """
    name, dim, floor = embedder.id, embedder.dim, embedder.floor
    if not isinstance(name, str) or not re.fullmatch(r"[!-~]{1,64}", name):
        raise InputError("an embedder's id is 1 to 64 printable ASCII characters without spaces", field="embedder")
    if (
        isinstance(dim, bool)
        or not isinstance(dim, int)
        or not 0 <= dim <= MAX_DIMENSIONS
        or (not dim and not is_remote(embedder))
    ):
        raise InputError(f"an embedder's dim is a whole number from 1 to {MAX_DIMENSIONS}", field="embedder")
    if isinstance(floor, bool) or not isinstance(floor, int | float) or not -1 <= floor <= 1:
        raise InputError("an embedder's floor is a cosine, from -1 to 1", field="embedder")
    return embedder
