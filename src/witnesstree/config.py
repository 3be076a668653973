"""The only reader of the environment: where a home's folders are, and which key was handed in."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from witnesstree.types.paths import expand
from witnesstree.types.settings import Settings

HOME_VARIABLE = "WITNESSTREE_HOME"
KEY_VARIABLE = "WITNESSTREE_KEY"
ANCHOR_VARIABLE = "WITNESSTREE_ANCHOR"
USER_VARIABLE = "WITNESSTREE_USER"
STORE_VARIABLE = "WITNESSTREE_STORE"
EMBEDDER_VARIABLE = "WITNESSTREE_EMBEDDER"
EMBEDDER_KEY_VARIABLE = "WITNESSTREE_EMBEDDER_KEY"
EMBEDDER_FLOOR_VARIABLE = "WITNESSTREE_EMBEDDER_FLOOR"
OPENAI_KEY_VARIABLE = "OPENAI_API_KEY"
OPENAI_BASE_VARIABLE = "OPENAI_BASE_URL"
DEBUG_VARIABLE = "WITNESSTREE_DEBUG"


def read_settings() -> Settings:
    """Read the environment now (not at import, so that tests and containers can change it)."""
    env = os.environ
    home = env.get(HOME_VARIABLE)
    if home:
        state, cache = Path(expand(home)) / "state", Path(expand(home)) / "cache"
    elif sys.platform == "darwin":
        state = Path(expand("~/Library/Application Support/witnesstree"))
        cache = Path(expand("~/Library/Caches/witnesstree"))
    else:
        state = Path(expand(env.get("XDG_STATE_HOME") or "~/.local/state")) / "witnesstree"
        cache = Path(expand(env.get("XDG_CACHE_HOME") or "~/.cache")) / "witnesstree"
    return Settings(
        state=state,
        cache=cache,
        key=env.get(KEY_VARIABLE, ""),
        anchor=env.get(ANCHOR_VARIABLE, ""),
        user=env.get(USER_VARIABLE, ""),
        store=env.get(STORE_VARIABLE, ""),
        embedder=env.get(EMBEDDER_VARIABLE) or "local",
        embedder_key=env.get(EMBEDDER_KEY_VARIABLE, ""),
        embedder_floor=env.get(EMBEDDER_FLOOR_VARIABLE, ""),
        openai_key=env.get(OPENAI_KEY_VARIABLE, ""),
        openai_base=env.get(OPENAI_BASE_VARIABLE, ""),
        debug=env.get(DEBUG_VARIABLE, "") not in ("", "0"),
        no_color=bool(env.get("NO_COLOR")),
    )


def child_environment(home: Path) -> dict[str, str]:
    """Return the environment for a child process that works in ``home`` and takes nothing else from this one's settings."""
    ours = {value for name, value in globals().items() if name.endswith("_VARIABLE")}
    return {name: value for name, value in os.environ.items() if name not in ours} | {HOME_VARIABLE: str(home)}
