"""Answers without a model: the best-supported verbatim quote, or none (feature V8)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from witnesstree.rules.asking import without_idle
from witnesstree.rules.terms import is_topic, terms_of

MIN_COVERAGE: Final = 0.5
"""Share of the question's topic weight that the supporting text must carry."""
MIN_LEAD: Final = 0.1
"""By how much the best that a person said must fit a question about that person better than the best that anybody else said."""
LEAD_FOR_COVERAGE: Final = 0.3
"""How much less lead is asked for with full coverage than with none: two may have said the very same."""
_SHORT: Final = (
    "Dr",
    "Mr",
    "Mrs",
    "Ms",
    "Prof",
    "St",
    "Sr",
    "Jr",
    "Nr",
    "vs",
    "e.g",
    "i.e",
    "z.B",
    "Hr",
    "Fr",
    "Mme",
    "Sra",
    "ca",
)
"""What a full stop follows without ending the sentence."""
_NOT_SHORT: Final = "".join(rf"(?<!\b{re.escape(word)})" for word in _SHORT)
_SENTENCE: Final = re.compile(
    # A run of marks is looked at from its first mark only: a long one costs its length once.
    rf"[^\n]+?(?:(?<![.!?؟])(?:[!?؟]|(?<!\d){_NOT_SHORT}\.|(?<=\d)\.(?=[.!?؟]))[.!?؟]*+(?=\s|$)|[。！？]+|(?=\n)|$)"
)
_NAME: Final = re.compile(r"(?<=\s)(?:[^\W\d_]*[A-ZÀ-ÞΑ-ΩА-Я][\w-]*|\w*\d[\w-]*)")
Weight = Callable[[str], float]


@dataclass(frozen=True, slots=True)
class Quote:
    """A verbatim part of a text: code points ``start`` to ``end`` (excluded)."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Asked:
    """What a question is about: its distinct topic terms, those of its names and numbers, and the people it asks about."""

    topics: tuple[str, ...]
    names: frozenset[str]
    people: frozenset[str] = frozenset()

    def about(self, people: Iterable[str]) -> Asked:
        """Return the question with those of its terms that name somebody who talks taken out of its topics."""
        named = frozenset(self.topics).intersection(people)
        rest = tuple(term for term in self.topics if term not in named)
        return Asked(rest, self.names - named, named) if named and rest else self


def read_question(question: str) -> Asked:
    """Return what a question is about. A word is a name if it is capitalised inside the sentence, or holds a digit."""
    topics = tuple(dict.fromkeys(term for term in terms_of(without_idle(question)) if is_topic(term)))
    names = {term for name in _NAME.findall(question) for term in terms_of(name)}
    return Asked(topics, frozenset(names & set(topics)))


def coverage(asked: Asked, text: str, weight: Weight) -> float:
    """Return the weighted share of the question's topic terms that a text holds, 0 to 1."""
    there = set(terms_of(text))
    total = sum(weight(term) for term in asked.topics)
    return sum(weight(term) for term in asked.topics if term in there) / total if total else 0.0


def is_supported(asked: Asked, text: str, weight: Weight, *, known: Callable[[str], bool]) -> bool:
    """Return whether a text says enough about what is asked: half the weight, and two terms if there are two.

    One term is enough of what a person said: there ``MIN_LEAD`` keeps apart what only sounds alike.

    Args:
        asked: the question.
        text: what might support an answer.
        weight: weight of a term among the asker's memories.
        known: whether any memory of the asker holds a term. If half of the names that are asked for stand nowhere, nothing
            supports an answer: what is known of one book says nothing of another. (Half, since German writes every noun so.)
    """
    there = set(terms_of(text))
    shared = len(there & set(asked.topics))
    enough = 1 if len(asked.people) == 1 else 2
    unheard = sum(1 for name in asked.names if name not in there and not known(name))
    if unheard and 2 * unheard >= len(asked.names):
        return False
    return shared >= min(enough, len(asked.topics)) and coverage(asked, text, weight) >= MIN_COVERAGE


def statements(text: str) -> list[Quote]:
    """Return the sentences of a text that are no questions: a question answers nothing."""
    found = []
    for match in _SENTENCE.finditer(text):
        sentence = match.group().strip()
        if sentence and sentence[-1] not in "?？؟":
            start = match.start() + len(match.group()) - len(match.group().lstrip())
            found.append(Quote(sentence, start, start + len(sentence)))
    return found


def least_lead(coverage: float) -> float:
    """Return the lead that a quote of this coverage needs over what others than the person asked about said."""
    return MIN_LEAD - LEAD_FOR_COVERAGE * (coverage - MIN_COVERAGE)


def best_quote(asked: Asked, text: str, weight: Weight, *, known: Callable[[str], bool]) -> tuple[float, Quote] | None:
    """Return the verbatim quote of a text that supports an answer, with its coverage; None if nothing in it does.

    The best single statement, or everything from the first statement to the last if only together they say enough.
    """
    sentences = statements(text)
    if not sentences:
        return None
    best = max(sentences, key=lambda quote: coverage(asked, quote.text, weight))
    if not is_supported(asked, best.text, weight, known=known):
        start, end = sentences[0].start, sentences[-1].end
        best = Quote(text[start:end], start, end)
        if not is_supported(asked, " ".join(quote.text for quote in sentences), weight, known=known):
            return None
    return coverage(asked, best.text, weight), best
