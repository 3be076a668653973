"""A question taken apart for searching: its terms, its topics, and what it wants to know."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from witnesstree.rules.terms import is_topic, terms_of

_WHEN: Final = frozenset(terms_of("when since until wann quand cuándo когда"))
_WORD: Final = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Asking:
    """A question: its text, its distinct terms, and those of them that say what it is about."""

    text: str
    terms: tuple[str, ...]
    topics: tuple[str, ...]

    @classmethod
    def of(cls, text: str, limit: int) -> Asking:
        """Return the question in a text; of its distinct terms the first ``limit`` count."""
        terms = tuple(dict.fromkeys(terms_of(text)))[:limit]
        return cls(text, terms, tuple(term for term in terms if is_topic(term)))

    @property
    def wants_time(self) -> bool:
        """Whether it asks when."""
        return not _WHEN.isdisjoint(self.terms)

    def without(self, names: set[str]) -> str:
        """Return its text without some names (and the ``'s`` behind them): what is said matters more than who is meant."""
        if not names:
            return self.text
        words = _WORD.findall(self.text)
        return " ".join(word for word in words if word != "s" and names.isdisjoint(terms_of(word)))
