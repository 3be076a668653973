"""The tables of a SQLite store, the test that a file has exactly them, and migration between schema versions.

No table holds words or vectors in an index: what is searched is a view that the reading process verified.
"""

from __future__ import annotations

from typing import Final

import apsw

from witnesstree.errors import IndexTamperError, UnsupportedError

SCHEMA_VERSION: Final = 1
LIVE_ID: Final = 0x57545245
BACKUP_ID: Final = 0x57545242
MAGIC: Final = b"SQLite format 3\x00"

OBJECTS: Final[dict[str, tuple[str, str]]] = {
    "head": (
        "table",
        "CREATE TABLE head (one INTEGER PRIMARY KEY CHECK (one = 1), store_id BLOB NOT NULL, note BLOB NOT NULL,"
        " frontier BLOB NOT NULL) STRICT",
    ),
    "log": ("table", "CREATE TABLE log (seq INTEGER PRIMARY KEY, entry BLOB NOT NULL) STRICT"),
    "memory": (
        "table",
        "CREATE TABLE memory (seq INTEGER PRIMARY KEY, owner BLOB NOT NULL, content BLOB NOT NULL, seal BLOB NOT NULL,"
        " vector BLOB NOT NULL) STRICT",
    ),
    "memory_owner": ("index", "CREATE INDEX memory_owner ON memory (owner)"),
    "leaf": ("table", "CREATE TABLE leaf (owner BLOB PRIMARY KEY, leaf BLOB NOT NULL) STRICT, WITHOUT ROWID"),
    "node": ("table", "CREATE TABLE node (path BLOB PRIMARY KEY, node BLOB NOT NULL) STRICT, WITHOUT ROWID"),
}

_OBJECTS_FOUND: Final = "SELECT type, name, sql FROM sqlite_schema"
_AS_CREATED: Final = [(kind, name, sql) for name, (kind, sql) in OBJECTS.items()]

MIGRATIONS: dict[int, tuple[str, ...]] = {}
"""Schema version → statements that lead to the next version. The first published schema is version 1."""


def create_schema(connection: apsw.Connection, application_id: int = LIVE_ID) -> None:
    """Create every table and mark the file as ours."""
    connection.execute(f"PRAGMA application_id = {application_id}")
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    for _, sql in OBJECTS.values():
        connection.execute(sql)


def differences(connection: apsw.Connection) -> list[str]:
    """Return what the file's schema has that it should not, and the reverse (edit-I7: planted schema)."""
    found = [(str(kind), str(name), _plain(sql)) for kind, name, sql in connection.execute(_OBJECTS_FOUND)]
    wanted = [(kind, name, _plain(sql)) for name, (kind, sql) in OBJECTS.items()]
    planted, missing = list(found), []
    for thing in wanted:
        if thing in planted:
            planted.remove(thing)
        else:
            missing.append(thing)
    altered = {(kind, name) for kind, name, _ in missing} & {(kind, name) for kind, name, _ in planted}
    changed = [f"{kind} {name} was altered" for kind, name in altered]
    changed += [f"{kind} {name} was planted" for kind, name, _ in planted if (kind, name) not in altered]
    changed += [f"{kind} {name} is missing" for kind, name, _ in missing if (kind, name) not in altered]
    return sorted(changed)


def _plain(sql: object) -> str:
    return " ".join(str(sql).split())


def verify_schema(connection: apsw.Connection) -> None:
    """Check that the file has exactly our tables and indexes.

    Raises:
        IndexTamperError: it has others, or they read differently.
    """
    if connection.execute(_OBJECTS_FOUND).fetchall() == _AS_CREATED:
        return
    changed = differences(connection)
    if changed:
        raise IndexTamperError(
            f"the store's schema is not the one this program made: {changed[0]}; run 'wtree audit', then 'wtree repair'",
            reason="schema_altered",
        )


def drop_planted(connection: apsw.Connection) -> None:
    """Drop triggers, views, indexes and tables that are not ours (part of ``repair``)."""
    kinds = {"trigger": 0, "view": 1, "index": 2, "table": 3}
    rows = connection.execute("SELECT type, name, sql FROM sqlite_schema").fetchall()
    for kind, name, _ in sorted(rows, key=lambda row: kinds.get(str(row[0]), 9)):
        is_ours = str(name) in OBJECTS and OBJECTS[str(name)][0] == kind
        if not is_ours and not str(name).startswith("sqlite_"):
            quoted = str(name).replace('"', '""')
            connection.execute(f'DROP {str(kind).upper()} IF EXISTS "{quoted}"')


def migrate(connection: apsw.Connection) -> int:
    """Bring an older schema up to date in one transaction; return the version it had.

    Raises:
        UnsupportedError: there is no way from its version to ours.
    """
    version = int(connection.pragma("user_version"))
    if version == SCHEMA_VERSION:
        return version
    with connection:
        for step in range(version, SCHEMA_VERSION):
            if step not in MIGRATIONS:
                raise UnsupportedError(f"the store has schema version {version}, which this program can't upgrade")
            for statement in MIGRATIONS[step]:
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        verify_schema(connection)
    return version
