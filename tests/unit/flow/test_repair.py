"""Repair rebuilds what is derived and says what it can not; audit names each finding."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from tests.support.worlds import SqliteWorld, judge
from witnesstree import Memory


@pytest.fixture
def world(tmp_path: Path) -> SqliteWorld:
    """A filled store."""
    return SqliteWorld(tmp_path / "data")


def edit(path: Path, *statements: str) -> None:
    """Edit the file as an attacker."""
    connection = apsw.Connection(str(path))
    for statement in statements:
        connection.execute(statement)
    connection.close()


DERIVED = {
    "planted trigger": ["CREATE TRIGGER t AFTER INSERT ON log BEGIN DELETE FROM memory; END"],
    "planted table and index": ["CREATE TABLE evil (x)", "CREATE INDEX evil_index ON memory (seal)"],
    "planted view": ["CREATE VIEW v AS SELECT * FROM memory"],
    "index dropped": ["DROP INDEX memory_owner"],
    "index that omits a row": [
        "DROP INDEX memory_owner",
        "CREATE INDEX memory_owner ON memory (owner) WHERE seq != 4",
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_schema SET sql = 'CREATE INDEX memory_owner ON memory (owner)' WHERE name = 'memory_owner'",
    ],
    "leaves gone": ["DELETE FROM leaf"],
    "nodes gone": ["DELETE FROM node"],
    "a row planted behind the log": ["INSERT INTO memory SELECT 1000, owner, content, seal, vector FROM memory WHERE seq = 4"],
    "a row planted at the next place": [
        "INSERT INTO memory SELECT (SELECT max(seq) + 1 FROM log), owner, x'00', seal, vector FROM memory LIMIT 1"
    ],
    "rows planted at a commit's and an erased row's place": [
        "INSERT INTO memory SELECT 3, owner, content, seal, vector FROM memory WHERE seq = 4",
        "INSERT INTO memory SELECT 11, owner, content, seal, vector FROM memory WHERE seq = 4",
    ],
    "a leaf altered": ["UPDATE leaf SET leaf = zeroblob(97)"],
}


@pytest.mark.parametrize("name", DERIVED)
def test_repair_rebuilds_what_is_derived(world: SqliteWorld, name: str) -> None:
    """Afterwards every answer is the clean one and the audit is content."""
    edit(world.path, *DERIVED[name])
    with Memory.open(str(world.path), examine=True) as memory:
        assert not memory.audit().ok
        assert memory.repair() == ()
        verdict = judge(memory, world.clean, world.ids)
        assert verdict.held, verdict.lies
        assert not verdict.refused
        memory.add("Life goes on.", user="ana")
        assert memory.audit().ok


LOST = {
    "content altered": (["UPDATE memory SET content = CAST(replace(content,'DE89','XX00') AS BLOB) WHERE seq = 4"], "row 4"),
    "row removed": (["DELETE FROM memory WHERE seq = 5"], "row 5"),
    "log entry altered": (["UPDATE log SET entry = zeroblob(178) WHERE seq = 4"], "entry 4"),
    "log entry removed": (["DELETE FROM log WHERE seq = 6"], "entry 6"),
}


@pytest.mark.parametrize("name", LOST)
def test_repair_of_lost_content_says_what_needs_a_backup(world: SqliteWorld, name: str) -> None:
    """Nothing is made up, and nothing is changed."""
    statements, where = LOST[name]
    edit(world.path, *statements)
    with Memory.open(str(world.path), examine=True) as memory:
        problems = memory.repair()
        assert where in [problem.where for problem in problems]
        assert any("backup" in problem.message for problem in problems)
        assert memory.audit().problems == problems


def test_row_that_was_erased_and_put_back_serves_nobody_and_is_swept_away(world: SqliteWorld) -> None:
    """An attacker who kept the erased bytes puts them back: no read shows them, audit names them, repair removes them."""
    world.reset()
    with Memory.open(str(world.path), user="ana") as memory:
        made = memory.add("secret line xyzzy to erase").episodes[0]
    connection = apsw.Connection(str(world.path))
    kept = connection.execute("SELECT * FROM memory ORDER BY seq DESC LIMIT 1").fetchall()[0]
    connection.close()
    with Memory.open(str(world.path), user="ana") as memory:
        memory.forget(made)
    connection = apsw.Connection(str(world.path))
    connection.execute("INSERT INTO memory VALUES (?, ?, ?, ?, ?)", kept)
    connection.close()
    with Memory.open(str(world.path), user="ana") as memory:
        assert not memory.search("xyzzy secret").hits
        assert [p.reason for p in memory.audit().problems if p.where == f"row {kept[0]}"] == ["row_resurrected"]
        assert memory.repair() == ()
        assert b"xyzzy" not in b"".join(p.read_bytes() for p in world.path.parent.glob("agent.db*"))
