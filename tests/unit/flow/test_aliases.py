"""Confirmed aliases in search and answers: the user's own, approved ones, and what must have no effect."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from witnesstree import Memory
from witnesstree.errors import InputError, IntegrityError

NOTES = ["Ana moved to Graz in May.", "Bo plays the cello.", "The rent goes to DE89.", "We had pears for lunch."]


@pytest.fixture(params=["sqlite", "ram"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Memory]:
    """Some notes about people."""
    with Memory.open("ram:" if request.param == "ram" else tmp_path / "a.db", user="mira") as opened:
        opened.add(NOTES)
        yield opened


def test_question_with_one_name_finds_what_has_the_other(memory: Memory) -> None:
    """Both ways, in search and in answers, until the alias is withdrawn."""
    assert memory.answer("Where did my sister move?").abstained
    made = memory.alias("my sister", "Ana")
    assert memory.search("my sister").hits
    assert NOTES[0] in [hit.text for hit in memory.search("Where did my sister move?").hits[:2]]
    assert memory.answer("Where did my sister move?").text == NOTES[0]
    memory.add("My sister likes lemon cake.")
    assert memory.answer("What cake does Ana like?").text == "My sister likes lemon cake."
    assert memory.alias("my sister", "Ana").what == "duplicate"
    memory.update(made.id, "my sister = Bo")
    assert memory.answer("What does my sister play?").text == NOTES[1]
    assert memory.answer("Where did my sister move?").abstained
    memory.retract(made.id)
    assert memory.answer("What does my sister play?").abstained


def test_alias_that_an_agent_proposes_waits_for_its_owner(memory: Memory) -> None:
    """T-L1: nothing that an agent writes turns a question before it is approved."""
    made = memory.alias("the landlord", "Ana", agent="planner")
    assert [item.text for item in memory.inbox().items] == ["the landlord = Ana"]
    assert memory.answer("Where did the landlord move?").abstained
    memory.approve(made.id)
    assert memory.answer("Where did the landlord move?").text == NOTES[0]


def test_agent_that_corrects_an_alias_takes_its_effect_away(tmp_path: Path) -> None:
    """T-L1: what the user said is no longer what stands there."""
    with Memory.open(tmp_path / "a.db", user="mira") as memory:
        memory.add(NOTES)
        made = memory.alias("my sister", "Ana")
    with Memory.open(tmp_path / "a.db", user="mira", agent="planner") as memory:
        memory.update(made.id, "my sister = Bo")
        assert memory.answer("What does my sister play?").abstained


def test_imported_and_spoken_lines_are_no_aliases(memory: Memory, tmp_path: Path) -> None:
    """T-L1: the form alone says nothing; a foreign export's alias has no effect, the own one's has."""
    memory.add("my sister = Ana")
    memory.import_([{"content": "my sister = Ana", "role": "user", "kind": "alias"}])
    assert memory.answer("Where did my sister move?").abstained
    with Memory.open(tmp_path / "other.db", user="mira") as other:
        other.alias("my boss", "Ana")
        exported = other.export()
    memory.import_("\n".join(exported.splitlines()[:-1]))
    assert "my boss = Ana" in [item.text for item in memory.list().items]
    assert memory.answer("Where did my boss move?").abstained


def test_own_export_brings_aliases_back(tmp_path: Path) -> None:
    """Into another store of the same home."""
    with Memory.open(tmp_path / "a.db", user="mira") as memory:
        memory.add(NOTES)
        memory.alias("my sister", "Ana")
        exported = memory.export()
    with Memory.open(tmp_path / "b.db", user="mira") as memory:
        memory.import_(exported)
        assert memory.answer("Where did my sister move?").text == NOTES[0]


def test_alias_of_another_user_changes_nothing(memory: Memory) -> None:
    """T-I1: names are each user's own."""
    memory.alias("my sister", "Ana", user="bob")
    assert memory.answer("Where did my sister move?").abstained


def test_altered_alias_is_refused_and_erased_one_is_gone(tmp_path: Path) -> None:
    """It is a memory like others: sealed, and gone with its words."""
    path = tmp_path / "data" / "a.db"
    path.parent.mkdir()
    with Memory.open(path, user="mira") as memory:
        memory.add(NOTES)
        made = memory.alias("my qxzvw", "Ana")
        with pytest.raises(InputError):
            memory.update(made.id, "no alias any more")
        connection = apsw.Connection(str(path))
        [(seq, content)] = connection.execute("SELECT seq, content FROM memory WHERE instr(content, 'qxzvw')")
        connection.execute("UPDATE memory SET content = ? WHERE seq = ?", (content.replace(b"qxzvw", b"qxzvx"), seq))
        connection.close()
        with pytest.raises(IntegrityError):
            memory.search("Where did my qxzvx move?")
    path.unlink()


def test_erased_alias_leaves_no_word(tmp_path: Path) -> None:
    """In no file of the store."""
    path = tmp_path / "data" / "a.db"
    path.parent.mkdir()
    with Memory.open(path, user="mira") as memory:
        memory.add(NOTES)
        memory.forget(memory.alias("my qxzvw", "Ana").id)
        assert memory.answer("Where did my qxzvw move?").abstained
    assert not [p for p in tmp_path.rglob("*") if p.is_file() and b"qxzvw" in p.read_bytes()]


def test_warm_start_knows_the_aliases(tmp_path: Path) -> None:
    """They are there after a view came from its cache."""
    path = tmp_path / "a.db"
    with Memory.open(path, user="mira", embedder="none") as memory:
        memory.alias("my sister", "Ana")
        memory.add([f"line {n} about pears" for n in range(3000)])
        memory.add(NOTES)
        memory.search("pears")
    assert list(tmp_path.rglob("*.view"))
    with Memory.open(path, user="mira", embedder="none") as memory:
        assert memory.answer("Where did my sister move?").text == NOTES[0]
