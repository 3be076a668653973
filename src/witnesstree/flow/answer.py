"""Answer a question from memory, or abstain: without a model, the best-supported verbatim quote with its citation."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import islice

from witnesstree.flow.aliases import confirmed_aliases
from witnesstree.flow.fetching import Fetching
from witnesstree.flow.fusion import Scored
from witnesstree.flow.meaning import Meaning
from witnesstree.flow.recall import Question, integrity_of, make_trace, ranked, visible_to
from witnesstree.flow.verified import VerifiedStore
from witnesstree.flow.view import View
from witnesstree.rules.alias import replaced
from witnesstree.rules.asking import Asking
from witnesstree.rules.citation import Asked, Quote, best_quote, least_lead, read_question
from witnesstree.types.instant import to_iso
from witnesstree.types.limits import MAX_QUERY_TERMS
from witnesstree.types.record import Record
from witnesstree.types.result import Answer, Citation
from witnesstree.types.trust import name_of

CONSIDERED = 200
"""Best memories that are looked at."""
QUOTED = 20
"""Best memories of the person who is asked about that are looked at for a quote. A few echoes of a question must not hide it."""


class _Lead:
    """By how much what a person said fits better than what others said: people who talk together talk of the same things."""

    def __init__(self, view: View, asked: Asked) -> None:
        """Know who is asked about; if that is not exactly one person, everything counts and nobody is a rival."""
        people = view.columns.people()
        self._speakers = {people[name] for name in asked.people}
        self._find = view.columns.speakers.find
        self._best = {True: -math.inf, False: -math.inf}

    def takes(self, scored: Scored) -> bool:
        """Note a memory; return whether it may be quoted. Who says it, and when, are left out of the comparison."""
        if len(self._speakers) != 1:
            return True
        is_right = self._find(scored.facts.name) in self._speakers
        self._best[is_right] = max(self._best[is_right], scored.without("speaker", "first"))
        return is_right

    @property
    def value(self) -> float:
        """The lead; infinite if nobody else said anything relevant."""
        return math.inf if self._best[False] == -math.inf else self._best[True] - self._best[False]


@dataclass(frozen=True, slots=True)
class Support:
    """The best quote that was found: how much of the question it holds, and the lead of who said it."""

    coverage: float
    lead: float
    source: Record
    quote: Quote

    @property
    def is_enough(self) -> bool:
        """Whether it may be given as the answer."""
        return self.lead >= least_lead(self.coverage)


def find_support(meaning: Meaning, view: View, question: Question, fetching: Fetching) -> Support | None:
    """Return the quote that supports an answer best: most of the question, then the stronger authority; None if none does."""
    asked = read_question(question.query).about(view.columns.people().keys())
    weight = view.words.weight_of(visible_to(view, question.filter))
    lead, left = _Lead(view, asked), QUOTED
    best: tuple[tuple[float, int], Record, Quote] | None = None
    for scored in islice(ranked(meaning, view, Asking.of(question.query, MAX_QUERY_TERMS), question.filter), CONSIDERED):
        record = fetching.record(scored.facts) if lead.takes(scored) and left else None
        if record is None:
            continue
        left -= 1
        found = best_quote(asked, record.text, weight, known=view.words.vocabulary.__contains__)
        if found is not None and (best is None or (found[0], record.authority) > best[0]):
            best = (found[0], record.authority), record, found[1]
    return None if best is None else Support(best[0][0], lead.value, best[1], best[2])


def answer(store: VerifiedStore, question: Question) -> Answer:
    """Return a verbatim quote with its citation, or an abstention.

    Raises:
        IntegrityError: the caller's memory, the head or the schema is not what was written.
    """
    if not read_question(question.query).topics:
        return Answer("", (), True, "the question names nothing to look for")
    partition = question.principal.partition
    with store.reading() as reading:
        view = reading.view(partition)
        versions = replaced(question.query, confirmed_aliases(view, Fetching(reading, view, None)))
    meanings = {version: Meaning.of_text(store, partition, version) for version in versions}
    with store.reading() as reading:
        view = reading.view(question.principal.partition)
        fetching = Fetching(reading, view, question.where)
        supports = [find_support(m, view, replace(question, query=version), fetching) for version, m in meanings.items()]
        found = max((one for one in supports if one is not None), key=lambda one: (one.is_enough, one.coverage), default=None)
        size, withheld = reading.trusted.size, fetching.withheld
    integrity = integrity_of(store, withheld)
    asking = Asking.of(question.query, MAX_QUERY_TERMS)
    notes = (*dict.fromkeys(note for meaning in meanings.values() for note in meaning.notes), *asking.notes)
    if found is None or not found.is_enough:
        return Answer("", (), True, "no memory supports an answer", integrity=integrity, withheld=withheld, notes=notes)
    citation = _citation(found.source, found.quote)
    trace = make_trace(store, question, size, [citation.id])
    return Answer(citation.quote, (citation,), False, "supported", trace, integrity, withheld, notes)


def _citation(source: Record, quote: Quote) -> Citation:
    return Citation(
        id=source.id.hex(),
        version=source.version,
        quote=quote.text,
        start=quote.start,
        end=quote.end,
        role=name_of(source.role),
        name=source.name,
        at=to_iso(source.said_at),
        recorded_at=to_iso(source.recorded_at) or "",
        session=source.session,
        authority=name_of(source.authority),
        trust=name_of(source.trust),
    )
