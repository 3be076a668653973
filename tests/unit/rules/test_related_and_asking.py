"""Related words, questions taken apart, and the lead that an answer about a person needs."""

from __future__ import annotations

import pytest

from witnesstree import Memory
from witnesstree.rules.asking import Asking
from witnesstree.rules.citation import MIN_COVERAGE, MIN_LEAD, least_lead
from witnesstree.rules.related import related_to
from witnesstree.rules.stem import stem
from witnesstree.rules.terms import is_topic


def test_rings_are_symmetric_and_hold_topics_only() -> None:
    """If one word stands for another, so does the other for the one; no word stands for itself."""
    for word in ("login", "doctor", "car", "database"):
        others = related_to(stem(word))
        assert 2 <= len(others) <= 40
        for other in others:
            assert stem(word) in related_to(other)
            assert other != stem(word)
            assert is_topic(other)
    assert related_to("zqx") == ()


@pytest.mark.parametrize(
    ("question", "topics"),
    [
        ("how does login work", ("login",)),
        ("How do the backups work?", ("backup",)),
        ("where does she work", ("work",)),
        ("how does it work?", ("work",)),
        ("how did she like her work", ("lik", "work")),
        ("how many hours of work", ("mani", "hour", "work")),
    ],
)
def test_how_something_works_asks_for_the_thing(question: str, topics: tuple[str, ...]) -> None:
    """The verb of "how does it work" is no topic; work itself is."""
    assert Asking.of(question, 64).topics == topics


@pytest.mark.parametrize(("question", "wants"), [("when was it", True), ("how long did it take", True), ("how are you", False)])
def test_question_of_time_is_known(question: str, wants: bool) -> None:
    """When, which day, how long."""
    assert Asking.of(question, 64).wants_time is wants


def test_full_coverage_needs_no_lead() -> None:
    """Two may have said the very same."""
    assert least_lead(MIN_COVERAGE) == MIN_LEAD > 0 > least_lead(1.0)


def test_words_that_were_not_looked_for_are_told() -> None:
    """No silent cap: up to the limit nothing is said, beyond it how many words were used."""
    with Memory.open("ram:", user="u", embedder="none") as memory:
        memory.add("pear number 7")
        short, long = (" ".join(f"word{n}" for n in range(count)) for count in (256, 257))
        assert memory.search(short).notes == memory.answer(short).notes == ()
        for result in (memory.search(long), memory.answer(long)):
            assert result.notes == ("only the first 256 distinct words of the question were used",)
