"""The words index of one owner's verified view: inverted lists in this process's memory, BM25 over them.

It is never stored as such and never asked whether something is missing: the view that it indexes was verified complete.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from witnesstree.rules.ranking import K1, STOP_WEIGHT, B, term_weight
from witnesstree.rules.terms import is_topic, terms_of

_MIN_TAIL = 256


class WordIndex:
    """Terms of numbered documents. Documents are only added; a removed one loses its words at once."""

    def __init__(self) -> None:
        """Make an empty index."""
        self.vocabulary: dict[str, int] = {}
        self._terms: list[str | None] = []
        self._alive: list[int] = []
        self.flat: array[int] = array("I")
        self.starts: array[int] = array("Q", [0])
        self._sealed = 0
        self._offsets: NDArray[np.int64] = np.zeros(1, np.int64)
        self._documents: NDArray[np.uint32] = np.zeros(0, np.uint32)
        self._counts: NDArray[np.uint16] = np.zeros(0, np.uint16)
        self._tail: dict[int, dict[int, int]] = {}

    def __len__(self) -> int:
        """Return the number of documents ever added."""
        return len(self.starts) - 1

    def add(self, text: str) -> None:
        """Add the next document."""
        known = self.vocabulary
        numbers = []
        for term in terms_of(text):
            number = known.get(term)
            if number is None:
                number = known[term] = len(self._terms)
                self._terms.append(term)
                self._alive.append(0)
            numbers.append(number)
            self._alive[number] += 1
        document = len(self)
        self.flat.extend(numbers)
        self.starts.append(len(self.flat))
        if self._sealed:
            for number in numbers:
                slot = self._tail.setdefault(number, {})
                slot[document] = slot.get(document, 0) + 1

    def remove(self, document: int) -> None:
        """Forget a document's words; a term that no other document holds leaves the vocabulary."""
        for number in self.flat[self.starts[document] : self.starts[document + 1]]:
            self._alive[number] -= 1
            self._tail.get(number, {}).pop(document, None)
            if not self._alive[number]:
                term = self._terms[number]
                if term is not None:
                    del self.vocabulary[term]
                    self._terms[number] = None

    def _lengths(self) -> NDArray[np.int64]:
        """Return the number of terms of every document."""
        bounds = np.frombuffer(self.starts, np.uint64).astype(np.int64)
        return bounds[1:] - bounds[:-1]

    def _seal(self) -> None:
        """Turn everything added so far into sorted lists."""
        flat = np.frombuffer(self.flat, np.uint32) if self.flat else np.zeros(0, np.uint32)
        lengths = self._lengths()
        total = len(lengths)
        keys = flat.astype(np.int64) * max(total, 1) + np.repeat(np.arange(total, dtype=np.int64), lengths)
        pairs, counts = np.unique(keys, return_counts=True)
        self._documents = (pairs % max(total, 1)).astype(np.uint32)
        self._counts = np.minimum(counts, 65535).astype(np.uint16)
        bounds = np.arange(len(self._terms) + 1, dtype=np.int64) * max(total, 1)
        self._offsets = np.searchsorted(pairs, bounds)
        self._tail = {}
        self._sealed = total

    def _postings(self, number: int) -> tuple[NDArray[Any], NDArray[Any]]:
        documents: NDArray[Any] = np.zeros(0, np.uint32)
        counts: NDArray[Any] = np.zeros(0, np.uint16)
        if number + 1 < len(self._offsets):
            part = slice(self._offsets[number], self._offsets[number + 1])
            documents, counts = self._documents[part], self._counts[part]
        tail = self._tail.get(number)
        if tail:
            documents = np.concatenate((documents, np.fromiter(tail.keys(), np.uint32, len(tail))))
            counts = np.concatenate((counts, np.fromiter(tail.values(), np.uint16, len(tail))))
        return documents, counts

    def scores(self, terms: Iterable[str], visible: NDArray[np.bool_]) -> NDArray[np.float32]:
        """Return the BM25 score of every document (0 where no term matches or the document is not visible).

        Args:
            terms: distinct terms of the query.
            visible: one bool a document; statistics are those of visible documents only.
        """
        if len(self) - self._sealed > max(_MIN_TAIL, self._sealed // 8) or (len(self) and not self._sealed):
            self._seal()
        total = len(self)
        scores = np.zeros(total, np.float32)
        lengths = self._lengths()
        shown = int(visible.sum())
        if not shown:
            return scores
        average = max(1.0, float(lengths[visible].sum()) / shown)
        norms = (K1 * (1 - B + B * lengths / average)).astype(np.float32)
        for term in terms:
            number = self.vocabulary.get(term)
            if number is None:
                continue
            documents, counts = self._postings(number)
            keep = visible[documents]
            documents, counts = documents[keep], counts[keep]
            weight = term_weight(len(documents), shown) * (1.0 if is_topic(term) else STOP_WEIGHT)
            scores[documents] += weight * counts * (K1 + 1) / (counts + norms[documents])
        return scores

    def weight_of(self, visible: NDArray[np.bool_]) -> Callable[[str], float]:
        """Return a function from a term to its weight among the visible documents."""
        shown = int(visible.sum())

        def weight(term: str) -> float:
            number = self.vocabulary.get(term)
            return term_weight(0 if number is None else int(visible[self._postings(number)[0]].sum()), shown)

        return weight

    def dump(self, documents: list[int]) -> tuple[list[str], bytes, bytes]:
        """Return vocabulary, term numbers and bounds of these documents only; no other word is in it."""
        table = np.zeros(len(self._terms) + 1, np.uint32)
        table[list(self.vocabulary.values())] = np.arange(len(self.vocabulary), dtype=np.uint32)
        flat = np.array(self.flat, np.uint32)
        starts = np.array(self.starts, np.int64)
        lengths = np.diff(starts)[documents]
        if len(documents) < len(self):
            parts = [flat[starts[d] : starts[d + 1]] for d in documents]
            flat = np.concatenate(parts) if parts else flat[:0]
        bounds = np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths)))
        return list(self.vocabulary), table[flat].astype("<u4").tobytes(), bounds.astype("<u8").tobytes()

    @classmethod
    def load(cls, vocabulary: list[str], flat: bytes, starts: bytes) -> WordIndex:
        """Return the index that ``dump`` described."""
        index = cls()
        index.vocabulary = {term: i for i, term in enumerate(vocabulary)}
        index._terms = list(vocabulary)
        numbers = np.frombuffer(flat, "<u4").astype(np.uint32)
        index._alive = np.bincount(numbers, minlength=len(vocabulary)).tolist()
        index.flat = array("I", numbers.tobytes())
        index.starts = array("Q", np.frombuffer(starts, "<u8").astype(np.uint64).tobytes())
        return index
