"""Witnesstree: long-term memory for AI agents that can testify.

Names are loaded on first use, so that importing the package costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from witnesstree.aio import AsyncMemory
    from witnesstree.errors import (
        AccessError,
        ConflictError,
        Error,
        InputError,
        IntegrityError,
        LogError,
        NotFoundError,
        SealError,
        StoreError,
        UnsupportedError,
    )
    from witnesstree.memory import Memory
    from witnesstree.types.message import Message

__version__ = "0.1.0"

__all__ = [
    "AccessError",
    "AsyncMemory",
    "ConflictError",
    "Error",
    "InputError",
    "IntegrityError",
    "LogError",
    "Memory",
    "Message",
    "NotFoundError",
    "SealError",
    "StoreError",
    "UnsupportedError",
]

_HOMES = {"AsyncMemory": "aio", "Memory": "memory", "Message": "types.message"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES.get(name, 'errors')}"), name)
