"""Two anchors as one: who takes the state folder with the store still can't put an older copy back (tier C)."""

from __future__ import annotations

from witnesstree.anchors.base import Anchor, AnchorState
from witnesstree.errors import LogError, StoreError


class PairAnchor:
    """What either remembers counts."""

    def __init__(self, first: Anchor, second: Anchor) -> None:
        """Take two open anchors of one store."""
        self._both = (first, second)

    def heads(self) -> tuple[AnchorState, ...]:
        """Return what each remembers. A store must extend them all: one alone may have been put back.

        Raises:
            LogError: one can't be trusted. StoreError: one can't be read.
        """
        first, second = self._both
        return first.heads() + second.heads()

    def advance(self, state: AnchorState) -> None:
        """Remember a later head in both; one that fails does not keep the other from it.

        Raises:
            LogError, StoreError: one of them failed.
        """
        failed: StoreError | LogError | None = None
        for anchor in self._both:
            try:
                anchor.advance(state)
            except (StoreError, LogError) as error:
                failed = failed or error
        if failed is not None:
            raise failed

    def replace(self, state: AnchorState) -> None:
        """Remember this head in both, whatever was remembered before."""
        for anchor in self._both:
            anchor.replace(state)

    def close(self) -> None:
        """Close both."""
        for anchor in self._both:
            anchor.close()
