"""The attacker in a SQL store: given where a tool keeps its entries, every raw verb is plain SQL."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from witnesstree_conformance.dump import SIDECARS, sqlite_files
from witnesstree_conformance.protocol import NotApplicable, Place, Raw

Row = dict[str, Any]


@dataclass(frozen=True)
class Part:
    """Another table that holds a part of every entry: an index of words, evidence, writes.

    ``link`` is the column with the entry's key, ``words`` the columns that repeat the words, ``owner`` the one that repeats
    the owner,
    ``key`` a column that must be fresh in a copy. ``is_index`` says that reads find entries by it.
    """

    table: str
    link: str
    words: tuple[str, ...] = ()
    owner: str = ""
    key: str = ""
    is_index: bool = False


@dataclass(frozen=True)
class Layout:
    """Where a tool keeps its entries. A field is ``column``, or ``column/key/key`` inside a column that holds JSON.

    Attributes:
        table: the main table.
        key: the column that identifies a row. A copy gets a fresh value.
        order: what sorts rows oldest first; SQL.
        owner: the field with the owner, or several joined by ``,`` that all say it.
        words: the columns that hold the words.
        content: the columns that make up an entry's content, for swaps and replays; by default ``words``.
        sort: the field that decides which entry is the newest; raised in a forged row. Empty: the key does.
        time, author, trust: fields of that meaning, with the value that an attacker sets.
        status: field and value that hide an entry.
        vector: the column with the vector.
        log: the table of the log, its order, and the column an edit changes.
        parts: tables that follow the main one.
    """

    table: str
    key: str
    order: str
    owner: str
    words: tuple[str, ...]
    content: tuple[str, ...] = ()
    sort: str = ""
    time: str = ""
    author: tuple[str, Any] | None = None
    trust: tuple[str, Any] | None = None
    status: tuple[str, Any] | None = None
    vector: str = ""
    log: tuple[str, str, str] | None = None
    log_link: str = ""
    parts: tuple[Part, ...] = ()


def quoted(name: str) -> str:
    """Return an identifier for SQL."""
    return '"' + name.replace('"', '""') + '"'


def rows_of(cursor: Any) -> list[Row]:
    """Return what a query found as dictionaries."""
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def replace_in(value: Any, old: str, new: str) -> Any:
    """Replace words in text or bytes.

    Raises:
        ValueError: they are not in it.
    """
    wanted, other = (old, new) if isinstance(value, str) else (old.encode(), new.encode())
    if value is None or wanted not in value:
        raise ValueError(f"the row does not hold {old!r}")
    return value.replace(wanted, other)


class SqlRaw(Raw):
    """Raw verbs by SQL. A subclass gives ``layout`` and a connection; it overrides what its tool does otherwise."""

    layout: Layout
    placeholder = "?"

    def __init__(self, place: Place, tier: str, connection: Any) -> None:
        """Take an open connection in autocommit mode."""
        super().__init__(place, tier)
        self.connection = connection

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()

    # --- SQL -----------------------------------------------------------------------------------------------------------------
    def run(self, sql: str, values: Sequence[Any] = ()) -> int:
        """Run an edit and record it; return the number of rows it touched."""
        cursor = self.connection.execute(sql.replace("?", self.placeholder), tuple(values))
        self.note(f"{sql} {_shown(values)}" if values else sql)
        return int(cursor.rowcount)

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        """Return rows as dictionaries."""
        return rows_of(self.connection.execute(sql.replace("?", self.placeholder), tuple(values)))

    def row(self, slot: str, table: str = "", key: str = "") -> Row:
        """Return the row of a slot."""
        table, key = table or self.layout.table, key or self.layout.key
        found = self.rows(f"SELECT * FROM {quoted(table)} WHERE {quoted(key)} = ?", (self.key_value(slot),))
        if len(found) != 1:
            raise ValueError(f"{len(found)} rows of {table} have {key} = {slot}")
        return found[0]

    def update(self, slot: str, changes: Row, table: str = "", key: str = "") -> None:
        """Set columns of the row of a slot."""
        table, key = table or self.layout.table, key or self.layout.key
        assignments = ", ".join(f"{quoted(name)} = ?" for name in changes)
        touched = self.run(
            f"UPDATE {quoted(table)} SET {assignments} WHERE {quoted(key)} = ?", (*changes.values(), self.key_value(slot))
        )
        if touched < 1:
            raise ValueError(f"no row of {table} has {key} = {slot}")

    def insert(self, row: Row, table: str = "") -> None:
        """Insert a row."""
        table = table or self.layout.table
        names = ", ".join(quoted(name) for name in row)
        marks = ", ".join("?" for _ in row)
        self.run(f"INSERT INTO {quoted(table)} ({names}) VALUES ({marks})", list(row.values()))

    def delete(self, slot: str, table: str = "", key: str = "") -> None:
        """Delete the rows of a slot."""
        table, key = table or self.layout.table, key or self.layout.key
        self.run(f"DELETE FROM {quoted(table)} WHERE {quoted(key)} = ?", (self.key_value(slot),))

    def key_value(self, slot: str) -> Any:
        """Return a slot as the database keeps it. Whole numbers are numbers."""
        return int(slot) if re.fullmatch(r"-?\d+", slot) else slot

    # --- fields inside columns -------------------------------------------------------------------------------------------------
    def decode(self, column: str, value: Any) -> Any:
        """Decode a column that holds a structure; JSON by default."""
        return json.loads(value)

    def encode(self, column: str, structure: Any, like: Any) -> Any:
        """Encode a structure as the column holds it."""
        compact = b'": ' not in (like if isinstance(like, bytes) else like.encode())
        text = json.dumps(structure, ensure_ascii="\\u" in str(like), separators=(",", ":") if compact else None)
        return text.encode() if isinstance(like, bytes) else text

    def field(self, row: Row, field: str) -> Any:
        """Return the value of a field."""
        column, *path = field.split("/")
        value = row[column]
        if path:
            value = self.decode(column, value)
            for key in path:
                value = value[int(key) if isinstance(value, list) else key]
        return value

    def with_field(self, row: Row, field: str, value: Any) -> Row:
        """Return the columns that change when a field gets a value."""
        column, *path = field.split("/")
        if not path:
            return {column: value}
        structure = self.decode(column, row[column])
        inner = structure
        for key in path[:-1]:
            inner = inner[int(key) if isinstance(inner, list) else key]
        inner[int(path[-1]) if isinstance(inner, list) else path[-1]] = value
        return {column: self.encode(column, structure, row[column])}

    def structure(self, column: str, value: Any) -> Any:
        """Return what a value holds if it is a structure, or ``None``: text or bytes of JSON by default."""
        if not isinstance(value, str | bytes) or value.lstrip()[:1] not in ("{", "[", b"{", b"["):
            return None
        try:
            return self.decode(column, value)
        except ValueError:
            return None

    def leaves(self, column: str, value: Any) -> list[str]:
        """Return the paths of what is inside a value; nothing if it is no structure."""
        structure = self.structure(column, value)
        return [] if structure is None else json_leaves(structure)

    def flipped_value(self, column: str, value: Any, path: Sequence[str]) -> Any:
        """Return another value, or the same with another leaf."""
        if not path:
            return flipped(value)
        structure = self.decode(column, value)
        inner = structure
        for key in path[:-1]:
            inner = inner[int(key) if isinstance(inner, list) else key]
        last: Any = int(path[-1]) if isinstance(inner, list) else path[-1]
        inner[last] = flipped(inner[last])
        return self.encode(column, structure, value)

    def refreshed(self, row: Row) -> Row:
        """Compute anew what needs no key, such as a plain hash beside the words; return the row. None by default."""
        return row

    # --- raw verbs ------------------------------------------------------------------------------------------
    def owner_fields(self) -> list[str]:
        """Return the fields that say whose an entry is."""
        return self.layout.owner.split(",")

    def owned_by(self, owner: str) -> Any:
        """Return an owner as the owner field holds it."""
        return owner

    def entries(self, owner: str) -> list[str]:
        """Return the keys of an owner's rows, oldest first."""
        layout = self.layout
        found = self.rows(f"SELECT * FROM {quoted(layout.table)} ORDER BY {layout.order}")
        field = self.owner_fields()[0]
        return [str(row[layout.key]) for row in found if self.field(row, field) == self.owned_by(owner)]

    def change_text(self, slot: str, old: str, new: str, *, weak: bool = False) -> None:
        """Replace words in the main row, and in parts."""
        row = self.row(slot)
        changed = dict(row)
        for column in self.layout.words:
            changed[column] = replace_in(row[column], old, new)
        if not weak:
            changed = self.refreshed(changed)
        self.update(slot, {name: value for name, value in changed.items() if value != row[name]})
        if not weak:
            for part in self.layout.parts:
                self._change_part(part, slot, old, new)

    def _change_part(self, part: Part, slot: str, old: str, new: str) -> None:
        for row in self.rows(f"SELECT * FROM {quoted(part.table)} WHERE {quoted(part.link)} = ?", (self.key_value(slot),)):
            changes = {column: replace_in(row[column], old, new) for column in part.words if _holds(row[column], old)}
            if changes:
                self.update(slot, changes, part.table, part.link)

    def remove(self, slots: Sequence[str], *, weak: bool = False) -> None:
        """Delete rows, and their parts."""
        for slot in slots:
            self.delete(slot)
            if not weak:
                for part in self.layout.parts:
                    self.delete(slot, part.table, part.link)

    def _content(self) -> tuple[str, ...]:
        return self.layout.content or self.layout.words

    def swap(self, first: str, second: str) -> None:
        """Exchange the content of two rows, and what parts say of it."""
        a, b = self.row(first), self.row(second)
        self.update(first, self.refreshed(a | {name: b[name] for name in self._content()}))
        self.update(second, self.refreshed(b | {name: a[name] for name in self._content()}))
        for part in self.layout.parts:
            self._copy_part(part, first, second, both=True)

    def copy_over(self, source: str, target: str) -> None:
        """Put the content of one row into another."""
        a, b = self.row(source), self.row(target)
        self.update(target, self.refreshed(b | {name: a[name] for name in self._content()}))
        for part in self.layout.parts:
            self._copy_part(part, source, target, both=False)

    def _copy_part(self, part: Part, source: str, target: str, *, both: bool) -> None:
        if not part.words:
            return
        find = f"SELECT * FROM {quoted(part.table)} WHERE {quoted(part.link)} = ?"
        a, b = self.rows(find, (self.key_value(source),)), self.rows(find, (self.key_value(target),))
        if a and b:
            self.update(target, {name: a[0][name] for name in part.words}, part.table, part.link)
            if both:
                self.update(source, {name: b[0][name] for name in part.words}, part.table, part.link)

    def fresh_key(self, slot: str, row: Row) -> Any:
        """Return a key that is not in use and sorts last."""
        key = row[self.layout.key]
        if isinstance(key, int):
            newest = self.rows(f"SELECT max({quoted(self.layout.key)}) AS newest FROM {quoted(self.layout.table)}")
            return int(newest[0]["newest"]) + 1
        return "ffff" + str(key)[4:]

    def as_newest(self, row: Row) -> Row:
        """Return a copy of a row that sorts after all others."""
        changed = row | {self.layout.key: self.fresh_key(str(row[self.layout.key]), row)}
        if self.layout.sort:
            newest = self.row(self._newest())
            changed |= self.with_field(changed, self.layout.sort, later(self.field(newest, self.layout.sort)))
        return changed

    def _newest(self) -> str:
        found = self.rows(
            f"SELECT {quoted(self.layout.key)} AS slot FROM {quoted(self.layout.table)} ORDER BY {self.layout.order}"
        )
        return str(found[-1]["slot"])

    def forge(self, like: str, old: str, new: str, *, weak: bool = False) -> None:
        """Insert a copy of a row with other words, and of its parts."""
        row = self.as_newest(self.row(like))
        for column in self.layout.words:
            row[column] = replace_in(row[column], old, new)
        self._insert_with_parts(like, self.refreshed(row), old, new, weak=weak)

    def duplicate(self, slot: str) -> None:
        """Insert a copy of a row under a fresh key, and of its parts."""
        self._insert_with_parts(slot, self.refreshed(self.as_newest(self.row(slot))))

    def _insert_with_parts(self, like: str, row: Row, old: str = "", new: str = "", *, weak: bool = False) -> None:
        self.insert(row)
        for part in () if weak else self.layout.parts:
            find = f"SELECT * FROM {quoted(part.table)} WHERE {quoted(part.link)} = ?"
            for copied in self.rows(find, (self.key_value(like),)):
                changed = copied | {part.link: row[self.layout.key]}
                if part.key:
                    key = copied[part.key]
                    changed[part.key] = (key + 100_000) if isinstance(key, int) else "ffff" + str(key)[4:]
                for column in part.words if old else ():
                    if _holds(copied[column], old):
                        changed[column] = replace_in(copied[column], old, new)
                self.insert(changed, part.table)

    def reinsert(self, slot: str) -> None:
        """Delete a row and insert the same values."""
        row = self.row(slot)
        self.delete(slot)
        self.insert(row)

    def move(self, slot: str, owner: str) -> None:
        """Set the owner of a row and of its parts."""
        for field in self.owner_fields():
            row = self.row(slot)
            self.update(slot, self.refreshed(row | self.with_field(row, field, self.owned_by(owner))))
        for part in self.layout.parts:
            if part.owner:
                self.update(slot, {part.owner: self.owned_by(owner)}, part.table, part.link)

    def set_field(self, slot: str, field: str, value: Any) -> None:
        """Set one field of a row."""
        row = self.row(slot)
        self.update(slot, self.refreshed(row | self.with_field(row, field, value)))

    def set_time(self, slot: str) -> None:
        """Set the time to a later one."""
        if not self.layout.time:
            raise NotApplicable("the store keeps no time")
        self.set_field(slot, self.layout.time, later(self.field(self.row(slot), self.layout.time)))

    def set_author(self, slot: str) -> None:
        """Set the author."""
        self._set(slot, self.layout.author, "the store keeps no author")

    def set_trust(self, slot: str) -> None:
        """Set the trust."""
        self._set(slot, self.layout.trust, "the store keeps no trust")

    def hide(self, slot: str) -> None:
        """Set the status."""
        self._set(slot, self.layout.status, "the store has no status")

    def _set(self, slot: str, setting: tuple[str, Any] | None, reason: str) -> None:
        if setting is None:
            raise NotApplicable(reason)
        self.set_field(slot, *setting)

    def _index_part(self) -> Part:
        for part in self.layout.parts:
            if part.is_index:
                return part
        raise NotApplicable("the store has no index of its own")

    def unindex(self, slot: str) -> None:
        """Delete an entry from the index table."""
        part = self._index_part()
        self.delete(slot, part.table, part.link)

    def change_index(self, slot: str, old: str, new: str) -> None:
        """Change the words in the index table."""
        self._change_part(self._index_part(), slot, old, new)

    def change_vector(self, slot: str) -> None:
        """Reverse the bytes' order of meaning:

        the vector of the last entry takes its place, negated where it is bytes of floats.
        """
        self._needs_vector()
        self.update(slot, {self.layout.vector: self.altered_vector(self.row(slot)[self.layout.vector])})

    def altered_vector(self, vector: Any) -> Any:
        """Return another vector of the same length: by default every number with its sign turned."""
        import struct

        if isinstance(vector, bytes):
            count = len(vector) // 4
            return struct.pack(f"<{count}f", *(-number for number in struct.unpack(f"<{count}f", vector[: 4 * count])))
        return json.dumps([-number for number in json.loads(vector)])

    def swap_vectors(self, first: str, second: str) -> None:
        """Exchange two vectors."""
        self._needs_vector()
        a, b = self.row(first), self.row(second)
        self.update(first, {self.layout.vector: b[self.layout.vector]})
        self.update(second, {self.layout.vector: a[self.layout.vector]})

    def _needs_vector(self) -> None:
        if not self.layout.vector:
            raise NotApplicable("the store has no vectors")

    def _log(self) -> tuple[str, str, str]:
        if self.layout.log is None:
            raise NotApplicable("the store has no log")
        return self.layout.log

    def edit_log(self) -> None:
        """Change one value of the newest log entry."""
        table, order, column = self._log()
        newest = f"(SELECT rowid FROM {quoted(table)} ORDER BY {order} DESC LIMIT 1)"
        value = self.rows(f"SELECT {quoted(column)} AS value FROM {quoted(table)} WHERE rowid = {newest}")[0]["value"]
        self.run(f"UPDATE {quoted(table)} SET {quoted(column)} = ? WHERE rowid = {newest}", (flipped(value),))

    def cut_log(self) -> None:
        """Delete the newest log entry."""
        table, order, _ = self._log()
        self.run(f"DELETE FROM {quoted(table)} WHERE rowid = (SELECT rowid FROM {quoted(table)} ORDER BY {order} DESC LIMIT 1)")

    def cut_log_and_rows(self, slots: Sequence[str]) -> None:
        """Delete rows and the log entries that name them."""
        table, _, _ = self._log()
        if not self.layout.log_link:
            raise NotApplicable("log entries name no row")
        self.remove(slots)
        for slot in slots:
            self.delete(slot, table, self.layout.log_link)

    def empty_log(self) -> None:
        """Delete all log entries."""
        self.run(f"DELETE FROM {quoted(self._log()[0])}")

    def spoil(self, slot: str) -> None:
        """Put bytes that decode as nothing into the content."""
        self.update(slot, {self._content()[0]: b"\xc3\x28\x00\xff\xfe"})


