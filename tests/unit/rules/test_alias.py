"""Two names of one thing: what may be one, and how a question gets the other name."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from witnesstree.errors import InputError
from witnesstree.rules.alias import MAX_EXPANSIONS, Alias, check_alias, expand, parse_alias, replaced

SISTER = Alias("my sister", "Ana")


@pytest.mark.parametrize(
    ("alias", "name", "field"),
    [
        ("", "Ana", "alias"),
        ("my sister", "  ", "name"),
        (3, "Ana", "alias"),
        ("my sister", None, "name"),
        ("the", "Ana", "alias"),
        ("of the", "Ana", "alias"),
        ("?!", "Ana", "alias"),
        ("a = b", "Ana", "alias"),
        ("two\nlines", "Ana", "alias"),
        ("x" * 201, "Ana", "alias"),
        ("Ana", "ana", "alias"),
        ("Anas", "Ana", "alias"),
        ("my\x00sister", "Ana", "alias"),
        ("my \ud800", "Ana", "alias"),
    ],
)
def test_what_can_be_no_name_is_refused(alias: Any, name: Any, field: str) -> None:
    """A function word would turn every question; both names the same would do nothing."""
    with pytest.raises(InputError) as caught:
        check_alias(alias, name)
    assert caught.value.attributes["field"] == field


def test_alias_comes_back_from_its_text() -> None:
    """The text of the memory is all there is."""
    made = check_alias("  my sister ", "Ana")
    assert made == SISTER and made.text == "my sister = Ana" and parse_alias(made.text) == made
    for text in ("my sister", "my sister=Ana", " = Ana", "my sister = ", "a b = c = d"):
        with pytest.raises(InputError):
            parse_alias(text)


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("Where does my sister live?", "Where does my sister live? Ana"),
        ("Where does Ana live?", "Where does Ana live? my sister"),
        ("Does my sister Ana live here?", "Does my sister Ana live here?"),
        ("Where does the sister of Bo live?", "Where does the sister of Bo live?"),
        ("where is my SISTER'S bike", "where is my SISTER'S bike Ana"),
        ("banana bread", "banana bread"),
    ],
)
def test_question_gets_the_other_name_behind_it(question: str, wanted: str) -> None:
    """Whole words in order, case and English endings ignored; a part of a word is none."""
    assert expand(question, [SISTER]) == wanted


def test_names_in_the_middle_are_replaced_for_answers() -> None:
    """The question itself comes first, then one version a name."""
    assert replaced("Where does my sister live?", [SISTER]) == ["Where does my sister live?", "Where does Ana live?"]
    assert replaced("Where does Ana live?", [SISTER]) == ["Where does Ana live?", "Where does my sister live?"]
    assert replaced("Nothing here", [SISTER]) == ["Nothing here"]


@given(
    st.text(max_size=200), st.lists(st.tuples(st.sampled_from(["Ana", "Bo", "cem", "猫"]), st.sampled_from(["x1", "y2", "苹果"])))
)
def test_question_stays_and_does_not_grow_without_end(question: str, pairs: list[tuple[str, str]]) -> None:
    """Whatever is asked and linked."""
    aliases = [Alias(*pair) for pair in pairs]
    assert expand(question, aliases).startswith(question)
    assert replaced(question, aliases)[0] == question
    assert len(replaced(question, aliases)) <= MAX_EXPANSIONS + 2
