"""Unicode normalisation is quadratic in a run of combining marks: long runs are cut, and the terms stay the same."""

from __future__ import annotations

import random
import unicodedata
from collections.abc import Callable
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from witnesstree import Memory
from witnesstree.rules.fence import inert
from witnesstree.rules.normal_form import normal_form
from witnesstree.rules.terms import words_of

SHAPES: dict[str, Callable[[int], str]] = {
    "two classes by turns": lambda n: "a" + "\u0301\u0316" * (n // 2) + " pear",
    "one class": lambda n: "e" + "\u0301" * n,
    "marks alone": lambda n: "\u0316\u0301" * (n // 2),
    "between spaces": lambda n: ("e" + "\u0316\u0301" * 400 + " ") * (n // 801),
    "points of Hebrew": lambda n: "\u05d1" + "\u05bc\u05b8" * (n // 2) + "\u05d2",
    "marks of Arabic": lambda n: "\u0645" + "\u0650\u0651" * (n // 2),
    "after long script": lambda n: "房租" * 300 + "\u3099\u0316" * (n // 2),
    "no white space": lambda n: "x\u0301" * (n // 2),
}


@pytest.fixture
def costs(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The cost of every normalisation from now on, as that of its worst run: its length squared."""
    found: list[int] = []
    real = unicodedata.normalize

    def counted(form: str, text: str) -> str:
        found.append(len(text) ** 2)
        return real(form, text)

    monkeypatch.setattr(unicodedata, "normalize", counted)
    return found


def cost_of(costs: list[int], call: Callable[[], object]) -> int:
    """What one call costs."""
    costs.clear()
    call()
    return sum(costs)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("work", [words_of, inert], ids=["words", "inert"])
def test_cost_of_a_run_of_marks_grows_with_its_length(costs: list[int], work: Callable[[str], object], shape: str) -> None:
    """Eight times the text costs about eight times as much, and not 64 times."""
    small, large = SHAPES[shape](20_000), SHAPES[shape](160_000)
    grown = cost_of(costs, lambda: work(large)) / cost_of(costs, lambda: work(small))
    assert 4 < grown < 12


@pytest.mark.parametrize("shape", ["two classes by turns", "marks alone", "points of Hebrew"])
def test_whole_verbs_stay_linear_in_a_run_of_marks(costs: list[int], shape: str) -> None:
    """Words only: adding, asking for and quoting a memory of marks; the query is as long as a query may be."""

    def live(count: int) -> None:
        text = SHAPES[shape](count)
        with Memory.open("ram:", user="u", embedder="none") as memory:
            memory.add(text + " pear")
            memory.search(text)
            assert memory.search("pear").context(5000)
            memory.answer(text)

    grown = cost_of(costs, lambda: live(96_000)) / cost_of(costs, lambda: live(12_000))
    assert grown < 12


MARKS = "\u0300\u0301\u0302\u0308\u0316\u0323\u0327\u0328"
ALPHABETS = {"latin": "abcdefgozéüłế", "greek": "αβγδήύω", "cyrillic": "абвгёйж", "hebrew": "אבגדה"}


def expected_words(text: str) -> list[str]:
    """The words as the whole text, normalised in one piece, has them: folded, without marks, composed."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    bare = "".join(c for c in unicodedata.normalize("NFD", folded) if unicodedata.category(c) != "Mn")
    return unicodedata.normalize("NFC", bare).split()


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("script", ALPHABETS)
def test_terms_of_a_long_marked_text_are_those_of_the_whole_normalised_text(seed: int, script: str) -> None:
    """Words of one script with up to four marks a letter, in any order, thousands of characters, cut nowhere."""
    dice = random.Random(f"{seed} {script}")
    words = []
    for _ in range(300):
        word = "".join(dice.choice(ALPHABETS[script]) + "".join(dice.choices(MARKS, k=dice.randrange(5))) for _ in range(9))
        words.append(unicodedata.normalize(dice.choice(["NFC", "NFD"]), word))
    text = " ".join(words)
    assert len(text) > 2000
    assert words_of(text) == expected_words(text)


@pytest.mark.parametrize("count", [0, 1, 300, 399, 400, 401, 511, 512, 513, 5_000])
@pytest.mark.parametrize("marks", ["\u0301", "\u0301\u0316", "\u0327\u0308\u0301"], ids=["one", "two", "three"])
def test_run_of_marks_behind_a_word_leaves_the_words_alone(count: int, marks: str) -> None:
    """However long it is, the word before and the words after are what they are without it."""
    run = (marks * count)[:count]
    text = f"Zu\u0308rich caf\u00e9{run} \u0142o\u0301dz{run} tail "
    assert words_of(text) == expected_words(text) == ["zurich", "cafe", "\u0142odz", "tail"]


@pytest.mark.parametrize("count", [1, 399, 400, 401, 800, 801, 5_000])
def test_run_of_marks_inside_a_word_does_not_split_it(count: int) -> None:
    """The word stays one word, whatever comes in its middle."""
    text = "Zu" + "\u0308\u0316" * count + "rich \u05e9\u05dc" + "\u05bc" * count + "\u05d5\u05dd"
    assert words_of(text) == ["zurich", "\u05e9\u05dc\u05d5\u05dd"]


LETTERS = "ab \u00e9\u1100\u1161\u11a8\uac01\u4e2d\u304b\uff76\uff9e\u0e01\u0915\u093f\u093c\U0001f44d\u200d\u05d0x.-" + MARKS


@given(st.text(alphabet=LETTERS, min_size=380, max_size=1_300), st.sampled_from(["NFC", "NFD", "NFKC", "NFKD"]))
def test_normal_form_in_pieces_is_that_of_the_whole(text: str, form: Literal["NFC", "NFD", "NFKC", "NFKD"]) -> None:
    """Where it is cut, nothing would have melted together."""
    assert normal_form(form, text) == unicodedata.normalize(form, text)


@pytest.mark.parametrize("text", ["\u0301" * 5000, "\u0316\u0301" * 5000, "\u05bc" * 1000, "\u0651\u0650" * 3000], ids=range(4))
def test_marks_without_a_letter_are_no_words(text: str) -> None:
    """Nothing to find, and nothing to fail on."""
    assert words_of(text[:8]) == words_of(text) == []
