"""The contract of an anchor: it remembers a log's head outside the store, and only ever moves forward."""

from __future__ import annotations

from typing import NamedTuple, Protocol


class AnchorState(NamedTuple):
    """A remembered head: tree ``size``, 32-byte ``root`` and the ``frontier`` (peaks) to extend it from."""

    size: int
    root: bytes
    frontier: tuple[bytes, ...]


class Anchor(Protocol):
    """Where the head is remembered elsewhere."""

    def heads(self) -> tuple[AnchorState, ...]:
        """Return every remembered head: none if there never was one, several if it is remembered in several places.

        Raises:
            LogError: what is there can't be trusted.
        """

    def advance(self, state: AnchorState) -> None:
        """Remember a later head; an earlier one is ignored.

        Raises:
            LogError: the same size with another root (a fork).
            StoreError: it can't be written.
        """

    def replace(self, state: AnchorState) -> None:
        """Remember this head whatever was remembered before (an operator's act)."""

    def close(self) -> None:
        """Make the remembered head durable and release everything."""