class SqliteRaw(SqlRaw):
    """Raw verbs in SQLite files."""

    spared: Sequence[Path] = ()
    """Files that this tier may not write."""

    def __init__(self, place: Place, tier: str, path: Path) -> None:
        """Open the file as any SQLite program would."""
        self.path = path
        super().__init__(place, tier, connect(path))

    def close(self) -> None:
        """Move the write-ahead log into the file, and close."""
        try:
            self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except sqlite3.Error as error:
            self.note(f"(no checkpoint: {error})")
        self.connection.close()

    # --- the sweep ------------------------------------------------------------------------------------------
    def swept_files(self) -> list[Path]:
        """Return the SQLite files whose fields are swept."""
        return [path for path in sqlite_files(self.place.store) if path not in self.spared]

    def fields(self) -> list[str]:
        """Return file:table.column of everything stored, with the leaves of columns that hold JSON."""
        found = []
        for path in self.swept_files():
            with closing(connect(path)) as connection:
                for table in _tables(connection):
                    found += [f"{path.name}:{table}.{leaf}" for leaf in self._leaves(connection, table)]
        return found

    def _leaves(self, connection: sqlite3.Connection, table: str) -> list[str]:
        cursor = connection.execute(f"SELECT * FROM {quoted(table)} LIMIT 1")
        names = [column[0] for column in cursor.description]
        if cursor.fetchone() is None:
            return []
        where, values = self._victim(connection, table)
        row = connection.execute(f"SELECT * FROM {quoted(table)} WHERE {where}", values).fetchone()
        leaves: list[str] = []
        for name, value in zip(names, row, strict=True):
            leaves += [f"{name}/{path}" for path in self.leaves(name, value)] or [name]
        return leaves

    def _victim(self, connection: sqlite3.Connection, table: str) -> tuple[str, tuple[Any, ...]]:
        """Return how to find the row whose fields are swept: the owner's fourth entry, or the last row of other tables."""
        if table == self.layout.table and any(self.path.samefile(path) for path in self.swept_files()[:]):
            slots = self.entries("alice")
            if len(slots) > 3:
                return f"{quoted(self.layout.key)} = ?", (self.key_value(slots[3]),)
        for part in self.layout.parts:
            if part.table == table:
                slot = self.entries("alice")[3]
                found = connection.execute(
                    f"SELECT 1 FROM {quoted(table)} WHERE {quoted(part.link)} = ?", (self.key_value(slot),)
                ).fetchone()
                if found:
                    return f"{quoted(part.link)} = ?", (self.key_value(slot),)
        order = _row_order(connection, table)
        columns = ", ".join(order)
        last = connection.execute(
            f"SELECT {columns} FROM {quoted(table)} ORDER BY {', '.join(f'{name} DESC' for name in order)} LIMIT 1"
        ).fetchone()
        return " AND ".join(f"{name} IS ?" for name in order), tuple(last)

    def flip(self, field: str) -> None:
        """Change one field of the row that the sweep aims at."""
        file, _, rest = field.partition(":")
        table, _, leaf = rest.rpartition(".") if "/" not in rest else _split_leaf(rest)
        path = next(path for path in self.swept_files() if path.name == file)
        connection = self.connection if path.samefile(self.path) else connect(path)
        where, values = self._victim(connection, table)
        column, *inner = leaf.split("/")
        value = connection.execute(f"SELECT {quoted(column)} FROM {quoted(table)} WHERE {where}", values).fetchone()[0]
        changed = self.flipped_value(column, value, inner)
        try:
            connection.execute(f"UPDATE {quoted(table)} SET {quoted(column)} = ? WHERE {where}", (changed, *values))
        except sqlite3.Error as error:
            raise NotApplicable(f"the database itself refuses another value here: {error}") from error
        self.note(
            f"UPDATE {file}: {table} SET {leaf} = {_shown([changed])} (was {_shown([value])}) WHERE {where} {_shown(values)}"
        )
        if connection is not self.connection:
            connection.close()

    # --- schema and files -----------------------------------------------------------------------------------
    def plant_trigger(self) -> None:
        """Plant a trigger that alters every new row."""
        table, column = quoted(self.layout.table), quoted(self.layout.words[0])
        self.run(
            f"CREATE TRIGGER planted AFTER INSERT ON {table} BEGIN UPDATE {table} SET {column} ="
            f" CAST(replace({column}, 'AAAA', 'EVIL') AS {self._affinity()}) WHERE rowid = new.rowid; END"
        )

    def _affinity(self) -> str:
        table, column = quoted(self.layout.table), quoted(self.layout.words[0])
        first = self.rows(f"SELECT typeof({column}) AS kind FROM {table} WHERE {column} IS NOT NULL LIMIT 1")
        return str(first[0]["kind"])

    def plant_view(self, old: str, new: str) -> None:
        """Rename the table and put a view in its place."""
        table, column = self.layout.table, self.layout.words[0]
        names = [row["name"] for row in self.rows(f"SELECT name FROM pragma_table_info('{table}')")]
        kind = self._affinity()
        shown = ", ".join(
            f"CAST(replace({quoted(name)}, '{old}', '{new}') AS {kind}) AS {quoted(name)}" if name == column else quoted(name)
            for name in names
        )
        self.run("PRAGMA legacy_alter_table = ON")
        self.run(f"ALTER TABLE {quoted(table)} RENAME TO {quoted(table + '_moved')}")
        self.run(f"CREATE VIEW {quoted(table)} AS SELECT {shown} FROM {quoted(table + '_moved')}")

    def index_column(self) -> str:
        """Return the column by which the tool looks rows up."""
        return self.owner_fields()[0].split("/")[0]

    def plant_index(self) -> None:
        """Make an empty partial index, then take its condition out of the schema: look-ups through it find nothing."""
        table, column = quoted(self.layout.table), quoted(self.index_column())
        genuine = [
            row["name"]
            for row in self.rows(
                "SELECT name FROM sqlite_schema WHERE type = 'index' AND tbl_name = ? AND sql IS NOT NULL", (self.layout.table,)
            )
        ]
        for name in genuine:
            self.run(f"DROP INDEX {quoted(name)}")
        honest = f"CREATE INDEX planted ON {table} ({column})"
        self.run(f"{honest} WHERE {column} IS NULL AND {column} IS NOT NULL")
        self.run("PRAGMA writable_schema = ON")
        self.run("UPDATE sqlite_schema SET sql = ? WHERE name = 'planted'", (honest,))
        self.run("PRAGMA writable_schema = RESET")

    def plant_journal(self, slot: str, old: str, new: str) -> None:
        """Leave beside the file a journal or write-ahead log that changes it when it is opened next."""
        with closing(sqlite3.connect(self.path)) as connection:
            is_wal = connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
        forged = self.place.root / "forged.db"
        self.close()
        _copy_database(self.path, forged)
        own, self.path = self.path, forged
        self.connection = connect(forged)
        try:
            if is_wal:
                self.connection.execute("PRAGMA wal_autocheckpoint = 0")
                self.connection.execute("PRAGMA journal_mode = WAL")
                self.change_text(slot, old, new)
                shutil.copy2(f"{forged}-wal", f"{own}-wal")
            else:
                self.change_text(slot, old, new)
                self.connection.execute("PRAGMA journal_mode = DELETE")
                self.connection.execute("PRAGMA synchronous = OFF")
                self.connection.execute("BEGIN")
                self.change_text(slot, new, old)
                shutil.copy2(f"{forged}-journal", f"{own}-journal")
                self.connection.execute("ROLLBACK")
            self.note(f"planted {own.name}{'-wal' if is_wal else '-journal'} that holds this change")
        finally:
            self.connection.close()
            self.path = own
            for suffix in ("", *SIDECARS):
                Path(f"{forged}{suffix}").unlink(missing_ok=True)


