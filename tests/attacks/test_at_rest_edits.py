"""Every edit of a store's bytes is refused by plain reads or has no effect (T-T7, T-C1 to T-C9, T-D6; edits I1 to I7).

The sweep is generated from the file's own schema: a new column or table is attacked without anybody adding it here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest

from tests.support.worlds import SqliteWorld, judge
from witnesstree import Memory

Edit = Callable[[Path], None]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqliteWorld]:
    """One filled store for all edits of this module."""
    folder = tmp_path_factory.mktemp("world")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WITNESSTREE_HOME", str(folder / "home"))
        yield SqliteWorld(folder / "data")


@pytest.fixture(autouse=True)
def world_home(world: SqliteWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """Use the home that the world was made with."""
    monkeypatch.setenv("WITNESSTREE_HOME", str(world.path.parent.parent / "home"))


def sql(*statements: str, loose: bool = False) -> Edit:
    """Return an edit that runs statements as an attacker with the file in hand would; ``loose`` drops STRICT while it does."""

    def edit(path: Path) -> None:
        genuine = _loosen(path) if loose else {}
        connection = apsw.Connection(str(path))
        try:
            for statement in statements:
                connection.execute(statement)
            if genuine:
                connection.execute("PRAGMA writable_schema = ON")
            for name, text in genuine.items():
                connection.execute("UPDATE sqlite_schema SET sql = ? WHERE name = ?", (text, name))
        finally:
            connection.close()

    return edit


def _loosen(path: Path) -> dict[str, str]:
    """Take STRICT and NOT NULL out of the schema; return the genuine texts."""
    connection = apsw.Connection(str(path))
    try:
        genuine = dict(connection.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'table'").fetchall())
        connection.execute("PRAGMA writable_schema = ON")
        for name, text in genuine.items():
            loose = text.replace(" STRICT, WITHOUT", " WITHOUT").replace(" STRICT", "").replace(" NOT NULL", "")
            connection.execute("UPDATE sqlite_schema SET sql = ? WHERE name = ?", (loose, name))
        return genuine
    finally:
        connection.close()


def columns() -> list[tuple[str, str]]:
    """Return every (table, column) of the schema that the product creates."""
    from witnesstree.stores import sqlite_schema

    connection = apsw.Connection(":memory:")
    sqlite_schema.create_schema(connection)
    tables = [row[0] for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    return [(table, row[1]) for table in tables for row in connection.execute(f"PRAGMA table_info({table})")]


BLOB_CHANGES = {
    "first byte flipped": "CAST(x'ff' || substr({c}, 2) AS BLOB)",
    "last byte flipped": "CAST(substr({c}, 1, length({c}) - 1) || x'5a' AS BLOB)",
    "middle byte flipped": "CAST(substr({c}, 1, length({c}) / 2) || x'a7' || substr({c}, length({c}) / 2 + 2) AS BLOB)",
    "cut short": "CAST(substr({c}, 1, length({c}) / 2) AS BLOB)",
    "made longer": "CAST({c} || x'00' AS BLOB)",
    "emptied": "x''",
    "zeroed": "zeroblob(length({c}))",
}


def column_edits() -> Iterator[tuple[str, Edit]]:
    """Yield an edit for every column of every table, in one row and in all rows, in every way a value can change."""
    for table, column in columns():
        if column in ("seq", "one"):
            for name, value in (("moved up", f"{column} + 100000"), ("negative", f"-{column} - 5")):
                yield f"{table}.{column} {name}", sql(f"UPDATE OR IGNORE {table} SET {column} = {value} WHERE {column} >= 4")
                yield (
                    f"{table}.{column} {name} all",
                    sql(f"PRAGMA ignore_check_constraints=ON; UPDATE OR IGNORE {table} SET {column} = {value}"),
                )
            continue
        key = next(name for t, name in columns() if t == table)
        some = f"WHERE {key} IN (SELECT {key} FROM {table} ORDER BY {key} DESC LIMIT 3)"
        for name, change in BLOB_CHANGES.items():
            value = change.format(c=column)
            yield f"{table}.{column} {name}", sql(f"UPDATE OR IGNORE {table} SET {column} = {value} {some}")
            yield f"{table}.{column} {name} in all rows", sql(f"UPDATE OR IGNORE {table} SET {column} = {value}")
        for name, value in (
            ("text", "CAST(hex({c}) AS TEXT)"),
            ("number", "7"),
            ("float", "1.5"),
            ("bad utf-8", "CAST({c} AS TEXT)"),
            ("null", "NULL"),
        ):
            yield (
                f"{table}.{column} as {name}",
                sql(f"UPDATE OR IGNORE {table} SET {column} = {value.format(c=column)} {some}", loose=True),
            )


@pytest.mark.parametrize(("name", "edit"), list(column_edits()), ids=lambda value: value if isinstance(value, str) else "")
@pytest.mark.parametrize("live", [False, True], ids=["reopened", "live"])
def test_changed_column_is_refused_or_without_effect(world: SqliteWorld, name: str, edit: Edit, live: bool) -> None:
    """T-C1, T-C8, T-D6: any stored field changed, in any way, also to another type (edit I1 and I7)."""
    verdict, _ = world.after(edit, live=live)
    assert verdict.held, verdict.lies


ROW = "(SELECT seq FROM memory ORDER BY seq LIMIT 1 OFFSET {n})"
STORE_EDITS: dict[str, Edit] = {
    "T-C2 last row removed": sql("DELETE FROM memory WHERE seq = (SELECT max(seq) FROM memory)"),
    "T-C2 log tail removed": sql("DELETE FROM log WHERE seq >= (SELECT max(seq) FROM log)"),
    "T-C2 rows and log tail removed": sql("DELETE FROM memory WHERE seq > 8", "DELETE FROM log WHERE seq > 8"),
    "T-C3 a middle row removed": sql(f"DELETE FROM memory WHERE seq = {ROW.format(n=5)}"),
    "T-C3 a middle row and its entry removed": sql(
        f"DELETE FROM log WHERE seq = {ROW.format(n=5)}", f"DELETE FROM memory WHERE seq = {ROW.format(n=5)}"
    ),
    "T-C3 all rows removed": sql("DELETE FROM memory"),
    "T-C4 two rows swapped": sql(
        "UPDATE memory SET seq = -1 WHERE seq = 4",
        "UPDATE memory SET seq = 4 WHERE seq = 6",
        "UPDATE memory SET seq = 6 WHERE seq = -1",
    ),
    "T-C4 contents of two rows swapped": sql(
        "CREATE TEMP TABLE t AS SELECT seq, content, seal FROM memory WHERE seq IN (4, 5)",
        "UPDATE memory SET content = (SELECT content FROM t WHERE t.seq = 9 - memory.seq),"
        " seal = (SELECT seal FROM t WHERE t.seq = 9 - memory.seq) WHERE seq IN (4, 5)",
    ),
    "T-C5 forged row at the end": sql(
        "INSERT INTO memory SELECT (SELECT max(seq) + 1 FROM log), owner, content, seal, vector FROM memory WHERE seq = 4"
    ),
    "T-C5 forged row at a free place": sql("INSERT INTO memory SELECT 3, owner, content, seal, vector FROM memory WHERE seq = 4"),
    "T-C5 forged row with changed words": sql(
        "INSERT INTO memory SELECT 1000000, owner, CAST(replace(content, 'DE89', 'XX00') AS BLOB), seal, vector"
        " FROM memory WHERE seq = 4"
    ),
    "T-C6 another owner's row moved here": sql(
        "UPDATE memory SET owner = (SELECT owner FROM memory WHERE seq = 4) WHERE seq = (SELECT max(seq)"
        " FROM memory m2 WHERE m2.owner != (SELECT owner FROM memory WHERE seq = 4) AND m2.seq < 30)"
    ),
    "T-C6 another owner's bytes in this row": sql(
        "UPDATE memory SET content = (SELECT content FROM memory WHERE owner != (SELECT owner FROM memory WHERE seq = 4)"
        " AND seq > 9 LIMIT 1) WHERE seq = 4"
    ),
    "T-C7 oldest bytes in the newest row": sql(
        "UPDATE memory SET content = (SELECT content FROM memory WHERE seq = 2), seal = (SELECT seal FROM memory WHERE seq = 2)"
        " WHERE seq = (SELECT max(seq) FROM memory)"
    ),
    "T-C7 the correction replaced by the first version": sql(
        "UPDATE memory SET content = (SELECT content FROM memory WHERE seq = 5), seal = (SELECT seal FROM memory WHERE seq = 5)"
        " WHERE seq = 13"
    ),
    "T-C8 owner column of one row blanked": sql("UPDATE memory SET owner = zeroblob(16) WHERE seq = 4"),
    "log emptied": sql("DELETE FROM log"),
    "log entries swapped": sql(
        "UPDATE log SET seq = -3 WHERE seq = 3", "UPDATE log SET seq = 3 WHERE seq = 4", "UPDATE log SET seq = 4 WHERE seq = -3"
    ),
    "head removed": sql("DELETE FROM head"),
    "leaves removed": sql("DELETE FROM leaf"),
    "nodes removed": sql("DELETE FROM node"),
    "leaves swapped": sql("UPDATE leaf SET leaf = (SELECT leaf FROM leaf l2 WHERE l2.owner != leaf.owner LIMIT 1)"),
    "everything emptied": sql("DELETE FROM memory", "DELETE FROM log", "DELETE FROM leaf", "DELETE FROM node"),
}


@pytest.mark.parametrize("name", STORE_EDITS)
@pytest.mark.parametrize("live", [False, True], ids=["reopened", "live"])
def test_edit_across_rows_is_refused_or_without_effect(world: SqliteWorld, name: str, live: bool) -> None:
    """T-T7: rows, log, head and owner map cut, moved, forged, replayed (edits I2, I3 and I5)."""
    verdict, reported = world.after(STORE_EDITS[name], live=live)
    assert verdict.held, verdict.lies
    assert verdict.refused or reported, "an edit that no read refuses is at least reported by an audit"


PLANTED: dict[str, Edit] = {
    "trigger that alters": sql(
        "CREATE TRIGGER t AFTER INSERT ON memory BEGIN UPDATE memory SET content = x'00' WHERE seq = 3; END"
    ),
    "trigger that deletes": sql("CREATE TRIGGER t AFTER INSERT ON log BEGIN DELETE FROM memory; END"),
    "view over rows": sql("ALTER TABLE memory RENAME TO hidden", "CREATE VIEW memory AS SELECT * FROM hidden WHERE seq != 4"),
    "extra table": sql("CREATE TABLE evil (x)"),
    "extra index": sql("CREATE INDEX evil ON memory (seal)"),
    "unique index on nothing": sql("CREATE UNIQUE INDEX evil ON memory (owner, seq)"),
    "index that omits a row": sql(
        "DROP INDEX memory_owner",
        "CREATE INDEX memory_owner ON memory (owner) WHERE seq != 4",
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_schema SET sql = 'CREATE INDEX memory_owner ON memory (owner)' WHERE name = 'memory_owner'",
    ),
    "index removed": sql("DROP INDEX memory_owner"),
    "statistics table": sql("ANALYZE"),
    "table without strict": sql(
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_schema SET sql = replace(sql, ' STRICT', '') WHERE name = 'memory'",
    ),
    "collation on a column": sql(
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_schema SET sql = replace(sql, 'owner BLOB NOT NULL', 'owner BLOB NOT NULL COLLATE NOCASE')"
        " WHERE name = 'memory'",
    ),
    "user version raised": sql("PRAGMA user_version = 99"),
    "application id changed": sql("PRAGMA application_id = 7"),
    "marked as a backup": sql("PRAGMA application_id = 1465143874"),
}


@pytest.mark.parametrize("name", PLANTED)
@pytest.mark.parametrize("live", [False, True], ids=["reopened", "live"])
def test_planted_schema_is_refused_and_never_runs(world: SqliteWorld, name: str, live: bool) -> None:
    """T-C10, row P-088: planted triggers, views, tables, indexes and headers (edits I4 and I7)."""
    from witnesstree.errors import Error

    world.reset()
    if live:
        with Memory.open(str(world.path)) as memory:
            memory.search("rent", user="ana")
            PLANTED[name](world.path)
            verdict = judge(memory, world.clean, world.ids)
            assert verdict.held, verdict.lies
    else:
        PLANTED[name](world.path)
        try:
            with Memory.open(str(world.path)) as memory:
                verdict = judge(memory, world.clean, world.ids)
                assert verdict.held, verdict.lies
        except Error:
            pass
