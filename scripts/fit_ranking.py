#!/usr/bin/env python3
"""Fits the weights of ``witnesstree.rules.ranking`` on labelled conversations and says how good they are on others.

    python scripts/fit_ranking.py FILE [--embedder local] [--embedder minilm]

FILE has the form of LoCoMo (see ``bench/quality.py``) and is never part of the project. Every conversation becomes a memory of
its own. The signals are those of the search itself (``flow.fusion.candidates``), so what is printed is what a search gives.

The weights are those of a linear listwise ranker: a softmax over a question's candidates should point at its gold turns. There is
one set for all embedders that are given. Held out: trained on all conversations but one, measured on that one.

Last, for each embedder, ``MIN_LEAD`` of ``rules.citation``: the smallest that keeps false answers to questions of category 5
under ``--most-false`` percent on all conversations but one, and what it gives on that one.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.quality import Tally, turns
from witnesstree import Memory
from witnesstree.flow.answer import find_support
from witnesstree.flow.fetching import Fetching
from witnesstree.flow.fusion import candidates
from witnesstree.flow.meaning import Meaning
from witnesstree.rules.asking import Asking
from witnesstree.rules.citation import MIN_LEAD, least_lead
from witnesstree.rules.ranking import WEIGHTS
from witnesstree.types.limits import MAX_QUERY_TERMS

Floats = NDArray[np.float64]
RIDGE = 1e-3
STEPS = 30
ROUND = 0.05
LEADS = np.round(np.arange(-0.5, 2, 0.05), 2).tolist()
FILTERS = ("session", "scope", "kinds", "min_authority", "min_trust", "as_of", "recorded_as_of", "where", "budget_tokens")
PLAIN: dict[str, Any] = dict.fromkeys(FILTERS)


@dataclass(frozen=True)
class Case:
    """One question: the signals of its candidates, shape [n, 10], their turns, and the turns that answer it."""

    embedder: str
    fold: int
    signals: Floats
    found: list[str]
    gold: set[str]

    @property
    def hits(self) -> list[int]:
        """The places of the gold turns among the candidates."""
        return [place for place, turn in enumerate(self.found) if turn in self.gold]

    def ranked(self, weights: Floats) -> list[str]:
        """Return the candidates' turns, best first; newer ones first among equals, as in a search."""
        scores = np.round(self.signals @ weights, 6)
        return [self.found[place] for place in np.lexsort((-np.arange(len(scores)), -scores))]


def cases_of(sample: dict[str, Any], fold: int, embedder: str) -> Iterator[Case]:
    """Yield the answerable questions of one conversation."""
    messages = list(turns(sample["conversation"]))
    with Memory.open("ram:", user="owner", embedder=embedder) as memory:
        ids = memory.add(messages).episodes
        turn_of = {memory_id: message["id"] for memory_id, message in zip(ids, messages, strict=True)}
        store = memory._store
        with store.reading() as reading:
            view = reading.view(memory._principal(None, None).partition)
            for question in sample["qa"]:
                gold = set(turn_of.values()).intersection(question["evidence"])
                if question["category"] == 5 or not gold:
                    continue
                asking = Asking.of(question["question"], MAX_QUERY_TERMS)
                first = next(candidates(view, asking, view.visible, store.embedder_for(view)), None)
                if first is None:
                    yield Case(embedder, fold, np.zeros((0, len(WEIGHTS))), [], gold)
                else:
                    found = [turn_of[view.facts(document).id.hex()] for document in first.documents.tolist()]
                    yield Case(embedder, fold, first.values.T.astype(np.float64), found, gold)


@dataclass(frozen=True)
class Tried:
    """One question put to ``flow.answer``, and the largest ``MIN_LEAD`` with which it is answered; -inf without any support."""

    embedder: str
    fold: int
    is_answerable: bool
    margin: float


def tried_on(sample: dict[str, Any], fold: int, embedder: str) -> Iterator[Tried]:
    """Yield what is found in support of an answer to each question of one conversation."""
    with Memory.open("ram:", user="owner", embedder=embedder) as memory:
        memory.add(list(turns(sample["conversation"])))
        with memory._store.reading() as reading:
            for asked in sample["qa"]:
                question = memory._question(asked["question"], user=None, agent=None, k=1, **PLAIN)
                view = reading.view(question.principal.partition)
                meaning = Meaning.of_text(memory._store, question.principal.partition, question.query)
                found = find_support(meaning, view, question, Fetching(reading, view, None))
                margin = -math.inf if found is None else found.lead - least_lead(found.coverage) + MIN_LEAD
                yield Tried(embedder, fold, asked["category"] != 5, margin)