class RechainingRaw(SqliteRaw):
    """The attacker of a store that chains rows by hashes without a key: he computes them anew after every edit but a weak one."""

    must_chain = False

    def chain(self) -> None:
        """Compute the hashes anew."""
        raise NotImplementedError

    def run(self, sql: str, values: Sequence[Any] = ()) -> int:
        """Run an edit; the chain no longer fits."""
        self.must_chain = True
        return super().run(sql, values)

    def change_text(self, slot: str, old: str, new: str, *, weak: bool = False) -> None:
        """Replace words."""
        super().change_text(slot, old, new, weak=weak)
        if not weak:
            self.chain()
        self.must_chain = False

    def remove(self, slots: Sequence[str], *, weak: bool = False) -> None:
        """Delete entries."""
        super().remove(slots, weak=weak)
        self.must_chain = not weak

    def forge(self, like: str, old: str, new: str, *, weak: bool = False) -> None:
        """Insert an entry."""
        super().forge(like, old, new, weak=weak)
        self.must_chain = not weak

    def flip(self, field: str) -> None:
        """Change one field."""
        super().flip(field)
        self.must_chain = True

    def plant_view(self, old: str, new: str) -> None:
        """Plant a view; SQL can't compute the hashes of what it shows."""
        super().plant_view(old, new)
        self.must_chain = False

    def close(self) -> None:
        """Compute the hashes anew if they must be, then close."""
        if self.must_chain:
            self.chain()
        super().close()


