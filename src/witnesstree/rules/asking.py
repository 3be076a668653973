"""A question taken apart for searching: its terms, its topics, and what it wants to know."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from witnesstree.rules.terms import is_topic, terms_of

_WHEN: Final = frozenset(terms_of("when since until date month year wann quand cuándo когда"))
_HOW_LONG: Final = {"how", "long"}
_HOW_IT_WORKS: Final = re.compile(
    r"\bhow\s+(?!many|much|long|often|hard)(?:.*\s)?(?P<thing>\S+)\s+(?P<idle>works?)[\s?.!]*$", re.I | re.S
)
_LONGEST_IDLE: Final = 200
_WORD: Final = re.compile(r"\w+|[^\w\s]")


def without_idle(question: str) -> str:
    """Return a question without the verb of "how does the login work": it says nothing of what is asked for."""
    if len(question) > _LONGEST_IDLE:
        return question
    found = _HOW_IT_WORKS.search(question)
    return question[: found.start("idle")] if found and any(map(is_topic, terms_of(found["thing"]))) else question


@dataclass(frozen=True, slots=True)
class Asking:
    """A question: its text, its distinct terms, those of them that say what it is about, and how many were ``left_out``."""

    text: str
    terms: tuple[str, ...]
    topics: tuple[str, ...]
    left_out: int = 0

    @classmethod
    def of(cls, text: str, limit: int) -> Asking:
        """Return the question in a text; of its distinct terms the first ``limit`` count."""
        every = tuple(dict.fromkeys(terms_of(without_idle(text))))
        terms = every[:limit]
        return cls(text, terms, tuple(term for term in terms if is_topic(term)), len(every) - len(terms))

    @property
    def notes(self) -> tuple[str, ...]:
        """What a result says of words that were not looked for."""
        return (f"only the first {len(self.terms)} distinct words of the question were used",) if self.left_out else ()

    @property
    def wants_time(self) -> bool:
        """Whether it asks when."""
        return not _WHEN.isdisjoint(self.terms) or _HOW_LONG.issubset(self.terms)

    def without(self, names: set[str]) -> str:
        """Return its text without some names (and the ``'s`` behind them): what is said matters more than who is meant."""
        if not names:
            return self.text
        words = _WORD.findall(self.text)
        return " ".join(word for word in words if word != "s" and names.isdisjoint(terms_of(word)))