def answers(tried: list[Tried], most_false: float) -> Iterator[str]:
    """Yield lines on the smallest lead that is enough, chosen on the other conversations, and what it gives on each."""
    margins = np.array([case.margin for case in tried])
    fold, right = np.array([case.fold for case in tried]), np.array([case.is_answerable for case in tried])
    given = np.zeros(len(tried), np.bool_)
    chosen = []
    for held_out in np.unique(fold).tolist():
        rest = (fold != held_out) & ~right
        chosen.append(next(lead for lead in LEADS if 100 * np.mean(margins[rest] >= lead) <= most_false))
        given |= (fold == held_out) & (margins >= chosen[-1])
    leads = ", ".join(f"{lead:.2f}" for lead in chosen)
    yield f"  held out, lead {leads}: answered {100 * given[right].mean():.1f}  false {100 * given[~right].mean():.1f}"
    now = margins >= MIN_LEAD
    yield f"  as it is now, lead {MIN_LEAD:.2f}: answered {100 * now[right].mean():.1f}  false {100 * now[~right].mean():.1f}"


def fit(cases: Iterable[Case]) -> Floats:
    """Return the weights that make the gold turns most likely, by Newton's method; the loss is convex."""
    useful = [(case.signals, case.hits) for case in cases if case.hits]
    signals = np.concatenate([rows for rows, _ in useful])
    sizes = np.array([len(rows) for rows, _ in useful])
    starts = np.cumsum(sizes) - sizes
    gold = np.array([rows[hits].mean(axis=0) for rows, hits in useful])
    weights = np.zeros(signals.shape[1])

    def chances(weights: Floats) -> tuple[float, Floats]:
        scores = signals @ weights
        top = np.maximum.reduceat(scores, starts)
        powers = np.exp(scores - np.repeat(top, sizes))
        sums = np.add.reduceat(powers, starts)
        loss = float((top + np.log(sums) - gold @ weights).mean() + RIDGE / 2 * weights @ weights)
        return loss, powers / np.repeat(sums, sizes)

    loss, chance = chances(weights)
    for _ in range(STEPS):
        weighted = signals * chance[:, None]
        means = np.add.reduceat(weighted, starts, axis=0)
        slope = (means - gold).mean(axis=0) + RIDGE * weights
        curve = (signals.T @ weighted - means.T @ means) / len(useful) + RIDGE * np.eye(len(weights))
        step, size = np.linalg.solve(curve, slope), 1.0
        while (new := chances(weights - size * step))[0] > loss and size > 1e-3:
            size /= 2
        weights, (loss, chance) = weights - size * step, new
        if np.abs(step).max() < 1e-4:
            break
    return weights


def scale(weights: Floats) -> Floats:
    """Return weights as they stand in ``rules.ranking``: words count 1, the others are whole multiples of 0.05."""
    return np.asarray(np.round(weights / weights[0] / ROUND) * ROUND)


def figures(cases: list[Case], weights: Floats) -> str:
    """Return recall and gain of some questions, in percent."""
    tally = Tally()
    for case in cases:
        tally.take(case.ranked(weights), case.gold)
    return f"R@10 {100 * np.mean(tally.recall[10]):5.1f}  nDCG@10 {100 * np.mean(tally.ndcg):5.1f}"


def main() -> None:
    """Print figures for each conversation and in all, and the weights."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--embedder", action="append", help="one or more: local, minilm, multilingual, none", default=[])
    parser.add_argument("--most-false", type=float, default=9.0, help="percent of the questions without an answer")
    options = parser.parse_args()
    embedders = options.embedder or ["local"]
    samples = json.loads(options.file.read_text("utf-8"))
    pairs = itertools.product(embedders, enumerate(samples))
    cases = [case for embedder, (fold, sample) in pairs for case in cases_of(sample, fold, embedder)]
    held_out: dict[str, list[str]] = {embedder: [] for embedder in embedders}
    tallies = {embedder: Tally() for embedder in embedders}
    for fold in range(len(samples)):
        weights = fit(case for case in cases if case.fold != fold)
        for embedder in embedders:
            kept = [case for case in cases if case.fold == fold and case.embedder == embedder]
            held_out[embedder].append(figures(kept, weights))
            for case in kept:
                tallies[embedder].take(case.ranked(weights), case.gold)
    whole = scale(fit(cases))
    now = np.array(list(WEIGHTS.values()))
    for embedder in embedders:
        mine = [case for case in cases if case.embedder == embedder]
        print(f"\n{embedder}: {len(mine)} questions")
        for fold, line in enumerate(held_out[embedder]):
            print(f"  held out, conversation {fold + 1}:       {line}")
        recall, gain = np.mean(tallies[embedder].recall[10]), np.mean(tallies[embedder].ndcg)
        print(f"  held out, all:                  R@10 {100 * recall:5.1f}  nDCG@10 {100 * gain:5.1f}")
        print(f"  rounded, trained on all (seen): {figures(mine, whole)}")
        print(f"  in rules/ranking now:           {figures(mine, now)}")
    print("\nWEIGHTS: Final = {")
    for name, weight in zip(WEIGHTS, whole, strict=True):
        print(f'    "{name}": {weight:.2f},')
    print("}")
    for embedder in embedders:
        tried = [one for fold, sample in enumerate(samples) for one in tried_on(sample, fold, embedder)]
        print(f"\nanswers, {embedder}: {len(tried)} questions")
        print(*answers(tried, options.most_false), sep="\n")


if __name__ == "__main__":
    main()
