"""Answer a question from memory, or abstain: without a model, the best-supported verbatim quote with its citation."""

from __future__ import annotations

from witnesstree.errors import SealError
from witnesstree.flow.recall import Question, fetch_record, integrity_of, make_trace, ranked, visible_to
from witnesstree.flow.verified import VerifiedStore
from witnesstree.rules.citation import best_quote, is_supported, topic_terms
from witnesstree.types.instant import to_iso
from witnesstree.types.record import Record
from witnesstree.types.result import Answer, Citation
from witnesstree.types.trust import name_of

CONSIDERED = 50
"""Best memories that are looked at for a supporting quote."""


def answer(store: VerifiedStore, question: Question) -> Answer:
    """Return the quote that supports an answer best, or an abstention with its reason.

    Raises:
        IntegrityError: the caller's memory, the head or the schema is not what was written.
    """
    topics = topic_terms(question.query)
    if not topics:
        return Answer("", (), True, "the question names nothing to look for")
    with store.reading() as reading:
        partition = question.principal.partition
        view = reading.view(partition)
        weight = view.words.weight_of(visible_to(view, question.filter))
        withheld = view.withheld
        best: Record | None = None
        for number, (_, facts) in enumerate(ranked(view, topics, question.filter)):
            if number >= CONSIDERED:
                break
            try:
                record = fetch_record(reading, view, facts)
            except SealError:
                if not store.quarantine:
                    raise
                withheld += 1
                continue
            if is_supported(topics, record.text, weight):
                best = record
                break
        size = reading.trusted.size
    integrity = integrity_of(store, withheld)
    if best is None:
        return Answer("", (), True, "no memory supports an answer", integrity=integrity, withheld=withheld)
    quote = best_quote(topics, best.text, weight)
    citation = Citation(
        id=best.id.hex(),
        version=best.version,
        quote=quote.text,
        start=quote.start,
        end=quote.end,
        role=name_of(best.role),
        name=best.name,
        at=to_iso(best.said_at),
        session=best.session,
        authority=name_of(best.authority),
        trust=name_of(best.trust),
    )
    trace = make_trace(store, question, size, [citation.id])
    return Answer(quote.text, (citation,), False, "supported", trace, integrity, withheld)
