"""The one ranking: meaning finds what shares no word, nothing relevant gives nothing, a conversation carries its turns."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from witnesstree import Memory

NOTES = [
    "She bought a blue automobile last spring.",
    "Two dogs and a cat sleep in the hall.",
    "The kid is sick with fever.",
    "The loan is not repaid.",
    "Our vacation was at the seaside.",
    "Rate limits are one hundred a minute.",
    "The printer stands on the second floor.",
]


@pytest.fixture
def memory() -> Iterator[Memory]:
    """A memory in this process."""
    with Memory.open("ram:", user="ana") as opened:
        yield opened


@pytest.mark.parametrize(
    ("question", "answer"),
    [("Which car does she drive?", 0), ("What pets live there?", 1), ("illness of the child", 2), ("money owed to the bank", 3)],
)
def test_meaning_finds_what_shares_no_topic_word(memory: Memory, question: str, answer: int) -> None:
    """Words alone find none of these."""
    memory.add(NOTES)
    hit = memory.search(question).hits[0]
    assert hit.text == NOTES[answer]
    assert hit.signals["meaning"] > 0.5 and hit.score > 0
    with Memory.open("ram:", user="ana", embedder="none") as words_only:
        words_only.add(NOTES)
        assert not words_only.search(question).hits


@pytest.mark.parametrize("question", ["quantum chromodynamics", "zqxjwv", "mitochondria", "下周一", "?!"])
def test_nothing_relevant_gives_nothing(memory: Memory, question: str) -> None:
    """No arbitrary first row."""
    memory.add(NOTES)
    assert memory.search(question).hits == ()


def test_the_turn_behind_a_relevant_one_takes_part_in_its_session_only(memory: Memory) -> None:
    """An answer without a word of its question stands behind it."""
    memory.add(["Where is the spare key?", "Under the third flower pot."], session="monday")
    memory.add(["Ladders lean on the wall."], session="tuesday")
    found = [hit.text for hit in memory.search("spare key").hits]
    assert sorted(found) == ["Under the third flower pot.", "Where is the spare key?"]


def test_who_is_named_counts_as_speaker_and_not_as_topic(memory: Memory) -> None:
    """The person's own turn comes before another's; a name alone makes nothing relevant but its own turns."""
    for name in ("Mara", "Tom"):
        memory.add({"content": "I planted tulips behind the shed.", "name": name, "session": "s"})
    memory.add({"content": "The bakery opens at six.", "name": "Mara", "session": "s"})
    assert [hit.name for hit in memory.search("What did Tom plant?").hits[:1]] == ["Tom"]
    assert [hit.name for hit in memory.search("What did Mara plant?").hits[:1]] == ["Mara"]
    assert memory.answer("What did Tom plant behind the shed?").citations[0].name == "Tom"
    assert memory.answer("Which bakery does Tom open at six?").abstained


def test_day_and_speaker_are_found_as_words(memory: Memory) -> None:
    """A turn is found by its date and by who said it."""
    memory.add({"content": "We met at the station.", "name": "Mara", "at": "2024-03-17T10:00:00Z"})
    memory.add({"content": "We met at the harbour.", "name": "Tom", "at": "2024-05-02T10:00:00Z"})
    assert memory.search("17 March 2024").hits[0].text == "We met at the station."
    assert memory.search("Tom").hits[0].text == "We met at the harbour."


def test_filter_decides_before_ranking(memory: Memory) -> None:
    """What the filter excludes neither takes a place nor lends its weight to a neighbour."""
    memory.add({"role": "tool", "content": "The blue automobile costs nothing.", "name": "web"}, session="a")
    memory.add("The loan is not repaid.", session="a")
    found = memory.search("automobile", min_authority="attested")
    assert found.hits == ()


def test_more_results_than_candidates_come_in_one_order(memory: Memory) -> None:
    """Nothing is cut off at the number of candidates, and nothing comes twice."""
    memory.add([f"automobile number {n}" for n in range(450)])
    found = memory.search("automobile", k=450).hits
    assert len({hit.id for hit in found}) == 450
