"""Another name of somebody or something: "my sister = Ana". A question that uses one name also finds what uses the other."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from witnesstree.errors import InputError
from witnesstree.rules.terms import is_topic, terms_of
from witnesstree.types.message import check_text

EQUALS: Final = " = "
MAX_NAME_CHARS: Final = 200
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
    if not any(map(is_topic, terms_of(text))):
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
    asked = terms_of(question)
    added: list[str] = []
    for pair in aliases:
        for here, there in (pair, reversed(pair)):
            if len(added) < MAX_EXPANSIONS and _contains(asked, terms_of(here)) and not _contains(asked, terms_of(there)):
                added.append(there)
    return " ".join([question, *dict.fromkeys(added)])


def replaced(question: str, aliases: Iterable[Alias]) -> list[str]:
    """Return the question, and versions of it in which a name is replaced by another name of the same thing."""
    asked = question.split()
    found = [question]
    for pair in aliases:
        for here, there in (pair, reversed(pair)):
            words = here.split()
            for at in range(len(asked) - len(words) + 1):
                window = asked[at : at + len(words)]
                if terms_of(" ".join(window)) == terms_of(here) and len(found) <= MAX_EXPANSIONS:
                    found.append(" ".join([*asked[:at], there, *asked[at + len(words) :]]))
    return list(dict.fromkeys(found))


def _contains(terms: list[str], part: list[str]) -> bool:
    """Return whether ``part`` stands in ``terms`` as it is."""
    return any(terms[at : at + len(part)] == part for at in range(len(terms) - len(part) + 1))
