"""What stores in PostgreSQL have in common: a server of their own for each run, a database per place, copies by template."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any

from witnesstree_conformance import snapshots
from witnesstree_conformance.protocol import ZONES, NotApplicable, Place, Subject
from witnesstree_conformance.sql_raw import SqlRaw, quoted

ADMIN = "postgres"


def uri_of(place: Place, database: str) -> str:
    """Return the address of a database of the run's server."""
    return (place.root / "postgres.uri").read_text().replace("/postgres?", f"/{database}?")


def database_of(place: Place) -> str:
    """Return the name of a place's database."""
    return place.store_name.replace("-", "_")


def connect(place: Place, database: str) -> Any:
    """Connect with every statement committed by itself; JSON and times come as text."""
    import psycopg
    from psycopg.types.string import TextLoader

    connection = psycopg.connect(uri_of(place, database), autocommit=True)
    for kind in ("json", "jsonb", "timestamp", "timestamptz"):
        connection.adapters.register_loader(kind, TextLoader)
    return connection


class PostgresRaw(SqlRaw):
    """Raw verbs in a database, by its superuser."""

    placeholder = "%s"

    def __init__(self, place: Place, tier: str) -> None:
        """Connect; foreign keys and triggers do not hinder an attacker."""
        super().__init__(place, tier, connect(place, database_of(place)))
        self.connection.execute("SET session_replication_role = replica")

    def plant_trigger(self) -> None:
        """Plant a trigger that alters every new row."""
        table, column = quoted(self.layout.table), quoted(self.layout.words[0])
        kind = self.column_type()
        self.run(
            "CREATE FUNCTION planted() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
            f" NEW.{column} = replace(NEW.{column}::text, 'AAAA', 'EVIL')::{kind}; RETURN NEW; END $$"
        )
        self.run(f"CREATE TRIGGER planted BEFORE INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION planted()")

    def column_type(self) -> str:
        """Return the type of the column with the words."""
        asked = "SELECT data_type FROM information_schema.columns WHERE table_name = ? AND column_name = ?"
        return str(self.rows(asked, (self.layout.table, self.layout.words[0]))[0]["data_type"])

    def plant_view(self, old: str, new: str) -> None:
        """Rename the table and put a view in its place."""
        table, words, kind = self.layout.table, self.layout.words[0], self.column_type()
        asked = "SELECT column_name FROM information_schema.columns WHERE table_name = ? ORDER BY ordinal_position"
        names = [row["column_name"] for row in self.rows(asked, (table,))]
        shown = ", ".join(
            f"replace({quoted(name)}::text, '{old}', '{new}')::{kind} AS {quoted(name)}" if name == words else quoted(name)
            for name in names
        )
        self.run(f"ALTER TABLE {quoted(table)} RENAME TO {quoted(table + '_moved')}")
        self.run(f"CREATE VIEW {quoted(table)} AS SELECT {shown} FROM {quoted(table + '_moved')}")

    def plant_index(self) -> None:
        """Make an empty partial index, take its condition out of the catalogue, and let look-ups prefer it."""
        table, column = quoted(self.layout.table), quoted(self.owner_fields()[0].split("/")[0])
        genuine = "SELECT indexrelid::regclass::text AS name FROM pg_index WHERE indrelid = ?::regclass AND NOT indisprimary"
        for row in self.rows(genuine, (table,)):
            self.run(f"DROP INDEX {row['name']}")
        self.run(f"CREATE INDEX planted ON {table} ({column}) WHERE {column} IS NULL AND {column} IS NOT NULL")
        self.run("UPDATE pg_index SET indpred = NULL WHERE indexrelid = 'planted'::regclass")
        self.run(f"ALTER DATABASE {database_of(self.place)} SET enable_seqscan = off")

    def plant_journal(self, slot: str, old: str, new: str) -> None:
        """Say why not."""
        raise NotApplicable("the server keeps its journal by itself; whoever writes that can write the tables")

    # --- the sweep ------------------------------------------------------------------------------------------
    def fields(self) -> list[str]:
        """Return table.column of the main table and its parts, with the leaves of columns that hold structures."""
        slot = self.sweep_slot()
        found = []
        for table, key in self.swept():
            row = next(iter(self.rows(f"SELECT * FROM {quoted(table)} WHERE {quoted(key)} = ?", (self.key_value(slot),))), {})
            for name, value in row.items():
                found += [f"{table}.{name}/{leaf}".rstrip("/") for leaf in self.leaves(name, value) or [""]]
        return found

    def sweep_slot(self) -> str:
        """Return the entry whose fields are changed: neither the first nor the newest."""
        return self.entries("alice")[3]

    def swept(self) -> list[tuple[str, str]]:
        """Return the tables whose fields are changed, each with the column that holds the entry's key."""
        return [(self.layout.table, self.layout.key), *((part.table, part.link) for part in self.layout.parts)]

    def flip(self, field: str) -> None:
        """Change one field of the row that the sweep aims at."""
        import psycopg

        table, _, leaf = field.partition(".")
        column, *inner = leaf.split("/")
        key = dict(self.swept())[table]
        slot = self.sweep_slot()
        row = self.rows(f"SELECT * FROM {quoted(table)} WHERE {quoted(key)} = ?", (self.key_value(slot),))[0]
        try:
            self.update(slot, {column: self.flipped_value(column, row[column], inner)}, table, key)
        except psycopg.Error as error:
            raise NotApplicable(f"the database itself refuses another value here: {error}") from error


