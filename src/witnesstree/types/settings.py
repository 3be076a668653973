"""Where a home lies and what it was told."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Settings:
    """What the environment says.

    Args:
        state: folder of keys, anchors, places and tombstones (private, must be kept).
        cache: folder of sealed view caches (may be deleted at any time).
        key: 64 hex digits, a recovery phrase, a path or ``keyring``, in place of the key files, if given.
        anchor: where heads are remembered besides the state folder, if anywhere (``file:FOLDER``).
        user: default user of the command line.
        store: default store of the command line.
        embedder: what compares by meaning where the caller does not say.
        embedder_key: key of an embedder that is a URL, if it wants one.
        embedder_floor: the cosine floor of a remote embedder, in place of the built-in one, if given.
        openai_key: key of an ``openai:`` embedder.
        openai_base: base URL of an ``openai:`` embedder, in place of OpenAI's own.
        debug: whether the command line shows tracebacks of unexpected errors.
        no_color: whether the user asked for plain output (https://no-color.org).
    """

    state: Path
    cache: Path
    key: str = field(default="", repr=False)
    anchor: str = ""
    user: str = ""
    store: str = ""
    embedder: str = "local"
    embedder_key: str = field(default="", repr=False)
    embedder_floor: str = ""
    openai_key: str = field(default="", repr=False)
    openai_base: str = ""
    debug: bool = False
    no_color: bool = False
