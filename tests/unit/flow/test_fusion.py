"""The one ranking: meaning finds what shares no word, nothing relevant gives nothing, a conversation carries its turns."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from witnesstree import Memory
from witnesstree.rules.ranking import WEIGHTS

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
    [("purple vans", 0), ("canine", 1), ("infant with a cold", 2), ("money owed to the bank", 3), ("our shoreline getaway", 4)],
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


def test_score_is_the_weighted_sum_of_its_signals(memory: Memory) -> None:
    """``hit.signals`` explains the order in full."""
    memory.add([{"content": text, "name": name} for text in NOTES for name in ("Mara", "Tom")], session="s")
    memory.add(NOTES[:3])
    for hit in memory.search("When did Tom buy the automobile? Is his kid sick?").hits:
        assert hit.signals.keys() == WEIGHTS.keys()
        assert hit.score == pytest.approx(sum(WEIGHTS[name] * value for name, value in hit.signals.items()), abs=1e-4)


DEVELOPER = """Postgres 16 with pgvector, dumped nightly
ship on Tuesdays, never on Friday afternoon
pnpm, not npm, in this monorepo
Redis keeps hot objects for ten minutes
PRs need two approvals
images are resized by a Lambda
money is integer cents
Sentry collects exceptions of the backend
rate limit is 100 requests a minute per key
timestamps are UTC everywhere
the staging cluster is wiped on Sunday night
branches are named feature/TICKET-name
CSV exports have 50,000 lines at most
standup is at 9:30, fifteen minutes at most
the mobile client is written in Kotlin
PDFs are rendered by Chromium""".splitlines()


@pytest.mark.parametrize("embedder", ["local", "none"])
@pytest.mark.parametrize("others", [[], DEVELOPER])
def test_related_words_find_what_is_meant(embedder: str, others: list[str]) -> None:
    """Who asks about the login means sessions; a question about something else finds nothing, and nothing is answered."""
    note = "sessions are JWT, 15-min expiry"
    with Memory.open("ram:", user="ana", embedder=embedder) as memory:
        memory.add([*others[:8], note, *others[8:]])
        assert memory.search("how does login work").hits[0].text == note
        assert memory.search("what is the capital of mongolia").hits == ()
        assert memory.answer("how does login work").abstained


def test_related_word_counts_less_than_the_word_itself(memory: Memory) -> None:
    """A note with the word of the question comes before one with a related word."""
    memory.add(["the doctor is called Weber", "the physician is called Schmidt", "the clinic is called Seeblick"])
    assert memory.search("physician").hits[0].text == "the physician is called Schmidt"


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
