"""The words index of one owner's verified view: inverted lists in this process's memory, BM25 over them.

It is never stored as such and never asked whether something is missing: the view that it indexes was verified complete.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from witnesstree.rules.ranking import K1, RELATED, STOP_WEIGHT, B, term_weight
from witnesstree.rules.related import related_to
from witnesstree.rules.stem import stem
from witnesstree.rules.terms import is_topic

_MIN_TAIL = 256
_REMOVED = 0
"""Number that takes the place of an erased document's words."""


class _Numbering(dict[str, int]):
    """Gives each new term the next number; looking a term up this way is one step of C."""

    def __missing__(self, term: str) -> int:
        number = self[term] = len(self) + 1 + self.dropped
        return number

    dropped = 0


class _Stemming(dict[str, int]):
    """Gives a whole word the number of its stem; a word seen before costs one look-up."""

    def __init__(self, vocabulary: _Numbering) -> None:
        super().__init__()
        self._vocabulary = vocabulary

    def __missing__(self, word: str) -> int:
        number = self[word] = self._vocabulary[stem(word)]
        return number


class Share(NamedTuple):
    """What a term adds to the score of the documents that hold it."""

    term: str
    documents: NDArray[np.uint32]
    values: NDArray[np.float32]


class WordIndex:
    """Terms of numbered documents. Documents are only added; a removed one loses its words at once."""

    def __init__(self) -> None:
        """Make an empty index."""
        self.vocabulary = _Numbering()
        self._numbers = _Stemming(self.vocabulary)
        self._flat: array[int] = array("I")
        self._starts: array[int] = array("Q", [0])
        self._sealed = 0
        self._offsets: NDArray[np.int64] = np.zeros(1, np.int64)
        self._documents: NDArray[np.uint32] = np.zeros(0, np.uint32)
        self._counts: NDArray[np.float32] = np.zeros(0, np.float32)
        self._tail: dict[int, dict[int, int]] = {}
        self._sizes: NDArray[np.float32] = np.zeros(0, np.float32)

    def __len__(self) -> int:
        """Return the number of documents ever added."""
        return len(self._starts) - 1

    def add(self, words: Iterable[str]) -> None:
        """Add the next document by its words, in order."""
        numbers = list(map(self._numbers.__getitem__, words))
        document = len(self)
        self._flat.extend(numbers)
        self._starts.append(len(self._flat))
        if self._sealed:
            for number in numbers:
                slot = self._tail.setdefault(number, {})
                slot[document] = slot.get(document, 0) + 1

    def remove(self, documents: Iterable[int]) -> None:
        """Forget documents' words; a term that no other document holds leaves the vocabulary."""
        self._numbers.clear()
        gone: set[int] = set()
        for document in documents:
            first, last = self._starts[document], self._starts[document + 1]
            words = set(self._flat[first:last])
            self._flat[first:last] = array("I", [_REMOVED]) * (last - first)
            for number in words & self._tail.keys():
                self._tail[number].pop(document, None)
            gone |= words
        if not gone:
            return
        left = np.bincount(np.frombuffer(self._flat, np.uint32), minlength=max(gone) + 1)
        dead = {number for number in gone if not left[number]}
        for term in [term for term, number in self.vocabulary.items() if number in dead]:
            del self.vocabulary[term]
            self.vocabulary.dropped += 1

    def _lengths(self) -> NDArray[np.float32]:
        """Return the number of terms of every document."""
        if len(self._sizes) != len(self):
            bounds = np.frombuffer(self._starts, np.uint64).astype(np.int64)
            self._sizes = (bounds[1:] - bounds[:-1]).astype(np.float32)
        return self._sizes

    def _seal(self) -> None:
        """Turn everything added so far into sorted lists."""
        flat = np.array(self._flat, np.uint32)
        total, terms = len(self), len(self.vocabulary) + self.vocabulary.dropped + 2
        # A stable sort of 16-bit numbers is a radix sort; a second pass is needed only for very large vocabularies.
        order = np.argsort(flat.astype(np.uint16), kind="stable")
        if terms > 1 << 16:
            order = order[np.argsort((flat[order] >> 16).astype(np.uint16), kind="stable")]
        numbers = flat[order]
        documents = np.repeat(np.arange(total, dtype=np.uint32), self._lengths().astype(np.int64))[order]
        first = np.ones(len(numbers) + 1, np.bool_)
        first[1:-1] = (numbers[1:] != numbers[:-1]) | (documents[1:] != documents[:-1])
        starts = np.flatnonzero(first)
        self._counts = np.diff(starts).astype(np.float32)
        self._documents = documents[starts[:-1]]
        self._offsets = np.searchsorted(numbers[starts[:-1]], np.arange(terms))
        self._tail = {}
        self._sealed = total

    def _postings(self, number: int) -> tuple[NDArray[np.uint32], NDArray[np.float32]]:
        documents: NDArray[np.uint32] = np.zeros(0, np.uint32)
        counts: NDArray[np.float32] = np.zeros(0, np.float32)
        if number + 1 < len(self._offsets):
            part = slice(self._offsets[number], self._offsets[number + 1])
            documents, counts = self._documents[part], self._counts[part]
        tail = self._tail.get(number)
        if tail:
            documents = np.concatenate((documents, np.fromiter(tail.keys(), np.uint32, len(tail))))
            counts = np.concatenate((counts, np.fromiter(tail.values(), np.float32, len(tail))))
        return documents, counts

    def shares(self, terms: Iterable[str], visible: NDArray[np.bool_]) -> list[Share]:
        """Return what each term adds to the BM25 score of the documents that hold it; nothing for a term that none holds.

        Args:
            terms: distinct terms of the query.
            visible: one bool a document; statistics are those of visible documents only.
        """
        if len(self) - self._sealed > max(_MIN_TAIL, self._sealed // 8) or (len(self) and not self._sealed):
            self._seal()
        shown = int(np.count_nonzero(visible))
        if not shown:
            return []
        lengths = self._lengths()
        average = max(1.0, float(lengths.sum() if shown == len(self) else lengths @ visible) / shown)
        found = []
        near = np.zeros(len(self), np.bool_)
        for term in terms:
            documents, counts = self._shown(term, visible, shown)
            weight = term_weight(len(documents), shown) * (1.0 if is_topic(term) else STOP_WEIGHT)
            norms = np.float32(K1 * (1 - B)) + np.float32(K1 * B / average) * lengths[documents]
            values = (np.float32(weight * (K1 + 1)) * counts / (counts + norms)).astype(np.float32, copy=False)
            others = [self._shown(other, visible, shown)[0] for other in related_to(term) if other in self.vocabulary]
            if others:
                joined = np.concatenate(others)
                near[joined], near[documents] = True, False
                only = np.flatnonzero(near).astype(np.uint32)
                near[joined] = False
                weak = np.full(len(only), RELATED * term_weight(len(documents) + len(only), shown), np.float32)
                documents, values = np.concatenate((documents, only)), np.concatenate((values, weak))
            if len(documents):
                found.append(Share(term, documents, values))
        return found

    def _shown(self, term: str, visible: NDArray[np.bool_], shown: int) -> tuple[NDArray[np.uint32], NDArray[np.float32]]:
        """Return the visible documents that hold a term, and how often."""
        number = self.vocabulary.get(term)
        if number is None:
            return np.zeros(0, np.uint32), np.zeros(0, np.float32)
        documents, counts = self._postings(number)
        if shown < len(self):
            keep = visible[documents]
            documents, counts = documents[keep], counts[keep]
        return documents, counts

    def scores(self, terms: Iterable[str], visible: NDArray[np.bool_]) -> NDArray[np.float32]:
        """Return the BM25 score of every document (0 where no term matches or the document is not visible); see ``shares``."""
        scores = np.zeros(len(self), np.float32)
        for share in self.shares(terms, visible):
            scores[share.documents] += share.values
        return scores

    def weight_of(self, visible: NDArray[np.bool_]) -> Callable[[str], float]:
        """Return a function from a term to its weight among the visible documents."""
        shown = int(np.count_nonzero(visible))

        def weight(term: str) -> float:
            number = self.vocabulary.get(term)
            return term_weight(0 if number is None else int(visible[self._postings(number)[0]].sum()), shown)

        return weight

    def dump(self, documents: NDArray[np.int64]) -> tuple[list[str], bytes, bytes]:
        """Return vocabulary, term numbers and bounds of these documents only; no other word is in it."""
        table = np.zeros(len(self.vocabulary) + self.vocabulary.dropped + 1, np.uint32)
        table[list(self.vocabulary.values())] = np.arange(1, len(self.vocabulary) + 1, dtype=np.uint32)
        flat = np.array(self._flat, np.uint32)
        starts = np.array(self._starts, np.int64)
        lengths = np.diff(starts)[documents]
        if len(documents) < len(self):
            parts = [flat[starts[d] : starts[d + 1]] for d in documents]
            flat = np.concatenate(parts) if parts else flat[:0]
        bounds = np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths)))
        return list(self.vocabulary), table[flat].astype("<u4").tobytes(), bounds.astype("<u8").tobytes()

    @classmethod
    def load(cls, vocabulary: list[str], flat: bytes | memoryview, starts: bytes | memoryview) -> WordIndex:
        """Return the index that ``dump`` described."""
        index = cls()
        index.vocabulary.update(zip(vocabulary, range(1, len(vocabulary) + 1), strict=True))
        index._flat = array("I", np.frombuffer(flat, "<u4").astype(np.uint32).tobytes())
        index._starts = array("Q", np.frombuffer(starts, "<u8").astype(np.uint64).tobytes())
        return index
