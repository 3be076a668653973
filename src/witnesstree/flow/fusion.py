"""The one ranking: words, meaning, and what stands beside a turn, over one owner's verified view. Relevance is decided first.

The weights are in ``rules.ranking``. What neither shares a topic word with the question nor comes close in meaning, and does not
follow such a turn in its session, is no hit: an arbitrary first row would be worse than none.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from witnesstree.flow.columns import Talk
from witnesstree.flow.view import View
from witnesstree.flow.words import Share
from witnesstree.providers.base import QueryEmbedder
from witnesstree.rules import ranking
from witnesstree.rules.asking import Asking
from witnesstree.rules.terms import ASKS, ASKS_WITHIN, TELLS_TIME
from witnesstree.types.facts import RowFacts

Floats = NDArray[np.float32]
Numbers = NDArray[np.int64]
_AT_ONCE = 16
"""Memories that are made ready for a reader at a time; most want few."""
_WEIGHTS = np.array(list(ranking.WEIGHTS.values()), np.float32)


@dataclass(frozen=True, slots=True)
class Scored:
    """One ranked memory: the score and the values that it is the weighted sum of, in the order of ``ranking.WEIGHTS``."""

    facts: RowFacts
    score: float
    values: list[float]

    def signals(self) -> dict[str, float]:
        """Return the value of each signal; times ``ranking.WEIGHTS`` they add up to the score."""
        return dict(zip(ranking.WEIGHTS, self.values, strict=True))

    def without(self, *names: str) -> float:
        """Return the score without what some signals add to it."""
        signals = self.signals()
        return self.score - sum(ranking.WEIGHTS[name] * signals[name] for name in names)


@dataclass(frozen=True, slots=True)
class Signals:
    """Candidates and what speaks for each.

    Args:
        documents: the candidates, shape [n].
        values: one row a name of ``ranking.WEIGHTS``, shape [10, n]:
            ``words``, ``meaning``: what it says itself, 0 to 1.
            ``before``, ``before2``: topics of the question that the turn before says and this one does not; that the turn two
            before says and neither of these does.
            ``session``: a third of the sum of words and meaning (their mean) of its session's three best. A memory that is no
            turn of a session stands for itself.
            ``speaker``: the one person whom the question names says it.
            ``question``: it ends with a question, and answers nothing.
            ``time``: it has a word of time, if the question asks when.
            ``answers``: the turn before asks: how well its words fit.
            ``first``: it opens a session.
    """

    documents: Numbers
    values: Floats

    def scores(self) -> Floats:
        """Return the score of each candidate."""
        scores: Floats = np.round(np.einsum("ij,i->j", self.values, _WEIGHTS), 6)
        return scores


@dataclass(frozen=True, slots=True)
class _Own:
    """What each document says by itself: ``words``, ``meaning`` and their mean ``base`` from 0 to 1; ``most`` is 1 in BM25.

    ``shares`` are those of the topics, or of what there is instead.
    ``speaker`` is the number of the one person whom the question names, -1 if it names none or several.
    """

    shares: list[Share]
    most: np.float32
    words: Floats
    meaning: Floats
    base: Floats
    relevant: NDArray[np.bool_]
    speaker: int


def rank(view: View, asking: Asking, visible: NDArray[np.bool_], embedder: QueryEmbedder | None) -> Iterator[Scored]:
    """Yield relevant memories, best first; nothing if nothing is relevant.

    Args:
        view: the owner's verified view.
        asking: the question, taken apart.
        visible: one bool a document: what the caller may see and has asked for (decided before ranking, threat T-I1).
        embedder: compares by meaning, if there is one.
    """
    columns = view.columns
    for signals in candidates(view, asking, visible, embedder):
        scores = signals.scores()
        trust, authority = (columns[field][signals.documents].astype(np.int64) for field in ("trust", "authority"))
        stronger = (trust << 56) + (authority << 48) + signals.documents  # a later document has a higher position in the log
        order = np.lexsort((-stronger, -scores))
        for start in range(0, len(order), _AT_ONCE):
            places = order[start : start + _AT_ONCE]
            rows = signals.values[:, places].T.astype(np.float64).round(6).tolist()
            found = zip(signals.documents[places].tolist(), scores[places].tolist(), rows, strict=True)
            yield from (Scored(view.facts(document), score, row) for document, score, row in found)


def candidates(view: View, asking: Asking, visible: NDArray[np.bool_], embedder: QueryEmbedder | None) -> Iterator[Signals]:
    """Yield relevant memories with their signals, a few hundred at a time, the most promising ones first; see ``rank``."""
    own = _own_signals(view, asking, visible, embedder)
    found = np.flatnonzero(own.relevant)
    if not len(found):
        return
    heads = _best(view, own, found, ranking.CANDIDATES)
    first = _with_followers(view.columns.talk(), heads, visible)
    yield _in_context(view, asking, visible, own, first)
    rest = own.relevant.copy()
    rest[first] = False  # a follower may be relevant itself: nothing comes twice
    later = np.flatnonzero(rest)
    later = later[np.argsort(-own.base[later], kind="stable")]
    for start in range(0, len(later), ranking.CANDIDATES):
        yield _in_context(view, asking, visible, own, later[start : start + ranking.CANDIDATES])


def _own_signals(view: View, asking: Asking, visible: NDArray[np.bool_], embedder: QueryEmbedder | None) -> _Own:
    people = view.columns.people()
    names = {term for term in asking.terms if term in people}
    topics = {term for term in asking.topics if term not in names}
    said = topics or names or set(asking.terms)
    shares = view.words.shares([term for term in asking.terms if not topics or term not in names], visible)
    words, meaning = np.zeros(view.columns.count, np.float32), np.zeros(view.columns.count, np.float32)
    relevant = np.zeros(len(words), np.bool_)
    for share in shares:
        words[share.documents] += share.values
        if share.term in said:
            relevant[share.documents] = True
    most = words.max(initial=0.0) or np.float32(1.0)
    words /= most
    base = words
    if embedder is not None and topics and len(words):
        cosines = view.vectors.cosines(embedder.embed_query(asking.without(names)))
        cosines *= visible  # 0 where there is no vector, and where nobody may see
        low, high = float(cosines.min()), float(cosines.max())
        if low or high:
            low = min(0.0, low)
            relevant |= cosines >= embedder.floor
            meaning = cosines
            meaning -= np.float32(low)
            meaning *= np.float32(1 / (max(high, embedder.floor + ranking.CLEARLY_ABOVE) - low))
            meaning *= visible & view.vectors.known
            base = words + meaning
            base *= np.float32(0.5)
    named = {people[term] for term in names}
    topical = [share for share in shares if share.term in said]
    return _Own(topical, most, words, meaning, base, relevant, named.pop() if len(named) == 1 else -1)


def _best(view: View, own: _Own, documents: Numbers, count: int) -> Numbers:
    if len(documents) <= count:
        return documents
    score = own.base[documents]
    if own.speaker >= 0:
        score += np.float32(ranking.SPEAKER_HEAD) * (view.columns["name"][documents] == own.speaker)
    return documents[np.argpartition(-score, count)[:count]]


def _with_followers(talk: Talk, documents: Numbers, visible: NDArray[np.bool_]) -> Numbers:
    """Return documents and the two turns that follow each: an answer need not repeat a word of its question."""
    after = _beside(talk.after, documents, visible)
    after = after[after >= 0]
    if not len(after):
        return documents
    chosen = np.zeros(len(visible), np.bool_)
    chosen[documents] = chosen[after] = True
    return np.flatnonzero(chosen)


def _in_context(view: View, asking: Asking, visible: NDArray[np.bool_], own: _Own, chosen: Numbers) -> Signals:
    """Return documents with everything that speaks for them."""
    talk, marks = view.columns.talk(), view.columns["marks"]
    values = np.zeros((len(ranking.WEIGHTS), len(chosen)), np.float32)
    signals = dict(zip(ranking.WEIGHTS, values, strict=True))
    signals["words"][:], signals["meaning"][:] = own.words[chosen], own.meaning[chosen]
    if own.speaker >= 0:
        signals["speaker"][:] = view.columns["name"][chosen] == own.speaker
    mine = marks[chosen]
    signals["question"][:] = mine & ASKS > 0
    if asking.wants_time:
        signals["time"][:] = mine & TELLS_TIME > 0
    signals["session"][:] = base = own.base[chosen]
    sessions = talk.session[chosen]
    if sessions.any():
        np.copyto(signals["session"], _session_support(sessions, base), where=sessions > 0)
        before, before2 = _beside(talk.before, chosen, visible)
        signals["before"][:], signals["before2"][:] = _said_before(own, chosen, before, before2)
        signals["answers"][:] = own.words[before] * ((before >= 0) & (marks[before] & ASKS_WITHIN > 0))
        signals["first"][:] = (talk.before[chosen] < 0) & (talk.after[chosen] >= 0)
    return Signals(chosen, values)


def _said_before(own: _Own, here: Numbers, before: Numbers, before2: Numbers) -> Floats:
    """Return what the turn before adds to a turn's own words, and what the one two before adds to both; shape [2, n]."""
    places = np.concatenate((here, before, before2))
    buffer = np.zeros(len(own.words) + 1, np.float32)  # -1, no turn, is the last place: it stays 0
    held = np.zeros((len(own.shares), len(places)), np.float32)
    for row, share in zip(held, own.shares, strict=True):
        buffer[share.documents] = share.values
        row[:] = buffer[places]
        buffer[share.documents] = 0
    mine, first, second = held.reshape(len(own.shares), 3, len(here)).swapaxes(0, 1)
    added = np.array([np.maximum(first - mine, 0).sum(0), np.maximum(second - np.maximum(mine, first), 0).sum(0)], np.float32)
    return added / own.most


