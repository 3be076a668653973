"""How every connection to a SQLite store is set up: nothing planted can run, nothing is mapped, waits end."""

from __future__ import annotations

import apsw


def harden(connection: apsw.Connection, *, writable: bool, timeout_s: float) -> None:
    """Switch off all that a planted schema could use, and look into the file; a connection that can't do this is closed."""
    try:
        _set_options(connection, writable=writable, timeout_s=timeout_s)
    except BaseException:
        connection.close()  # or its side files stay beside a file that was refused
        raise


def _set_options(connection: apsw.Connection, *, writable: bool, timeout_s: float) -> None:
    for option, value in (
        (apsw.SQLITE_DBCONFIG_DEFENSIVE, 1),
        (apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0),
        (apsw.SQLITE_DBCONFIG_ENABLE_VIEW, 0),
        (apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0),
        (apsw.SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0),
        (apsw.SQLITE_DBCONFIG_DQS_DML, 0),
        (apsw.SQLITE_DBCONFIG_DQS_DDL, 0),
    ):
        connection.config(option, value)
    connection.limit(apsw.SQLITE_LIMIT_ATTACHED, 0)
    connection.set_busy_timeout(int(timeout_s * 1000))
    connection.execute("PRAGMA mmap_size = 0")
    connection.execute("PRAGMA temp_store = MEMORY")
    connection.execute("PRAGMA cell_size_check = ON")
    if writable:
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA secure_delete = ON")
    else:
        connection.execute("PRAGMA query_only = ON")
    connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()


def begin(connection: apsw.Connection, statement: str) -> None:
    """Begin a transaction, after ending one that an interrupt may have left open."""
    if connection.in_transaction:
        connection.execute("ROLLBACK")
    connection.execute(statement)
