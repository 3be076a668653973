"""Asks the embedder on behalf of every verb. A provider that fails costs the vectors, never the words: what was lost is a note.

No lock and no transaction is held while somebody else is asked, and nothing is sent that could not be used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from witnesstree.errors import ProviderError
from witnesstree.flow.fetching import Fetching
from witnesstree.flow.verified import VerifiedStore
from witnesstree.flow.view import View
from witnesstree.providers.base import QueryEmbedder, is_remote
from witnesstree.rules.asking import Asking
from witnesstree.types.limits import MAX_QUERY_TERMS

AT_ONCE = 64
"""Texts that a remote embedder is given at a time; what it answered before it failed is kept."""
_NOTHING: NDArray[np.float32] = np.zeros(0, np.float32)


@dataclass(frozen=True, slots=True)
class Embedded:
    """The stored vectors of some texts, and why some are missing."""

    vectors: list[bytes]
    notes: tuple[str, ...] = ()
    is_wanted: bool = True

    def lost(self, without: int) -> dict[str, Any]:
        """Return what an ``AddResult`` says of so many memories that were written without a vector."""
        return {"without_vector": without, "notes": self.notes} if self.is_wanted and without else {}


def embed_new(
    store: VerifiedStore, partition: str, texts: Sequence[str], is_known: Callable[[View, int], bool] = lambda view, place: False
) -> Embedded:
    """Return the vectors of texts that are to be written, made before the write begins.

    Args:
        store: with its embedder, if any.
        partition: whose memory they are for.
        texts: in their order.
        is_known: whether the memory holds a text already, by its place; such a one is not sent to a remote embedder.

    Raises:
        InputError: a remote embedder is another one than the owner's vectors are of; nothing is sent then.
    """
    vectors = [b""] * len(texts)
    if store.embedder is None or not texts:
        return Embedded(vectors, is_wanted=store.embedder is not None)
    places, step = list(range(len(texts))), len(texts)
    if is_remote(store.embedder):
        with store.reading() as reading:
            view = reading.view(partition)
            store.embedder_for(view)
            places, step = [place for place in places if not is_known(view, place)], AT_ONCE
    try:
        for start in range(0, len(places), step):
            part = places[start : start + step]
            for place, vector in zip(part, store.vectors_of([texts[place] for place in part]), strict=True):
                vectors[place] = vector
    except ProviderError as error:
        return Embedded(vectors, (f"kept without vectors, found by words only until reindexed: {error}",))
    return Embedded(vectors)


class Meaning:
    """The vector of one question, for one search. Words decide alone where it can't be had; ``notes`` says so then."""

    def __init__(self, store: VerifiedStore, partition: str, ask: Callable[[View, Fetching], Asking]) -> None:
        """Ask a remote embedder now; another one when the ranking wants the vector.

        Args:
            store: with its embedder, if any.
            partition: whose memory is searched.
            ask: returns the question, taken apart, as it is asked of this memory.
        """
        self.notes: tuple[str, ...] = ()
        self._store = store
        self._vector: NDArray[np.float32] | None = None
        self._view: View | None = None
        if is_remote(store.embedder):
            with store.reading() as reading:
                view = reading.view(partition)
                text = self._text(view, ask(view, Fetching(reading, view, None)))
            self._vector = self._asked(text) if text else _NOTHING

    @classmethod
    def of_text(cls, store: VerifiedStore, partition: str, text: str) -> Meaning:
        """Return the meaning of a question that is asked as it is."""
        asking = Asking.of(text, MAX_QUERY_TERMS)
        return cls(store, partition, lambda view, fetching: asking)

    def _text(self, view: View, asking: Asking) -> str:
        """Return what the ranking will ask for; nothing if there is nothing to compare it with."""
        self._store.embedder_for(view)
        names = view.columns.people().keys() & set(asking.terms)
        is_wanted = names.issuperset(asking.topics) is False and view.vectors.known.any()
        return asking.without(set(names)) if is_wanted else ""

    def of(self, view: View) -> QueryEmbedder | None:
        """Return what the ranking asks about a view, if there is an embedder.

        Raises:
            InputError: the owner's vectors are of another embedder.
        """
        self._view = view
        return None if self._store.embedder_for(view) is None else self

    @property
    def floor(self) -> float:
        """The embedder's floor."""
        return 1.0 if self._store.embedder is None else self._store.embedder.floor

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return the vector of the question; an empty one if it can't be had.

        Raises:
            InputError: it has another dimension than the owner's vectors.
        """
        if self._vector is None:
            self._vector = self._asked(text)
        if self._view is not None:
            self._store.refuse_dimension(self._view, len(self._vector))
        return self._vector

    def _asked(self, text: str) -> NDArray[np.float32]:
        if self._store.embedder is None:
            return _NOTHING
        try:
            return self._store.embedder.embed_query(text)
        except ProviderError as error:
            self.notes = (f"searched by words only: {error}",)
            return _NOTHING
