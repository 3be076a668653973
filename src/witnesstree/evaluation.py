"""How well a memory finds and answers, on a user's own labelled questions: ``wtree eval``."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from witnesstree.errors import InputError
from witnesstree.flow.items import parse_item
from witnesstree.memory import Memory
from witnesstree.rules.measures import ndcg_at, recall_at, reciprocal_rank

DEPTH: Final = 20
"""Hits that are looked at for each question."""
AT: Final = (1, 5, 10, 20)
MAX_LISTED: Final = 1000
_FIELDS: Final = {"question", "ids", "texts", "answerable"}


@dataclass(frozen=True, slots=True)
class Labelled:
    """A question and what is right: ids of memories, words that the right memories contain, or that there is no answer."""

    question: str
    ids: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    answerable: bool = True


@dataclass
class Evaluation:
    """Figures from 0 to 1; ``None`` where no question asks for it.

    ``missed`` lists the questions whose memory was not among the first 10.
    """

    questions: int = 0
    unanswerable: int = 0
    recall: dict[int, float] = field(default_factory=dict)
    ndcg_at_10: float | None = None
    reciprocal_rank: float | None = None
    answered: float | None = None
    answered_right: float | None = None
    answered_falsely: float | None = None
    missed: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        plain = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return plain | {"recall": {str(k): value for k, value in self.recall.items()}}


def read_question(item: object) -> Labelled:
    """Return the labelled question of one line.

    Raises:
        InputError: naming the field.
    """
    body = parse_item(item)
    if not isinstance(body, dict) or not isinstance(body.get("question"), str) or not body["question"].strip():
        raise InputError('a line is {"question": "…", "ids": […]} or {"question": "…", "texts": […]}', field="question")
    unknown = sorted(set(map(str, body)) - _FIELDS)
    if unknown:
        raise InputError(f"there is no field {unknown[0][:40]!r}; known are {', '.join(sorted(_FIELDS))}", field="question")
    if not isinstance(body.get("answerable", True), bool):
        raise InputError("answerable is true or false", field="answerable")
    found = Labelled(body["question"], _words(body, "ids"), _words(body, "texts"), body.get("answerable", True))
    if found.answerable is not bool(found.ids or found.texts):
        raise InputError('name the right memories in ids or texts, or say "answerable": false', field="question")
    return found


def _words(body: dict[str, Any], name: str) -> tuple[str, ...]:
    value = body.get(name, [])
    if not isinstance(value, list) or not all(isinstance(one, str) and one for one in value):
        raise InputError(f"{name} is a list of texts", field=name)
    return tuple(value)


def evaluate(
    memory: Memory, questions: Iterable[Labelled], *, user: str | None = None, progress: Callable[[int], None] | None = None
) -> Evaluation:
    """Ask every question and return the figures.

    Args:
        memory: what is asked; nothing is written.
        questions: with their labels; words are compared with case ignored.
        user: whose memory.
        progress: called with the number of questions done.

    Raises:
        IntegrityError: the memory is not what was written.
    """
    known = _Texts(memory, user)
    ranked: list[tuple[list[str], set[str]]] = []
    answered, right, falsely = [], [], []
    result = Evaluation()
    for number, labelled in enumerate(questions, 1):
        answer = memory.answer(labelled.question, user=user)
        if not labelled.answerable:
            falsely.append(not answer.abstained)
        else:
            gold = set(labelled.ids) | known.containing(labelled.texts)
            found = [hit.id for hit in memory.search(labelled.question, user=user, k=DEPTH).hits]
            ranked.append((found, gold))
            answered.append(not answer.abstained)
            right.append(any(citation.id in gold for citation in answer.citations))
            if not gold.intersection(found[:10]) and len(result.missed) < MAX_LISTED:
                result.missed.append(labelled.question)
        if progress is not None:
            progress(number)
    result.questions, result.unanswerable = len(ranked), len(falsely)
    # a label that fits no memory counts as not found
    scored = [(found, gold or {""}) for found, gold in ranked]
    if scored:
        result.recall = {k: statistics.mean(recall_at(k, *pair) for pair in scored) for k in AT}
        result.ndcg_at_10 = statistics.mean(ndcg_at(10, *pair) for pair in scored)
        result.reciprocal_rank = statistics.mean(reciprocal_rank(*pair) for pair in scored)
        result.answered, result.answered_right = statistics.mean(answered), statistics.mean(right)
    if falsely:
        result.answered_falsely = statistics.mean(falsely)
    return result


class _Texts:
    """The texts of one user's memories, read once when they are first needed."""

    def __init__(self, memory: Memory, user: str | None) -> None:
        self._memory = memory
        self._user = user
        self._folded: dict[str, str] | None = None

    def containing(self, words: tuple[str, ...]) -> set[str]:
        """Return the ids of memories that contain one of these texts."""
        if not words:
            return set()
        if self._folded is None:
            self._folded = {}
            cursor = None
            while True:
                page = self._memory.list(user=self._user, limit=1000, cursor=cursor)
                self._folded |= {item.id: item.text.casefold() for item in page.items}
                cursor = page.cursor
                if cursor is None:
                    break
        folded = [word.casefold() for word in words]
        return {memory_id for memory_id, text in self._folded.items() if any(word in text for word in folded)}