def connect(path: Path) -> sqlite3.Connection:
    """Open a SQLite file with nothing enforced that would hinder an attacker; every statement commits by itself."""
    connection = sqlite3.connect(path, isolation_level=None, timeout=5)
    connection.execute("PRAGMA foreign_keys = OFF")
    connection.execute("PRAGMA ignore_check_constraints = ON")
    return connection


def _copy_database(path: Path, target: Path) -> None:
    for suffix in ("", *SIDECARS):
        Path(f"{target}{suffix}").unlink(missing_ok=True)
        if os.path.exists(f"{path}{suffix}"):
            shutil.copy2(f"{path}{suffix}", f"{target}{suffix}")


def _tables(connection: sqlite3.Connection) -> list[str]:
    found = connection.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'table' ORDER BY name").fetchall()
    return [name for name, sql in found if not (sql or "").lstrip().upper().startswith("CREATE VIRTUAL")]


def _row_order(connection: sqlite3.Connection, table: str) -> list[str]:
    try:
        connection.execute(f"SELECT rowid FROM {quoted(table)} LIMIT 1")
    except sqlite3.Error:
        columns = connection.execute(f"PRAGMA table_info({quoted(table)})").fetchall()
        return [quoted(column[1]) for column in columns if column[5]]
    return ["rowid"]