class PostgresStore(Subject):
    """A store in a database of a server that runs for as long as it is measured."""

    tiers = ("A",)

    @classmethod
    def start(cls, place: Place) -> None:
        """Start the server, outside of all zones: an attacker's files are the tables."""
        import pgserver

        server = pgserver.get_server(place.root / "postgres", cleanup_mode="delete")
        (place.root / "postgres.uri").write_text(server.get_uri(ADMIN))
        for name in (database_of(place), database_of(place.other())):
            cls.create(place, name)

    @classmethod
    def create(cls, place: Place, name: str) -> None:
        """Make an empty database."""
        cls.admin(place, f"CREATE DATABASE {name}")

    @classmethod
    def stop(cls, place: Place) -> None:
        """Stop the server."""
        import pgserver

        if (place.root / "postgres").exists():
            pgserver.get_server(place.root / "postgres").cleanup()

    @classmethod
    def admin(cls, place: Place, *statements: str) -> None:
        """Run statements that no database may be open for."""
        with closing(connect(place, ADMIN)) as connection:
            for statement in statements:
                connection.execute(statement)

    @classmethod
    def copy(cls, place: Place, source: str, target: str) -> None:
        """Make a database a copy of another."""
        ended = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{source}'"
        cls.admin(place, f"DROP DATABASE IF EXISTS {target} WITH (FORCE)", ended, f"CREATE DATABASE {target} TEMPLATE {source}")

    def save(self, place: Place, name: str) -> None:
        """Keep a copy of the database too."""
        super().save(place, name)
        self.copy(place, database_of(place), f"kept_{name}")

    def restore(self, place: Place, name: str, zones: Sequence[str] = ZONES, *, main_only: bool = False) -> None:
        """Put the database back too."""
        super().restore(place, name, zones, main_only=main_only)
        if "store" in zones:
            self.copy(place, f"kept_{name}", database_of(place))

    def save_foreign(self, place: Place) -> None:
        """Keep the other database."""
        snapshots.save_foreign(place)
        self.copy(place, database_of(place.other()), "kept_foreign")
        self.admin(place, f"DROP DATABASE {database_of(place.other())} WITH (FORCE)")

    def destroy(self, place: Place, zones: Sequence[str], *, main_only: bool = False) -> None:
        """Drop the database; a new one is in its place."""
        super().destroy(place, zones, main_only=main_only)
        if "store" in zones:
            name = database_of(place)
            self.admin(place, f"DROP DATABASE {name} WITH (FORCE)")
            self.create(place, name)

    def size(self, place: Place) -> int:
        """Return how many bytes the database takes."""
        with closing(connect(place, ADMIN)) as connection:
            return int(connection.execute("SELECT pg_database_size(%s)", (database_of(place),)).fetchone()[0])

    def dump(self, place: Place) -> dict[str, str]:
        """Return what is in the database, row by row, with its tables, views, indexes and triggers."""
        with closing(connect(place, database_of(place))) as connection:
            return super().dump(place) | dict(_stored(connection))


def _stored(connection: Any) -> Iterator[tuple[str, str]]:
    schema = (
        "SELECT relname::text, relkind::text FROM pg_class WHERE relnamespace = 'public'::regnamespace"
        " UNION ALL SELECT tgname::text, 'trigger' FROM pg_trigger WHERE NOT tgisinternal"
    )
    for name, kind in connection.execute(schema).fetchall():
        yield f"schema.{name}", kind
        if kind in {"r", "p"}:
            for (row,) in connection.execute(f"SELECT t::text FROM {quoted(name)} t ORDER BY 1").fetchall():
                digest = hashlib.sha256(row.encode()).hexdigest()[:16]
                yield f"{name}[{digest}]", digest
