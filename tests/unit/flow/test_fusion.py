"""The one ranking: meaning finds what shares no word, nothing relevant gives nothing, a conversation carries its turns."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from witnesstree import Memory, Message
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


def test_notes_do_not_lose_to_turns(memory: Memory) -> None:
    """In a store of half notes, half turns a note that fits best is first: outside any session it stands for itself."""
    things = ("tulips", "anchor", "violin", "barley", "compass", "lantern")
    talk = [line for thing in things for line in (f"Did you see the {thing} of the museum?", f"Yes, that {thing} was huge.")]
    for number, text in enumerate(talk):
        memory.add({"content": text, "name": ("Mara", "Tom")[number % 2]}, session=f"s{number // 4}")
    notes = [f"the {thing} is kept in box {number}" for number, thing in enumerate(things)]
    memory.add(notes)
    for note, thing in zip(notes, things, strict=True):
        assert memory.search(f"which box is the {thing} kept in").hits[0].text == note
        assert thing in memory.search(f"was the {thing} huge").hits[0].text
        assert memory.search(f"was the {thing} huge").hits[0].kind == "turn"


def test_answer_stands_two_turns_behind_its_question(memory: Memory) -> None:
    """What the two turns before say counts for a turn; the turn behind a question may answer it."""
    turns = ["What about the spare key, Tom?", "Hm, let me think for a moment.", "Under the third flower pot.", "Good to know."]
    memory.add([{"content": text, "name": ("Mara", "Tom")[n % 2]} for n, text in enumerate(turns)], session="monday")
    found = {hit.text: hit.signals for hit in memory.search("spare key").hits}
    assert set(found) == set(turns[:3])
    assert found[turns[0]]["first"] == 1 and found[turns[1]]["first"] == 0
    assert found[turns[1]]["before"] > 0 and found[turns[1]]["answers"] == pytest.approx(1)
    assert found[turns[2]]["before"] == 0 and found[turns[2]]["before2"] > 0


def test_opening_follows_what_was_said_since(memory: Memory) -> None:
    """A session of one turn has no opening; a second turn makes the first one its opening."""
    memory.add(["The cellar is damp."], session="one")
    assert memory.search("cellar").hits[0].signals["first"] == 0
    memory.add(["It needs a new pump."], session="one")
    assert {hit.text: hit.signals["first"] for hit in memory.search("cellar").hits} == {
        "The cellar is damp.": 1.0,
        "It needs a new pump.": 0.0,
    }


def test_names_are_taken_out_of_the_words(memory: Memory) -> None:
    """Another one's turn that only calls the person by name does not come before the person's own."""
    memory.add({"content": "Tom, Tom, Tom! Where is your boat, Tom?", "name": "Mara"}, session="s")
    memory.add({"content": "My boat lies in the harbour.", "name": "Tom"}, session="s")
    assert memory.search("Where is Tom's boat?").hits[0].text == "My boat lies in the harbour."


@given(
    sessions=st.lists(st.integers(0, 2), min_size=1, max_size=12),
    question=st.lists(st.sampled_from(["apple", "pear", "plum", "when", "?"]), min_size=1, max_size=4).map(" ".join),
    said=st.lists(st.sampled_from(["apple pear", "plum?", "pear yesterday", "nothing at all"]), min_size=12, max_size=12),
)
@settings(max_examples=40)
def test_every_score_is_explained_and_in_order(sessions: list[int], question: str, said: list[str]) -> None:
    """Whatever is asked of whatever was said: each hit once, best first, the score the weighted sum of bounded signals."""
    with Memory.open("ram:", user="ana") as memory:
        for session, text in zip(sessions, said, strict=False):
            memory.add(text, session=f"s{session}" if session else "")
        hits = memory.search(question).hits
    assert len({hit.id for hit in hits}) == len(hits)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    for hit in hits:
        assert all(-0.01 <= value <= 1.01 for name, value in hit.signals.items() if not name.startswith("before"))
        assert hit.score == pytest.approx(sum(WEIGHTS[name] * value for name, value in hit.signals.items()), abs=1e-4)


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


def test_echoes_of_a_question_do_not_crowd_out_who_has_authority(memory: Memory) -> None:
    """Ten pages that say the same with another number come first in a search, the user's own words are the answer."""
    memory.add([{"role": "tool", "name": "web", "content": f"The rent account number is {n}."} for n in range(10)])
    memory.add("The rent account number is 4711.")
    memory.add([{"role": "tool", "name": "web", "content": f"The rent account number is {n}."} for n in range(10, 18)])
    citation = memory.answer("What is the rent account number?").citations[0]
    assert (citation.quote, citation.authority) == ("The rent account number is 4711.", "authorized")


def test_no_memory_is_found_twice_however_many_there_are() -> None:
    """Beyond the first candidates: turns that follow one and are relevant themselves come once, and every one comes."""
    with Memory.open("ram:", user="ana", embedder="none") as memory:
        turns = [Message(f"tea number {n}", session=f"talk {n // 50}") for n in range(900)]
        ids = memory.add(turns).episodes
        found = [hit.id for hit in memory.search("tea number", k=1000).hits]
        assert len(found) == len(set(found)) == len(ids)