def _split_leaf(rest: str) -> tuple[str, str, str]:
    """Split table.column/path, where the path may hold dots."""
    head, slash, tail = rest.partition("/")
    table, _, column = head.rpartition(".")
    return table, ".", f"{column}{slash}{tail}"


def json_leaves(structure: Any, prefix: str = "") -> list[str]:
    """Return the paths of all scalars in a JSON structure, and of empty containers."""
    if isinstance(structure, dict) and structure:
        return [leaf for key, value in structure.items() for leaf in json_leaves(value, f"{prefix}{key}/")]
    if isinstance(structure, list) and structure:
        return (
            json_leaves(structure[0], f"{prefix}0/")
            if len(structure) > 8
            else [leaf for number, value in enumerate(structure) for leaf in json_leaves(value, f"{prefix}{number}/")]
        )
    return [prefix.rstrip("/")] if prefix else []


def flipped(value: Any) -> Any:
    """Return another value of the same type: one digit, letter, bit or truth value is different."""
    if value is None:
        return "planted"
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        return value + 0.25
    if isinstance(value, bytes):
        middle = len(value) // 2
        return value[:middle] + bytes([value[middle] ^ 1]) + value[middle + 1 :] if value else b"x"
    if isinstance(value, str):
        return _later_year(value) or _other_text(value)
    return ["planted"] if isinstance(value, list) else {"planted": 1}


