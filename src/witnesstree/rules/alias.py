"""Another name of somebody or something: "my sister = Ana". A question that uses one name also finds what uses the other."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from witnesstree.errors import InputError
from witnesstree.rules.terms import is_spaced, says_something, terms_of
from witnesstree.types.message import check_text

EQUALS: Final = " = "
MAX_NAME_CHARS: Final = 200
_WORD: Final = re.compile(r"[^\s,;:!?()\"'’]+")
MAX_EXPANSIONS: Final = 8
"""Names that are added to one question at most."""


class Alias(NamedTuple):
    """Two names of one thing, as they were written."""

    alias: str
    name: str

    @property
    def text(self) -> str:
        """The text of the memory that keeps it."""
        return f"{self.alias}{EQUALS}{self.name}"


def check_alias(alias: object, name: object) -> Alias:
    """Return an alias, without spaces around its names.

    Raises:
        InputError: one of them is no text, too long, says nothing by which it could be found, or both are the same.
    """
    made = Alias(_checked(alias, "alias"), _checked(name, "name"))
    if terms_of(made.alias) == terms_of(made.name):
        raise InputError("alias and name are the same", field="alias")
    return made


def _checked(value: object, field: str) -> str:
    text = check_text(value, field).strip()
    if len(text) > MAX_NAME_CHARS or EQUALS in text or "\n" in text:
        raise InputError(
            f"{field} is one name: at most {MAX_NAME_CHARS} characters, one line, no {EQUALS.strip()!r}", field=field
        )
    if not says_something(terms_of(text)):
        raise InputError(f"{field} holds no word by which it could be found", field=field)
    return text


def parse_alias(text: str) -> Alias:
    """Return the alias that a memory's text spells.

    Raises:
        InputError: it is not of the form ``my sister = Ana``.
    """
    alias, equals, name = text.partition(EQUALS)
    if not equals:
        raise InputError(f"an alias is written like: my sister{EQUALS}Ana", field="text")
    return check_alias(alias, name)


def expand(question: str, aliases: Iterable[Alias]) -> str:
    """Return a question with the other names of what it names behind it; as it is if it names nothing of the kind."""
    asked = _Question(question)
    added: list[str] = []
    for pair in aliases:
        for here, there in (pair, reversed(pair)):
            if len(added) < MAX_EXPANSIONS and asked.places(here) and not asked.places(there):
                added.append(there)
    return " ".join([question, *dict.fromkeys(added)])


def replaced(question: str, aliases: Iterable[Alias]) -> list[str]:
    """Return the question, and versions of it in which a name is replaced by another name of the same thing."""
    asked = _Question(question)
    found = [question]
    for pair in aliases:
        for here, there in (pair, reversed(pair)):
            for start, end in asked.places(here):
                if len(found) <= MAX_EXPANSIONS:
                    found.append(question[:start] + there + question[end:])
    return list(dict.fromkeys(found))


class _Question:
    """Where names stand in a question: whole words by their terms, anywhere in scripts without spaces."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._words = [(match.start(), match.end(), terms_of(match.group())) for match in _WORD.finditer(text)]
        self._first: dict[str, list[int]] = {}
        for at, (_, _, terms) in enumerate(self._words):
            if terms:
                self._first.setdefault(terms[0], []).append(at)

    def places(self, name: str) -> list[tuple[int, int]]:
        """Return start and end of each place where the name stands, in characters."""
        if not is_spaced(name):
            return [match.span() for match in re.finditer(re.escape(name), self._text)]
        wanted = terms_of(name)
        return [span for at in self._first.get(wanted[0], ()) if (span := self._span(at, wanted)) is not None]

    def _span(self, at: int, wanted: list[str]) -> tuple[int, int] | None:
        terms: list[str] = []
        for _, end, more in self._words[at : at + len(wanted)]:
            terms += more
            if len(terms) >= len(wanted):
                return (self._words[at][0], end) if terms == wanted else None
        return None
