"""Where bytes rest. ``open_store`` and ``create_store`` choose the engine by URL; drivers are imported only there."""

from __future__ import annotations

import importlib
import os
from typing import Any, Final, cast

from witnesstree.errors import InputError, UnsupportedError
from witnesstree.stores.base import Store
from witnesstree.types.batch import Batch
from witnesstree.types.paths import expand

__all__ = ["create_store", "engine_version", "open_store", "path_text", "place_exists", "place_of"]

RAM: Final = "ram:"
"""The URL of a memory that lives in its process only."""
_ENGINES: Final = {"sqlite": ("witnesstree.stores.sqlite", "SqliteStore")}


def path_text(path: object) -> str:
    """Return a path, or a URL, as text.

    Raises:
        InputError: it is neither text nor a path, or empty.
    """
    text = os.fspath(path) if isinstance(path, os.PathLike) else path
    if not isinstance(text, str) or not text:
        raise InputError("the path of a store must be text and not empty", field="url", reason="no_path")
    return text


def _split(url: str) -> tuple[str, str]:
    """Return (engine, path) of a URL or a plain path."""
    try:
        path_text(url).encode()
        url = expand(url)
    except UnicodeEncodeError:
        raise InputError("the path of a store can't be a file name here", reason="no_path") from None
    if url == RAM:
        raise UnsupportedError("ram: lives in one process and has no files; give a path", reason="ram")
    scheme, separator, rest = url.partition("://")
    if not separator:
        return "sqlite", url
    if scheme not in _ENGINES:
        known = ", ".join(f"{name}://" for name in sorted(_ENGINES))
        raise UnsupportedError(f"there is no backend for {scheme}://; use a path or {known}", reason="unknown_backend")
    if not rest:
        raise InputError(f"{url} names no file; write {scheme}:///path/to/file", reason="no_path")
    return scheme, rest


def _engine(name: str) -> Any:
    module, kind = _ENGINES[name]
    return getattr(importlib.import_module(module), kind)


def place_of(url: str) -> str:
    """Return the normalised place of a URL: the name under which its store id is pinned."""
    _, path = _split(url)
    if not path or "\x00" in path:
        raise InputError("the path of a store must not be empty", reason="no_path")
    folder, name = os.path.split(expand(path))
    return os.path.join(os.path.realpath(folder or "."), name)


def place_exists(url: str) -> bool:
    """Return whether anything is at the place (a dangling link counts)."""
    return os.path.lexists(place_of(url))


def engine_version(url: str) -> tuple[str, bool]:
    """Return the name and version of the library behind a URL's engine, and whether it is new enough."""
    found: tuple[str, bool] = _engine(_split(url)[0]).library_version()
    return found


def create_store(url: str, genesis: Batch) -> None:
    """Make a new store that holds exactly ``genesis``.

    Raises:
        ConflictError: something is already there. InputError, StoreError: the place can't be used.
    """
    name, path = _split(url)
    _engine(name).create(path, genesis)


def open_store(url: str) -> Store:
    """Open an existing store.

    Raises:
        InputError: not a store of ours. UnsupportedError: unknown backend or newer format. StoreError: unreachable.
    """
    name, path = _split(url)
    return cast(Store, _engine(name)(path))
