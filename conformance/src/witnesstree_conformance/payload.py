"""A harmless payload: when it is unpickled it makes an empty file, and nothing else."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any


class Payload:
    """Pickles as a call of ``os.mknod(canary)``; with ``then`` it still gives a value, so that nobody notices.

    The value comes from a list of two: the call and the value, of which the second is taken.
    """

    def __init__(self, canary: Path, then: Any = None) -> None:
        """Take the file to make, and the value to give."""
        self.canary = canary
        self.then = then

    def __reduce__(self) -> tuple[Any, ...]:
        """Say how it is built again: by making the canary."""
        if self.then is None:
            return os.mknod, (str(self.canary),)
        return _second, (_Call(self.canary), self.then)


class _Call:
    def __init__(self, canary: Path) -> None:
        self.canary = canary

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mknod, (str(self.canary),)


def _second(first: Any, second: Any) -> Any:
    return second
