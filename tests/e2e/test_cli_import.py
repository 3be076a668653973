"""Importing: every form, twice, with bad lines, stopped half way, and what an export gives back."""

from __future__ import annotations

import json

import pytest

from tests.e2e.conftest import USER, Wtree
from witnesstree import Memory

CHAT = [
    {"role": "user", "content": "Wir treffen uns am Bahnhof.", "at": "2026-05-01T09:00:00+02:00", "session": "a"},
    {"role": "assistant", "content": "Noted: the station.", "at": "2026-05-01T09:00:05+02:00", "session": "a"},
    {"role": "user", "content": "line\u2028separator and \u0085 next line", "id": "m-3"},
]
LINES = "".join(json.dumps(message, ensure_ascii=False) + "\n" for message in CHAT)


@pytest.mark.parametrize(
    "data",
    [LINES, LINES.replace("\n", "\r\n"), "\ufeff" + LINES + "\n\n", json.dumps(CHAT), json.dumps(CHAT, indent=2)],
    ids=["lines", "crlf", "bom and blank lines", "array", "pretty array"],
)
def test_every_form_of_a_chat_is_taken_in_once(wtree: Wtree, data: str):
    """JSON lines and arrays, from a file and from standard input; the second time adds nothing."""
    (wtree.folder / "chat").write_text(data, encoding="utf-8", newline="")
    assert wtree("import", "{tmp}/chat").out == "3 added, 0 already there\n"
    assert wtree("import", "-", stdin=data).out == "0 added, 3 already there\n"
    assert [memo["text"] for memo in wtree("list", "--json").json["items"]] == [message["content"] for message in CHAT]


def test_bad_lines_are_named_and_good_ones_are_kept(wtree: Wtree):
    """File and line of each problem on standard error, exit code 2, and the rest is in memory."""
    bad = [b'{"content": "caf\xe9"}', b"not json", b"", b'{"role": "boss", "content": "x"}', b"[1]", b'{"content": ""}']
    good = [b'{"content": "first good"}', b'{"content": "second good"}']
    (wtree.folder / "chat").write_bytes(b"\n".join([good[0], *bad, good[1]]))
    done = wtree("import", "{tmp}/chat")
    assert (done.code, done.out) == (2, "2 added, 0 already there, 5 rejected\n")
    named = [line.removeprefix(f"{wtree.folder}/chat:").partition(":")[0] for line in done.err.splitlines()]
    assert sorted(named) == ["2", "3", "5", "6", "7"]
    again = wtree("import", "{tmp}/chat", "--json")
    assert (again.code, again.json["duplicate"]) == (2, 2)
    assert sorted((bad["line"], bad["field"]) for bad in again.json["rejected"]) == [
        (2, "line"),
        (3, "line"),
        (5, "role"),
        (6, "line"),
        (7, "content"),
    ]


def test_many_problems_are_cut_to_twenty_lines(wtree: Wtree):
    """Twenty lines, then a count."""
    done = wtree("import", "-", stdin="nonsense\n" * 33 + LINES)
    assert (done.code, done.out) == (2, "3 added, 0 already there, 33 rejected\n")
    lines = done.err.splitlines()
    assert lines[-1] == "... and 13 more"
    assert len(lines) == 21


def test_a_stopped_import_goes_on_where_it_stopped(wtree: Wtree):
    """What is in memory is not added again, wherever the first run ended."""
    lines = [json.dumps({"content": f"turn {n}", "id": f"m{n}"}) for n in range(1200)]
    with wtree.open() as memory:

        def stop(done: int) -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            memory.import_(lines, progress=stop)
    done = wtree("import", "-", stdin="\n".join(lines)).out
    assert done == "700 added, 500 already there\n"
    assert wtree("audit").code == 0


def test_several_files_are_checked_before_any_is_taken_in(wtree: Wtree):
    """A missing file stops the command before it has done anything."""
    (wtree.folder / "chat").write_text(LINES, encoding="utf-8")
    assert wtree("import", "{tmp}/chat", "{tmp}/missing").code == 2
    assert not wtree.store.exists()
    assert wtree("import", "{tmp}/chat", "-", stdin='{"content": "more"}').out == "4 added, 0 already there\n"


def test_an_empty_file_adds_nothing(wtree: Wtree):
    """No lines are no error."""
    assert wtree("import", "-", stdin="").out == "0 added, 0 already there\n"


def test_an_export_comes_back_with_its_history(filled: Wtree):
    """An export goes through a pipe into another store: every memory, every version, the authority that is ours."""
    assert filled("correct", "{rent}", "The rent is 900 euros\u2028since May.").code == 0
    exported = filled("export").out
    moved = filled("import", "-", "--store", "{tmp}/other.db", stdin=exported)
    assert (moved.code, moved.out) == (0, "4 added, 0 already there\n")
    found = filled("search", "rent", "--store", "{tmp}/other.db", "--json").json["hits"][0]
    assert (found["text"], found["version"], found["authority"]) == ("The rent is 900 euros\u2028since May.", 2, "authorized")
    again = filled("import", "-", "--store", "{tmp}/other.db", stdin=exported)
    assert again.out == "0 added, 4 already there\n"
    with Memory.open(str(filled.folder / "third.db"), user=USER) as memory:
        taken = memory.import_(exported)
    assert (taken.added, taken.rejected) == (4, ())


def test_imported_words_gain_no_authority(wtree: Wtree):
    """A file that says that the user said it is attested, not authorized."""
    assert wtree("import", "-", stdin=LINES).code == 0
    assert {memo["authority"] for memo in wtree("list", "--json").json["items"]} == {"attested", "unendorsed"}
