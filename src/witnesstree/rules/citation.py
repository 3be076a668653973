"""Answers without a model: the best-supported verbatim quote, or none (feature V8)."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from witnesstree.rules.terms import is_topic, terms_of

MIN_COVERAGE: Final = 0.5
"""Share of the question's topic weight that one sentence with its turn must carry."""
_SENTENCE: Final = re.compile(r"[^\n]+?(?:(?:[!?؟]|(?<!\d)\.)[.!?؟]*(?=\s|$)|[。！？]+|(?=\n)|$)")


@dataclass(frozen=True, slots=True)
class Quote:
    """A verbatim part of a text: code points ``start`` to ``end`` (excluded)."""

    text: str
    start: int
    end: int


def topic_terms(question: str) -> list[str]:
    """Return the distinct terms that say what a question is about."""
    return list(dict.fromkeys(term for term in terms_of(question) if is_topic(term)))


def coverage(question: list[str], text: str, weight: Callable[[str], float]) -> float:
    """Return the weighted share of the question's topic terms that a text holds, 0 to 1."""
    there = set(terms_of(text))
    total = sum(weight(term) for term in question)
    return sum(weight(term) for term in question if term in there) / total if total else 0.0


def is_supported(question: list[str], text: str, weight: Callable[[str], float]) -> bool:
    """Return whether a text says enough about what the question asks: half the weight, and two terms if there are two."""
    shared = len(set(question) & set(terms_of(text)))
    return shared >= min(2, len(question)) and coverage(question, text, weight) >= MIN_COVERAGE


def best_quote(question: list[str], text: str, weight: Callable[[str], float]) -> Quote:
    """Return the sentence of a text that covers the question best, with its place; the first one on a tie."""
    sentences = [m for m in _SENTENCE.finditer(text) if m.group().strip()]
    if not sentences:
        return Quote(text, 0, len(text))
    best = max(sentences, key=lambda m: (coverage(question, m.group(), weight), -m.start()))
    start = best.start() + len(best.group()) - len(best.group().lstrip())
    end = best.end() - (len(best.group()) - len(best.group().rstrip()))
    return Quote(text[start:end], start, end)
