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
        IndexTamperError,
        InputError,
        IntegrityError,
        LogError,
        NotFoundError,
        PackError,
        ProviderError,
        SealError,
        StoreError,
        UnsupportedError,
    )
    from witnesstree.memory import Memory
    from witnesstree.proof.receipt import verify_proof, verify_receipt
    from witnesstree.types.message import Message
    from witnesstree.types.result import (
        AddResult,
        Answer,
        AuditReport,
        Change,
        Citation,
        ErasureReceipt,
        Hit,
        Memo,
        Page,
        Problem,
        Quote,
        Reindexed,
        Rejected,
        SearchResult,
    )

__version__ = "0.1.0"

__all__ = [
    "AccessError",
    "AddResult",
    "Answer",
    "AsyncMemory",
    "AuditReport",
    "Change",
    "Citation",
    "ConflictError",
    "ErasureReceipt",
    "Error",
    "Hit",
    "IndexTamperError",
    "InputError",
    "IntegrityError",
    "LogError",
    "Memo",
    "Memory",
    "Message",
    "NotFoundError",
    "PackError",
    "Page",
    "Problem",
    "ProviderError",
    "Quote",
    "Reindexed",
    "Rejected",
    "SealError",
    "SearchResult",
    "StoreError",
    "UnsupportedError",
    "verify_proof",
    "verify_receipt",
]

_HOMES = {
    "AsyncMemory": "aio",
    "Memory": "memory",
    "Message": "types.message",
    "verify_proof": "proof.receipt",
    "verify_receipt": "proof.receipt",
}
"""Where the names live that are neither errors nor results."""


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = _HOMES.get(name) or ("errors" if name.endswith("Error") else "types.result")
    return getattr(importlib.import_module(f"{__name__}.{home}"), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
