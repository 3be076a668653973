"""Answer a question from memory, or abstain: without a model, the best-supported verbatim quote with its citation."""

from __future__ import annotations

from itertools import islice

from witnesstree.flow.meaning import Meaning
from witnesstree.flow.recall import Fetching, Question, integrity_of, make_trace, ranked, visible_to
from witnesstree.flow.verified import VerifiedStore
from witnesstree.rules.asking import Asking
from witnesstree.rules.citation import Quote, best_quote, read_question
from witnesstree.types.instant import to_iso
from witnesstree.types.limits import MAX_QUERY_TERMS
from witnesstree.types.record import Record
from witnesstree.types.result import Answer, Citation
from witnesstree.types.trust import name_of

CONSIDERED = 50
"""Best memories that are looked at for a supporting quote."""


def answer(store: VerifiedStore, question: Question) -> Answer:
    """Return the quote that supports an answer best (most of the question, then the stronger authority), or an abstention.

    Raises:
        IntegrityError: the caller's memory, the head or the schema is not what was written.
    """
    asked = read_question(question.query)
    if not asked.topics:
        return Answer("", (), True, "the question names nothing to look for")
    best: tuple[tuple[float, int], Record, Quote] | None = None
    asking = Asking.of(question.query, MAX_QUERY_TERMS)
    meaning = Meaning(store, question.principal.partition, asking)
    with store.reading() as reading:
        view = reading.view(question.principal.partition)
        weight = view.words.weight_of(visible_to(view, question.filter))
        known = view.words.vocabulary.__contains__
        fetching = Fetching(reading, view, question.where)
        people = view.columns.people()
        asked = asked.about(people.keys())
        speakers = {people[name] for name in asked.people}
        for scored in islice(ranked(meaning, view, asking, question.filter), CONSIDERED):
            if len(speakers) == 1 and view.columns.speakers.find(scored.facts.name) not in speakers:
                continue  # what another one says of himself is no answer about the one who is asked for
            record = fetching.record(scored.facts)
            if record is None:
                continue
            found = best_quote(asked, record.text, weight, known=known)
            if found is not None and (best is None or (found[0], record.authority) > best[0]):
                best = (found[0], record.authority), record, found[1]
        size, withheld = reading.trusted.size, fetching.withheld
    integrity = integrity_of(store, withheld)
    if best is None:
        return Answer("", (), True, "no memory supports an answer", integrity=integrity, withheld=withheld, notes=meaning.notes)
    _, source, quote = best
    citation = Citation(
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
    trace = make_trace(store, question, size, [citation.id])
    return Answer(quote.text, (citation,), False, "supported", trace, integrity, withheld, meaning.notes)
