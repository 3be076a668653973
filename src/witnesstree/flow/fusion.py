"""The one ranking: words, meaning, and what stands beside a turn, over one owner's verified view. Relevance is decided first.

The weights are in ``rules.ranking``. What neither shares a topic word with the question nor comes close in meaning, and does not
follow such a turn in its session, is no hit: an arbitrary first row would be worse than none.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from witnesstree.flow.view import View
from witnesstree.providers.base import QueryEmbedder
from witnesstree.rules import ranking
from witnesstree.rules.asking import Asking
from witnesstree.rules.terms import ASKS, TELLS_TIME
from witnesstree.types.facts import RowFacts
from witnesstree.types.trust import Kind

Floats = NDArray[np.float32]
Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Scored:
    """One ranked memory: the score and what it is made of, each as it enters the sum."""

    facts: RowFacts
    score: float
    words: float
    meaning: float
    context: float

    def signals(self) -> dict[str, float]:
        """Return what the score is made of: words and meaning from 0 to 1, and the weighted share of the turns around it."""
        return {name: round(getattr(self, name), 6) for name in ("words", "meaning", "context")}


@dataclass(frozen=True, slots=True)
class _Own:
    """What each document says by itself: words and meaning from 0 to 1, whether it is about the question, and who says it."""

    words: Floats
    meaning: Floats
    relevant: NDArray[np.bool_]
    speaker: NDArray[np.bool_]

    @property
    def base(self) -> Floats:
        base: Floats = (self.words + self.meaning) / np.float32(2)
        return base


def rank(view: View, asking: Asking, visible: NDArray[np.bool_], embedder: QueryEmbedder | None) -> Iterator[Scored]:
    """Yield relevant memories, best first; nothing if nothing is relevant.

    Args:
        view: the owner's verified view.
        asking: the question, taken apart.
        visible: one bool a document: what the caller may see and has asked for (decided before ranking, threat T-I1).
        embedder: compares by meaning, if there is one.
    """
    own = _own_signals(view, asking, visible, embedder)
    heads = _best(own, np.flatnonzero(own.relevant), ranking.CANDIDATES)
    yield from _in_context(view, asking, visible, own, heads)
    rest = own.relevant.copy()
    rest[heads] = False
    later = np.flatnonzero(rest)
    for start in range(0, len(later), ranking.CANDIDATES):
        if not start:
            later = later[np.argsort(-own.base[later], kind="stable")]
        yield from _in_context(view, asking, visible, own, later[start : start + ranking.CANDIDATES], follow=False)


def _own_signals(view: View, asking: Asking, visible: NDArray[np.bool_], embedder: QueryEmbedder | None) -> _Own:
    people = view.columns.people()
    named = {code for term, code in people.items() if term in asking.terms}
    names = {term for term in asking.terms if term in people}
    topics = [term for term in asking.topics if term not in names]
    about = view.words.scores(topics, visible)
    words = about + view.words.scores([term for term in asking.terms if term not in set(topics)], visible)
    relevant = (about if topics else words) > 0
    meaning = np.zeros(len(words), np.float32)
    there = visible & view.vectors.known
    if embedder is not None and topics and there.any():
        cosines = view.vectors.cosines(embedder.embed_query(asking.without(names)))
        if cosines.any():
            low, high = min(0.0, float(cosines[there].min())), float(cosines[there].max())
            meaning[there] = (cosines[there] - low) / (max(high, embedder.floor + ranking.CLEARLY_ABOVE) - low)
            relevant |= there & (cosines >= embedder.floor)
    speaker = np.zeros(len(words), np.bool_)
    if len(named) == 1:
        speaker = view.columns["name"] == next(iter(named))
    most = float(words.max(initial=0.0))
    return _Own(words / np.float32(most or 1.0), meaning, relevant & visible, speaker)


def _best(own: _Own, documents: Numbers, count: int) -> Numbers:
    if len(documents) <= count:
        return documents
    score = own.base[documents] + np.float32(ranking.SPEAKER_HEAD) * own.speaker[documents]
    return documents[np.argpartition(-score, count)[:count]]


def _in_context(
    view: View, asking: Asking, visible: NDArray[np.bool_], own: _Own, heads: Numbers, *, follow: bool = True
) -> Iterator[Scored]:
    """Yield the heads, and the turns that follow them, by the whole sum."""
    if not len(heads):
        return
    columns, base = view.columns, own.base
    chosen = heads
    if follow:
        after = _beside(view, heads, visible, 1)
        chosen = np.unique(np.concatenate((heads, after[after >= 0])))
    before, after = (_beside(view, chosen, visible, step) for step in (-1, 1))
    context = np.float32(ranking.PREVIOUS) * np.where(before >= 0, base[before], 0)
    context += np.float32(ranking.NEXT) * np.where(after >= 0, base[after], 0)
    context += np.float32(ranking.SESSION) * _session_support(columns["session"][chosen], base[chosen])
    context[~_is_turn(view, chosen)] = 0
    marks = columns["marks"][chosen]
    score = np.float32(ranking.WORDS) * own.words[chosen] + np.float32(ranking.MEANING) * own.meaning[chosen] + context
    score += np.float32(ranking.SPEAKER) * own.speaker[chosen] + np.float32(ranking.QUESTION) * (marks & ASKS > 0)
    if asking.wants_time:
        score += np.float32(ranking.TIME) * (marks & TELLS_TIME > 0)
    score = np.round(score, 6)
    weaker = [-columns[field][chosen].astype(np.int64) for field in ("seq", "authority", "trust")]
    order = np.lexsort(np.array([*weaker, -score]))
    for place in order:
        document = int(chosen[place])
        yield Scored(
            view.facts(document),
            float(score[place]),
            float(own.words[document]),
            float(own.meaning[document]),
            float(context[place]),
        )


def _is_turn(view: View, documents: Numbers) -> NDArray[np.bool_]:
    """Return which documents are turns of a named session: only those stand in a conversation."""
    columns = view.columns
    turn: NDArray[np.bool_] = (columns["kind"][documents] == Kind.TURN) & (columns["session"][documents] > 0)
    return turn


def _beside(view: View, documents: Numbers, visible: NDArray[np.bool_], step: int) -> Numbers:
    """Return the turn before (step -1) or after (1) each document in its session, looking past a few others; -1 if none."""
    sessions = view.columns["session"]
    found = np.full(len(documents), -1, np.int64)
    mine = sessions[documents]
    open_ = np.flatnonzero(mine > 0)
    for distance in range(1, ranking.REACH + 1):
        there = documents[open_] + step * distance
        inside = (there >= 0) & (there < len(sessions))
        open_, there = open_[inside], there[inside]
        if not len(open_):
            break
        is_next = (sessions[there] == mine[open_]) & visible[there]
        found[open_[is_next]] = there[is_next]
        open_ = open_[~is_next]
    return found


def _session_support(sessions: NDArray[np.uint32], base: Floats) -> Floats:
    """Return for each candidate a third of the sum of its session's three best bases."""
    order = np.lexsort((-base, sessions))
    codes, first, size = np.unique(sessions[order], return_index=True, return_counts=True)
    sums = np.zeros(len(codes), np.float32)
    for rank_in_session in range(3):
        has = size > rank_in_session
        sums[has] += base[order][first[has] + rank_in_session]
    support: Floats = (sums / np.float32(3))[np.searchsorted(codes, sessions)]
    return support
