"""Words of every script, for searching: a pure function from text to terms, the same for memories and queries.

Latin, Greek, Arabic and Hebrew words lose their marks (Zürich is found by Zurich). Scripts written without spaces (Chinese,
Japanese, Thai, Lao, Khmer, Burmese) and Korean give single characters and pairs, so that two-character words are found. Emoji are
terms of their own. ASCII glued to another script is split from it.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final

from witnesstree.rules.function_words import FUNCTION_WORDS, LANGUAGES
from witnesstree.rules.normal_form import normal_form
from witnesstree.rules.stem import stem
from witnesstree.types.wire import ABSENT

_ASCII: Final = re.compile(r"[a-z0-9]+(?:\+\+|#)?")
_SPACED: Final = "".join(chr(code).lower() if chr(code).isalnum() else " " for code in range(128))
_DENSE: Final = (
    "\u0e00-\u0e7f\u0e80-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u1100-\u11ff\u3130-\u318f\uac00-\ud7af"  # Hangul
    "\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # kana, han
    "\U00020000-\U000323af"
)
_JOINED: Final = "\u0300-\u036f\u0900-\u0dff\u0f00-\u0fff\u200c\u200d"  # vowel signs that stand inside a word
_EMOJI: Final = "\u203c-\u3299\U0001f000-\U0001faff"
_RUNS: Final = re.compile(
    rf"(?P<dense>[{_DENSE}]+)|(?P<ascii>[a-z0-9\u00df-\u024f]+(?:\+\+|#)?)|(?P<emoji>[{_EMOJI}](?:\ufe0f?[\U0001f3fb-\U0001f3ff]?)"
    rf"(?:\u200d[{_EMOJI}]\ufe0f?)*)|(?P<word>(?:(?![{_DENSE}{_EMOJI}a-z0-9\u00df-\u024f_])[\w{_JOINED}])+)"
)
_SPACELESS: Final = re.compile(f"[{_DENSE}]")
_MARKED: Final = re.compile("[\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed\u0640]")


def terms_of(text: str) -> list[str]:
    """Return the terms of a text in order, with repetitions; English words by their stem."""
    return list(map(stem, words_of(text)))


def words_of(text: str) -> list[str]:
    """Return the words of a text in order, whole."""
    if text.isascii():
        if "+" in text or "#" in text:
            return _ASCII.findall(text.lower())
        return text.translate(_SPACED).split()
    return _terms(text)


def _terms(text: str) -> list[str]:
    if max(text) < "\u0250":
        plain = _MARKED.sub("", normal_form("NFKD", text.casefold()))
        if plain.isascii():
            return _ASCII.findall(plain)
    folded = normal_form("NFKC", text).casefold()
    found: list[str] = []
    for match in _RUNS.finditer(_strip_marks(folded)):
        run = match.group()
        if match.lastgroup == "dense":
            found.extend(run)
            found.extend(run[i : i + 2] for i in range(len(run) - 1))
        elif match.lastgroup == "emoji":
            found.append(run[0])
        else:
            found.append(run)
    return found


def _strip_marks(text: str) -> str:
    """Drop accents and vowel signs where they are optional; recompose what other scripts need."""
    return normal_form("NFC", _MARKED.sub("", normal_form("NFD", text)))


def is_topic(term: str) -> bool:
    """Return whether a term says what a question is about (no function word, no lone letter)."""
    return term not in STOP_WORDS and (len(term) > 1 or not term.isascii() or term.isdigit())


STOP_WORDS: Final = frozenset(term for word in FUNCTION_WORDS for term in terms_of(word))
_STOP_WORDS_OF: Final = [frozenset(term for word in words.split() for term in terms_of(word)) for words in LANGUAGES]


def says_something(terms: list[str]) -> bool:
    """Return whether terms together name a thing: "son" alone says nothing in Spanish, "my son" does in English."""
    if any(map(is_topic, terms)):
        return True
    return len(terms) > 1 and not any(words.issuperset(terms) for words in _STOP_WORDS_OF)


def is_spaced(text: str) -> bool:
    """Return whether a text is of scripts that put spaces between words."""
    return _SPACELESS.search(text) is None


MONTHS: Final = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_TIME_WORDS: Final = frozenset(
    words_of(
        "yesterday today tomorrow week weeks month months year years weekend weekends last next ago"
        " monday tuesday wednesday thursday friday saturday sunday"
    )
).union(MONTHS)
_ASKS: Final = ("?", "？", "؟")
ASKS: Final = 1
"""Mark of a text that ends with a question: it answers nothing."""
TELLS_TIME: Final = 2
"""Mark of a text with a word of time."""
ASKS_WITHIN: Final = 4
"""Mark of a text with a question anywhere: the next turn may answer it."""
READING: Final = 3
"""How rows become a saved view. It goes up with every change of terms, marks or layout: a view of another reading is not used."""


def marks_of(text: str, words: list[str]) -> int:
    """Return what a text with these words looks like, as bits ``ASKS``, ``ASKS_WITHIN`` and ``TELLS_TIME``."""
    marks = 0 if _TIME_WORDS.isdisjoint(words) else TELLS_TIME
    if "?" in text or "？" in text or "؟" in text:
        marks |= ASKS_WITHIN | (ASKS if text.rstrip().endswith(_ASKS) else 0)
    return marks


@lru_cache(maxsize=4096)
def _day_words(day: int) -> tuple[str, str, str]:
    date = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(days=day)
    return MONTHS[date.month - 1], str(date.day), str(date.year)


def date_words(said_at: int) -> tuple[str, ...]:
    """Return the words by which the day of an instant (microseconds UTC) is found: month, day, year; none if it is absent."""
    return () if said_at == ABSENT else _day_words(said_at // 86_400_000_000)
