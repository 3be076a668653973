"""What each kind of answer is called: only a documented integrity refusal is a detection."""

from __future__ import annotations

import pytest

from witnesstree_conformance.phases import Failure
from witnesstree_conformance.verdicts import ACCEPTED, NO_EFFECT, Reading, judge, words_alone, worst

REFUSALS = ("SealError",)
CLEAN = {"list": Reading([{"text": "one"}, {"text": "two"}]), "get": Reading({"text": "one"})}


def seen(listed: object, got: object = None) -> dict[str, Reading]:
    """What was read after an edit."""
    channels = {"list": listed, "get": {"text": "one"} if got is None else got}
    return {name: Reading(failure=value) if isinstance(value, Failure) else Reading(value) for name, value in channels.items()}


@pytest.mark.parametrize(
    ("listed", "removes", "verdict"),
    [
        ([{"text": "one"}, {"text": "two"}], False, "no_effect"),
        ([{"text": "one"}, {"text": "EVIL"}], False, "accepted"),
        ([{"text": "two"}, {"text": "one"}], False, "accepted"),
        ([{"text": "one"}, {"text": "two"}, {"text": "two"}], False, "accepted"),
        ([{"text": "one"}], False, "dropped"),
        ([{"text": "one"}], True, "accepted"),
        ([], True, "accepted"),
        (Failure(("SealError", "Exception"), "altered"), False, "refused"),
        (Failure(("KeyError",), "text"), False, "crashed"),
        (Failure(("Died",), "status 11"), False, "crashed"),
        (Failure(("Hung",), ""), False, "crashed"),
    ],
)
def test_a_channel_is_judged_by_what_came_back(listed: object, removes: bool, verdict: str):
    assert judge(CLEAN, seen(listed), REFUSALS, removes=removes).verdict == verdict


def test_the_worst_channel_decides():
    refused = Failure(("SealError",), "altered")
    assert judge(CLEAN, seen(refused, {"text": "EVIL"}), REFUSALS, removes=False).verdict == "accepted"


def test_a_line_in_the_log_is_no_detection():
    assert judge(CLEAN, seen([{"text": "EVIL"}]), REFUSALS, removes=False, logged=["store: odd row"]).verdict == "logged"


def test_an_error_that_the_clean_store_raises_too_is_no_effect():
    same = Failure(("NotFound",), "no such id")
    clean = CLEAN | {"get": Reading(failure=same)}
    assert judge(clean, seen(CLEAN["list"].answer, same), REFUSALS, removes=False).verdict == "no_effect"


def test_no_channel_is_not_evaluable():
    assert judge({}, {}, REFUSALS, removes=False).verdict == "not_evaluable"


def test_worst_first():
    assert worst(["no_effect", "refused", "reported"]) == "reported"
    assert worst(["refused", "crashed", "accepted", "executed"]) == "executed"


def test_after_an_honest_write_only_words_count() -> None:
    clean = {"list alice": Reading([{"id": "1", "text": "words AAAA"}]), "get 0": Reading({"id": "1", "text": "words AAAA"})}
    again = {"list alice": Reading([{"id": "2", "text": "words AAAA"}]), "get 0": Reading({"id": "2", "text": "words AAAA"})}
    other = {"list alice": Reading([{"id": "2", "text": "words EVIL"}]), "get 0": Reading(None)}
    assert judge(words_alone(clean), words_alone(again), (), removes=False).verdict == NO_EFFECT
    assert judge(words_alone(clean), words_alone(other), (), removes=False).verdict == ACCEPTED
