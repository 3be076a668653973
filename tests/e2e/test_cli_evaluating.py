"""Own questions measured, and vectors exchanged, from the command line."""

from __future__ import annotations

import json

import pytest

from tests.e2e.conftest import Wtree

NOTES = ["The rent account is DE89.", "Ana is allergic to sesame.", "Der Zug nach Lissabon fährt um neun."]
GOOD = [
    {"question": "Which account is for the rent?", "texts": ["rent account is de89"]},
    {"question": "What is Ana allergic to?", "texts": ["sesame"]},
    {"question": "Which colour has the submarine?", "answerable": False},
]


def lines(questions: list[dict[str, object]]) -> str:
    """A file of questions."""
    return "".join(json.dumps(question) + "\n" for question in questions)


def test_own_questions_are_asked_and_counted(wtree: Wtree):
    """Labels by words and by id, one that is wrong, one without an answer; the missed one is named; nothing is written."""
    for note in NOTES:
        assert wtree.here("add", note).code == 0
    ids = [memo["id"] for memo in wtree("list", "--json").json["items"]]
    head = wtree("checkpoint").out
    wrong = {"question": "Which account is for the rent?", "ids": [ids[2]]}
    (wtree.folder / "q").write_text(lines([*GOOD, {"question": "When does the Zug leave?", "ids": [ids[2]]}, wrong]))
    done = wtree("eval", "{tmp}/q", "--json")
    assert done.code == 0
    figures = done.json
    assert (figures["questions"], figures["unanswerable"], figures["answered_falsely"]) == (4, 1, 0)
    assert figures["recall"] == {"1": 0.75, "5": 0.75, "10": 0.75, "20": 0.75}
    assert figures["reciprocal_rank"] == figures["ndcg_at_10"] == 0.75
    assert figures["missed"] == ["Which account is for the rent?"]
    assert figures["answered_right"] >= 0.5
    shown = wtree("eval", "{tmp}/q")
    assert "recall@10   75.0%" in shown.out and "not in the first 10: Which account" in shown.out
    assert wtree("checkpoint").out == head


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("not json", "not a JSON object"),
        ("[]", "not a JSON object"),
        ('{"question": ""}', "question"),
        ('{"question": 3, "ids": ["x"]}', "question"),
        ('{"question": "x"}', "answerable"),
        ('{"question": "x", "ids": "a"}', "list of texts"),
        ('{"question": "x", "ids": ["a"], "answerable": false}', "answerable"),
        ('{"question": "x", "answerable": "no"}', "true or false"),
        ('{"question": "x", "gold": ["a"]}', "no field 'gold'"),
    ],
)
def test_line_that_is_no_labelled_question_is_named(wtree: Wtree, line: str, says: str):
    """File, line and what is wrong, in one line; exit code 2."""
    assert wtree.here("add", NOTES[0]).code == 0
    (wtree.folder / "q").write_text(lines(GOOD[:1]) + line + "\n")
    done = wtree("eval", "{tmp}/q")
    assert done.code == 2 and done.out == "" and len(done.err.splitlines()) == 1
    assert "/q, line 2: " in done.err and says in done.err


def test_file_without_questions_is_refused(wtree: Wtree):
    """Empty, and one that is not there."""
    assert wtree.here("add", NOTES[0]).code == 0
    (wtree.folder / "q").write_text("\n")
    assert wtree("eval", "{tmp}/q").code == 2
    assert wtree("eval", "{tmp}/nothing").code == 2


def test_vectors_are_exchanged_and_the_old_embedder_is_refused_by_name(wtree: Wtree):
    """To words only and back; an unknown embedder is wrong input."""
    for note in NOTES:
        assert wtree.here("add", note).code == 0
    assert wtree("reindex").out == "0 vectors exchanged; all are of local-1 now\n"
    assert wtree("reindex", "--embedder", "none").out == "3 vectors exchanged; all are of no embedder now\n"
    assert wtree("search", "rent account").out
    done = wtree("reindex", "--json")
    assert (done.json["model"], done.json["rows"]) == ("local-1", 3)
    assert wtree("reindex", "--embedder", "nobody").code == 2
    assert wtree("audit").code == 0
