"""The project's own quality sets are what their benchmarks say, and the default search holds what they measured."""

from __future__ import annotations

import json
from collections import Counter

from bench import multilingual, related
from bench.figures import Figure
from witnesstree.rules.terms import is_topic, terms_of


def test_each_language_has_its_notes_and_questions() -> None:
    """Six languages of 30 notes and 25 questions, some questions across; each gold note is there exactly once."""
    notes, questions = multilingual.read()
    groups = Counter(group for group, _, _ in questions)
    assert groups == {"en": 25, "de": 25, "ru": 25, "zh": 25, "ja": 25, "ar": 25, "across": 24}
    assert len(set(notes)) == len(notes) == 180
    assert {note for _, _, note in questions} <= set(notes)
    assert len({question for _, question, _ in questions}) == len(questions)


def test_embedder_that_cannot_read_a_language_does_no_harm_there() -> None:
    """The default finds what words alone find, in each language, and more in English."""
    none, local = multilingual.places("none"), multilingual.places("local")
    for group in none:
        assert multilingual.recall(local[group], 10) >= multilingual.recall(none[group], 10)
    assert multilingual.recall(local["en"], 10) > multilingual.recall(none["en"], 10)


def test_pairs_share_no_topic_word() -> None:
    """Only meaning or a related word can find these notes."""
    data = json.loads(related.FILE.read_text("utf-8"))
    for question, note in data["pairs"]:
        shared = {term for term in terms_of(question) if is_topic(term)} & set(terms_of(note))
        assert not shared - {"lena"}, (question, note)


def test_related_words_find_most_of_them() -> None:
    """Both halves, with and without an embedder."""
    figures: list[Figure] = related.run(None)  # type: ignore[arg-type]
    assert len(figures) == 8
    for figure in figures:
        assert figure.value > (80 if figure.name.endswith("R@3") else 50), figure