_NEXT: Sequence[tuple[str, Callable[[str], str]]] = (
    (r"\d", lambda c: str((int(c) + 1) % 10)),
    (r"[a-e]", lambda c: chr(ord(c) + 1)),
    (r"\w", lambda c: "a" if c != "a" else "b"),
)


def _other_text(text: str) -> str:
    """Change one character in the middle: a digit if there is one, so that times and hashes stay well-formed."""
    for pattern, change in _NEXT:
        places = [match.start() for match in re.finditer(pattern, text)]
        if places:
            at = places[len(places) // 2]
            return text[:at] + change(text[at]) + text[at + 1 :]
    return text + "x"


def later(value: Any) -> Any:
    """Return a time, or whatever sorts entries, somewhat later than another."""
    if isinstance(value, int):
        return value + 1 if abs(value) < 1_000_000 else value + (86_400 if abs(value) < 10**11 else 86_400_000)
    if isinstance(value, float):
        return value + 86_400.0
    text = str(value)
    return _later_year(text) or flipped(text)


def _later_year(text: str) -> str:
    """Return a date or time four years later, which exists also for the last day of February; nothing for other text."""
    return f"{int(text[:4]) + 4}{text[4:]}" if re.match(r"\d{4}-\d\d-\d\d", text) else ""


def _holds(value: Any, words: str) -> bool:
    return value is not None and (words if isinstance(value, str) else words.encode()) in value


def _shown(values: Sequence[Any]) -> str:
    """Return values for a report, long ones cut."""

    def short(value: Any) -> str:
        text = f"x'{value.hex()}'" if isinstance(value, bytes) else repr(value)
        return text if len(text) <= 120 else f"{text[:80]}… ({len(text)} characters)"

    return "(" + ", ".join(short(value) for value in values) + ")"
