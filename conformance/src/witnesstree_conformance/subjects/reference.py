"""The reference: a store that refuses every edit in every tier, because another machine remembers what it holds.

It is small and slow, and no product. It shows that the suite can be passed, and its parts are what broken verifiers leave out
(``tests/broken.py``). Whoever holds the store, the client's state and its keys (tier E) still does not hold the witness.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import sqlite3
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from witnesstree_conformance.payload import Payload
from witnesstree_conformance.protocol import Entry, Item, Place
from witnesstree_conformance.sql_raw import Layout, Part, SqliteRaw
from witnesstree_conformance.subjects.sqlite_file import SqliteFile

SCHEMA = (
    "CREATE TABLE memory (id TEXT PRIMARY KEY, n INTEGER, owner TEXT, text TEXT, at INTEGER, author TEXT, trust TEXT,"
    " status TEXT, session TEXT, format INTEGER, note BLOB, vector BLOB, extra BLOB)",
    "CREATE TABLE word (entry TEXT, words TEXT)",
    "CREATE TABLE log (seq INTEGER PRIMARY KEY, entry TEXT, line TEXT)",
    "CREATE TABLE head (one INTEGER PRIMARY KEY, size INTEGER, digest TEXT)",
)
COLUMNS = ("id", "n", "owner", "text", "at", "author", "trust", "status", "session", "format", "note", "vector", "extra")
SEALED = b"sealed:"
DIMENSIONS = 32
Row = dict[str, Any]
State = dict[str, Any]


class ReferenceError(Exception):
    """The store is not what the witness remembers."""


class ReferenceRaw(SqliteRaw):
    """Four tables."""

    layout = Layout(
        table="memory",
        key="id",
        order="n",
        owner="owner",
        words=("text",),
        content=("text", "at", "note", "vector"),
        sort="n",
        time="at",
        author=("author", "mallory"),
        trust=("trust", "high"),
        status=("status", "archived"),
        vector="vector",
        log=("log", "seq", "line"),
        log_link="entry",
        parts=(Part("word", "entry", words=("words",), is_index=True),),
    )

    def altered_vector(self, vector: bytes) -> bytes:
        """Turn the vector round."""
        return vector[::-1]

    def cut_log_and_head(self, slots: Sequence[str]) -> None:
        """Cut rows and log, and write the head that fits what is left."""
        self.cut_log_and_rows(slots)
        self.run("UPDATE head SET size = (SELECT count(*) FROM log), digest = ?", (log_digest(self.connection),))

    def empty_log(self) -> None:
        """Empty log and head."""
        self.run("DELETE FROM log")
        self.run("DELETE FROM head")

    def plaintext(self, slot: str, text: str) -> None:
        """Put plain words in the place of sealed ones."""
        self.update(slot, {"text": text, "note": text.encode()})

    def older_format(self, slot: str, text: str) -> None:
        """Put in a row of format 0."""
        self.update(slot, {"text": text, "note": b"", "format": 0})

    def swap_ciphertexts(self, first: str, second: str) -> None:
        """Exchange sealed notes."""
        a, b = self.row(first), self.row(second)
        self.update(first, {"note": b["note"]})
        self.update(second, {"note": a["note"]})

    def plant_code(self, slot: str, canary: Path, *, silent: bool) -> None:
        """Put a pickle in a column that holds JSON."""
        import pickle

        self.update(slot, {"extra": pickle.dumps(Payload(canary, {} if silent else None))})


class Reference(SqliteFile):
    """Reads everything, compares it with the witness, serves what it compared."""

    title = "Reference store"
    kind = "reference"
    config = "a witness on another machine"
    refusals = ("ReferenceError",)
    audit_name = "verify()"
    tiers = ("A", "B", "C", "E")
    file = "memory.db"
    journals = ("-journal", "-wal")
    raw_access = ReferenceRaw

    @classmethod
    def version(cls) -> str:
        """Return the version."""
        return "1"

    # --- verbs -----------------------------------------------------------------------------------------------------------
    def open(self, place: Place) -> None:
        """Open the store that the witness knows, or make one where it knows none."""
        self.place = place
        self.path = self.database(place)
        key = place.keys / "key"
        if not key.exists():
            key.write_bytes(hashlib.sha256(b"a key of the reference store").digest())
        self.key = key.read_bytes()
        with self.locked():
            if not self.path.exists():
                if self.witness():
                    self.gone()
                    return
                self.make()
            self.connection = sqlite3.connect(self.path, timeout=20, isolation_level=None)

    def gone(self) -> None:
        """Say that the store is not where it was."""
        raise ReferenceError("the store is gone")

    def make(self) -> None:
        """Make the file and let the witness remember that it is empty."""
        with sqlite3.connect(self.path) as connection:
            for statement in SCHEMA:
                connection.execute(statement)
        self.connection = connection
        self.testify({"committed": self.state(), "pending": None})
        connection.close()

    def close(self) -> None:
        """Close the file."""
        self.connection.close()

    def remember(self, entry: Entry) -> str:
        """Check, insert, tell the witness what will be, commit, tell it that it is."""
        with self.locked():
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                self.before_write(entry.owner)
                id = self.insert(entry)
                will_be = self.state()
                known = self.witness()
                self.testify({"committed": known["committed"], "pending": will_be, "past": known.get("past", [])})
                self.connection.execute("COMMIT")
            except BaseException:
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
                raise
            self.testify({"committed": will_be, "pending": None, "past": [*known.get("past", []), known["committed"]][-9:]})
        return id

    def before_write(self, owner: str) -> None:
        """Refuse to write into what does not verify."""
        self.verified(owner)

    def insert(self, entry: Entry) -> str:
        """Insert the row, its words, its log entry; move the head."""
        n = int(self.connection.execute("SELECT coalesce(max(n), 0) + 1 FROM memory").fetchone()[0])
        id = hashlib.sha256(f"{entry.owner} {n} {entry.text}".encode()).hexdigest()[:12]
        row = (id, n, entry.owner, entry.text, entry.at, entry.channel, "low", "active", entry.session, 1)
        blobs = (self.sealed(f"note {n}"), vector_of(entry.text), b"{}")
        marks = ", ".join("?" for _ in COLUMNS)
        self.connection.execute(f"INSERT INTO memory VALUES ({marks})", (*row, *blobs))
        self.connection.execute("INSERT INTO word VALUES (?, ?)", (id, " ".join(words_of(entry.text))))
        self.connection.execute("INSERT INTO log (entry, line) VALUES (?, ?)", (id, f"remember {id} for {entry.owner}"))
        size = self.connection.execute("SELECT count(*) FROM log").fetchone()[0]
        self.connection.execute("INSERT OR REPLACE INTO head VALUES (1, ?, ?)", (size, log_digest(self.connection)))
        return id

    def recall(self, owner: str) -> Sequence[Item]:
        """Return the active rows of an owner."""
        return [self.item(row) for row in self.checked(owner) if row["status"] == "active"]

    def search(self, owner: str, query: str, k: int) -> Sequence[Item]:
        """Return rows that share a word with the query, by their vectors."""
        wanted, vector = set(words_of(query)), vector_of(query)
        found: list[tuple[int, int, Item]] = []
        for row in self.checked(owner):
            words = self.words(row["id"])
            if wanted & set(words.split()) and row["status"] == "active":
                score = sum(a * b for a, b in zip(vector, row["vector"], strict=False))
                found.append((-score, row["n"], {**self.item(row), "words": words, "score": score}))
        return [item for _, _, item in sorted(found, key=lambda hit: hit[:2])[:k]]

    def get(self, id: str, owner: str) -> Item | None:
        """Return one of the owner's rows."""
        return next((self.item(row) for row in self.checked(owner) if row["id"] == id), None)

    def audit(self) -> Sequence[str]:
        """Compare everything with the witness."""
        owners = {row["owner"] for row in self.rows()} | set(self.witness()["committed"]["owners"])
        found = []
        for owner in sorted(str(owner) for owner in owners):
            try:
                self.checked(owner)
            except ReferenceError as error:
                found.append(f"{owner}: {error}")
        return found

    def compact(self) -> None:
        """Vacuum the file."""
        self.connection.execute("VACUUM")

    # --- what is served, and what is compared --------------------------------------------------------------------------------
    def checked(self, owner: str) -> list[Row]:
        """Return an owner's rows after comparing them with the witness."""
        with self.locked():
            self.connection.execute("BEGIN")
            try:
                return self.verified(owner)
            finally:
                self.connection.execute("ROLLBACK")

    def verified(self, owner: str) -> list[Row]:
        """Return an owner's rows, oldest first.

        Raises:
            ReferenceError: they, the schema or the log are not what the witness remembers.
        """
        known = self.witness()
        try:
            seen = self.state()
        except (sqlite3.Error, ValueError, TypeError) as error:
            raise ReferenceError(f"the store can't be read: {error}") from error
        if not any(self.agrees(state, seen, owner) for state in self.remembered(known)):
            raise ReferenceError("the store is not what the witness remembers")
        return self.served(owner)

    def remembered(self, known: State) -> list[State]:
        """Return the states that may be found: the last one, or the one that was about to be."""
        return [state for state in (known["committed"], known["pending"]) if state is not None]

    def agrees(self, known: State, seen: State, owner: str) -> bool:
        """Return whether what is seen is what is known, as far as it concerns an owner."""
        return self.common_agrees(known, seen) and known["owners"].get(owner) == seen["owners"].get(owner)

    def common_agrees(self, known: State, seen: State) -> bool:
        """Return whether schema, log and head agree."""
        return all(known[name] == seen[name] for name in ("schema", "log", "head"))

    def served(self, owner: str) -> list[Row]:
        """Return the rows that are served."""
        return [row for row in self.rows() if row["owner"] == owner]

    def state(self) -> State:
        """Return digests of everything the store holds: schema, log, head, and row by row for each owner."""
        owners: dict[str, list[str]] = {}
        for row in self.compared_rows():
            owners.setdefault(str(row["owner"]), []).append(self.digest(row))
        return {
            "schema": _digest(self.connection.execute("SELECT type, name, sql FROM sqlite_schema ORDER BY name").fetchall()),
            "log": [list(line) for line in self.connection.execute("SELECT seq, entry, line FROM log ORDER BY seq")],
            "head": [list(line) for line in self.connection.execute("SELECT * FROM head ORDER BY one")],
            "owners": owners,
        }

    def digest(self, row: Row) -> str:
        """Return a digest of a row and of its words in the index."""
        return _digest([*(row[name] for name in self.covered()), self.words(row["id"])])

    def covered(self) -> Sequence[str]:
        """Return the columns that are compared."""
        return COLUMNS

    def compared_rows(self) -> list[Row]:
        """Return the rows that are compared."""
        return self.rows()

    def rows(self) -> list[Row]:
        """Return all rows, read without any index."""
        return self.select("memory NOT INDEXED ORDER BY n")

    def select(self, rest: str, values: Sequence[Any] = ()) -> list[Row]:
        """Return rows of the memory table."""
        cursor = self.connection.execute(f"SELECT {', '.join(COLUMNS)} FROM {rest}", tuple(values))
        return [dict(zip(COLUMNS, row, strict=True)) for row in cursor]

    def words(self, id: str) -> str:
        """Return the words of an entry in the index."""
        found = self.connection.execute("SELECT words FROM word WHERE entry = ?", (id,)).fetchall()
        return " ".join(str(row[0]) for row in found)

    def item(self, row: Row) -> Item:
        """Return a row as it is served."""
        logged = self.connection.execute("SELECT line FROM log WHERE entry = ?", (row["id"],)).fetchall()
        kept = {name: row[name] for name in ("id", "owner", "text", "at", "author", "trust", "session")}
        return kept | {"note": self.opened(row["note"]), "extra": self.extra(row), "logged": [line[0] for line in logged]}

    def extra(self, row: Row) -> Any:
        """Decode what else a row holds."""
        return json.loads(row["extra"])

    def sealed(self, note: str) -> bytes:
        """Encrypt a note, for the attacks that need ciphertexts; the witness is what protects it."""
        return SEALED + bytes(a ^ b for a, b in zip(note.encode(), hashlib.sha256(self.key).digest(), strict=False))

    def opened(self, note: bytes) -> str:
        """Decrypt a note."""
        if not note.startswith(SEALED):
            return note.decode()
        body = note[len(SEALED) :]
        return bytes(a ^ b for a, b in zip(body, hashlib.sha256(self.key).digest(), strict=False)).decode("utf-8", "replace")

    # --- the witness ----------------------------------------------------------------------------------------
    def witness(self) -> State:
        """Return what the other machine remembers of this store."""
        file = self.place.witness / f"{self.place.store_name}.json"
        return json.loads(file.read_text()) if file.exists() else {}

    def testify(self, state: State) -> None:
        """Let the other machine remember, in one step."""
        file = self.place.witness / f"{self.place.store_name}.json"
        draft = file.with_suffix(f".{os.getpid()}")
        draft.write_text(json.dumps(state))
        os.replace(draft, file)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lock that all readers and writers share."""
        with (self.place.witness / "lock").open("a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield


def words_of(text: str) -> list[str]:
    """Return the words of a text for the index, case kept."""
    return text.replace(",", " ").replace(".", " ").split()


def vector_of(text: str) -> bytes:
    """Return counts of hashed words, one byte a dimension."""
    counts = [0] * DIMENSIONS
    for word in words_of(text.lower()):
        counts[zlib.crc32(word.encode()) % DIMENSIONS] += 1
    return bytes(min(count, 255) for count in counts)


def log_digest(connection: sqlite3.Connection) -> str:
    """Return a digest of the log, which needs no key."""
    return _digest(connection.execute("SELECT seq, entry, line FROM log ORDER BY seq").fetchall())


def _digest(value: Any) -> str:
    return hashlib.sha256(repr(value).encode()).hexdigest()[:24]