def _beside(link: Numbers, documents: Numbers, visible: NDArray[np.bool_]) -> Numbers:
    """Return the next two turns along a link of ``Talk``, looking past a few that are not visible; -1 if none; shape [2, n]."""
    found = []
    places = documents
    for _ in range(2):
        places = link[places]
        hidden = (places >= 0) & ~visible[places]
        for _ in range(ranking.REACH):
            if not hidden.any():
                break
            places[hidden] = link[places[hidden]]
            hidden = (places >= 0) & ~visible[places]
        places[hidden] = -1
        found.append(places)
    return np.array(found)


def _session_support(sessions: NDArray[np.uint32], base: Floats) -> Floats:
    """Return for each candidate a third of the sum of its session's three best bases."""
    order = np.argsort(2.0 * sessions - base)  # by session, the best first; a base is at most 1
    ordered = sessions[order]
    is_first = np.ones(len(order), np.bool_)
    is_first[1:] = ordered[1:] != ordered[:-1]
    starts, group = np.flatnonzero(is_first), np.cumsum(is_first) - 1
    best = np.where(np.arange(len(order)) - starts[group] < 3, base[order], np.float32(0))
    support = np.empty_like(base)
    support[order] = np.add.reduceat(best, starts)[group] / np.float32(3)
    return support
