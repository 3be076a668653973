"""Rows P about integrity: digests repaired along with the edit, undecodable rows, a lying index, receipts that are changed."""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

from witnesstree import Memory
from witnesstree.errors import IntegrityError, PackError, SealError
from witnesstree.flow import cache
from witnesstree.proof.encoding import ENTRY, commit_to
from witnesstree.proof.merkle import extend, frontier_root
from witnesstree.proof.receipt import verify_proof, verify_receipt
from witnesstree.types.trust import Authority
from witnesstree.types.wire import HEADER, decode, encode


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A closed store with memories of two users."""
    place = tmp_path / "data" / "a.db"
    place.parent.mkdir()
    with Memory.open(str(place)) as memory:
        memory.add("my payee for rent is Anna", user="alice", metadata={"k": 1})
        memory.add({"role": "tool", "content": "rent goes to evilair", "name": "web"}, user="alice")
        memory.add("bob pays rent too", user="bob")
    return place


def sql(path: Path, statement: str, *arguments: Any) -> list[Any]:
    """Run one statement as an attacker with the file in hand; return its rows."""
    connection = apsw.Connection(str(path))
    try:
        return connection.execute(statement, arguments).fetchall()
    finally:
        connection.close()


def row_of(path: Path, text: bytes) -> tuple[int, bytes]:
    """Position and content of the one row that holds a text."""
    [(seq, content)] = sql(path, "SELECT seq, content FROM memory WHERE instr(content, ?)", text)
    return int(seq), content


def alice_is_refused_and_bob_served(path: Path, *, reason: str = "") -> None:
    """Every read of alice refuses with a typed error, bob's memory is served, and the audit reports instead of raising."""
    with Memory.open(str(path), examine=True) as memory:
        for read in (
            lambda: memory.search("rent", user="alice"),
            lambda: memory.list(user="alice"),
            lambda: memory.answer("Who is my payee?", user="alice"),
            lambda: memory.export(user="alice"),
        ):
            with pytest.raises(IntegrityError) as caught:
                read()
            assert not reason or caught.value.reason == reason
        assert [hit.text for hit in memory.search("rent", user="bob").hits] == ["bob pays rent too"]
        report = memory.audit()
        assert not report.ok
        assert all(problem.where and problem.message for problem in report.problems)


def log_hashes(path: Path) -> tuple[bytes, bytes]:
    """Frontier and root that the log's entries have as they lie there; for both no key is needed."""
    entries = [row[0] for row in sql(path, "SELECT entry FROM log ORDER BY seq")]
    inner, size = extend((), 0, entries[:-1])
    peaks, _ = extend(inner, size, entries[-1:])
    return b"".join(inner), frontier_root(peaks)


@pytest.mark.parametrize("also", ["entry", "frontier", "root"])
def test_text_edited_together_with_every_digest_that_needs_no_key(path: Path, also: str):
    """Row P-026: the text is changed, and with it its commitment in the log (whose salt lies in the row), the log's hashes, the
    root in the head: the seal and the signature still need a key."""
    frontier, root = log_hashes(path)
    [(kept, note)] = sql(path, "SELECT frontier, note FROM head")
    assert frontier == kept and base64.b64encode(root) in note, "the attacker knows how all of them are made"
    seq, content = row_of(path, b"payee for rent is Anna")
    forged = decode(content).with_changes(text="my payee for rent is Mallory", authority=Authority.AUTHORIZED)
    [(entry,)] = sql(path, "SELECT entry FROM log WHERE seq = ?", seq)
    fields = list(ENTRY.unpack(entry))
    assert fields[-1] == commit_to(forged.salt, b"c", content)
    fields[-1] = commit_to(forged.salt, b"c", encode(forged))
    sql(path, "UPDATE memory SET content = ? WHERE seq = ?", encode(forged), seq)
    sql(path, "UPDATE log SET entry = ? WHERE seq = ?", ENTRY.pack(*fields), seq)
    frontier, fresh = log_hashes(path)
    assert fresh != root
    if also in ("frontier", "root"):
        sql(path, "UPDATE head SET frontier = ?", frontier)
    if also == "root":
        sql(path, "UPDATE head SET note = ?", note.replace(base64.b64encode(root), base64.b64encode(fresh)))
    with pytest.raises(IntegrityError), Memory.open(str(path), user="alice") as memory:
        memory.search("payee")
    with Memory.open(str(path), user="alice", examine=True) as memory:
        with pytest.raises(IntegrityError):
            memory.list()
        assert not memory.audit().ok


UNDECODABLE: dict[str, Callable[[bytes], bytes]] = {
    "metadata cut": lambda content: content.replace(b'{"k":1}', b'{"k":1\x00'),
    "metadata of garbage": lambda content: content.replace(b'{"k":1}', b"{{{{{{{"),
    "metadata a list": lambda content: content.replace(b'{"k":1}', b"[1,2,3]"),
    "unknown authority": lambda content: content[:3] + b"\xfa" + content[4:],
    "unknown status": lambda content: content[:5] + b"\xfa" + content[6:],
    "unknown format": lambda content: b"\xfa" + content[1:],
    "length too large": lambda content: content[:112] + b"\xff\xff\xff\xff" + content[116:],
    "text no UTF-8": lambda content: content.replace(b"payee", b"pay\xff\xfe"),
    "header alone": lambda content: content[: HEADER.size],
    "nothing": lambda content: b"",
    "garbage": lambda content: b"{",
}


@pytest.mark.parametrize("name", UNDECODABLE)
def test_undecodable_row_stops_its_owner_alone(path: Path, name: str):
    """Rows P-034 and P-090: metadata of garbage, an authority that does not exist: a typed refusal for the owner, the audit names
    the row, others are served, and quarantine serves the owner's good rows and says that one is missing."""
    seq, content = row_of(path, b"payee for rent is Anna")
    changed = UNDECODABLE[name](content)
    assert changed != content
    sql(path, "UPDATE memory SET content = ? WHERE seq = ?", changed, seq)
    alice_is_refused_and_bob_served(path)
    with Memory.open(str(path), examine=True) as memory:
        assert f"row {seq}" in {problem.where for problem in memory.audit().problems}
    with Memory.open(str(path), user="alice", on_tamper="quarantine") as memory:
        found = memory.search("rent")
        assert [hit.text for hit in found.hits] == ["rent goes to evilair"]
        assert (found.integrity, found.withheld) == ("quarantined", 1)


@pytest.mark.parametrize("vector", [b"", b"0123456789", b"\x00" * 400, b"\xff" * 3000], ids=["none", "ten", "zeros", "ones"])
@pytest.mark.parametrize("live", [False, True], ids=["reopened", "live"])
def test_vector_of_a_wrong_length_is_never_a_raw_error(path: Path, vector: bytes, live: bool):
    """Rows P-027 and P-034: the vector of a row zeroed, cut to ten bytes, or taken away: refused by its seal."""
    seq, _ = row_of(path, b"payee for rent is Anna")
    if live:
        with Memory.open(str(path), user="alice") as memory:
            made = memory.search("payee").hits[0].id
            sql(path, "UPDATE memory SET vector = ? WHERE seq = ?", vector, seq)
            with pytest.raises(SealError):
                memory.get(made)
            return
    sql(path, "UPDATE memory SET vector = ? WHERE seq = ?", vector, seq)
    alice_is_refused_and_bob_served(path, reason="row_altered")


@pytest.mark.parametrize(
    "entry", [b"{not json", b"", b"\xff" * ENTRY.size, b"{}", struct.pack(">BQ", 1, 2), b"[" * 100_000], ids=range(6)
)
def test_unreadable_log_entry_is_reported_and_never_raised(path: Path, entry: bytes):
    """Row P-033: any entry of the log is garbage: the audit says so; no read serves anything that differs."""
    for [seq] in sql(path, "SELECT seq FROM log ORDER BY seq"):
        [(kept,)] = sql(path, "SELECT entry FROM log WHERE seq = ?", seq)
        sql(path, "UPDATE log SET entry = ? WHERE seq = ?", entry, seq)
        with Memory.open(str(path), user="alice", examine=True) as memory:
            report = memory.audit()
            assert not report.ok
            assert {problem.reason for problem in report.problems} & {"log_undecodable", "log_altered", "log_cut", "row_unlogged"}
            try:
                assert [hit.text for hit in memory.search("payee").hits] == ["my payee for rent is Anna"]
            except IntegrityError:
                pass
        sql(path, "UPDATE log SET entry = ? WHERE seq = ?", kept, seq)
    with Memory.open(str(path)) as memory:
        assert memory.audit().ok


def lie_in_the_index(path: Path, seq: int) -> None:
    """Make the index by owner omit one row, under its genuine name and text."""
    sql(path, "DROP INDEX memory_owner")
    sql(path, f"CREATE INDEX memory_owner ON memory (owner) WHERE seq != {seq}")
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA writable_schema = ON")
    connection.execute("UPDATE sqlite_schema SET sql = 'CREATE INDEX memory_owner ON memory (owner)' WHERE name = 'memory_owner'")
    connection.close()


def test_lying_index_makes_no_memory_unfindable(path: Path):
    """Row P-088: an index that leaves a row out is not believed: the owner's reads refuse, and a repair finds the row again."""
    seq, _ = row_of(path, b"payee for rent is Anna")
    lie_in_the_index(path, seq)
    assert sql(path, "SELECT count(*) FROM memory INDEXED BY memory_owner WHERE owner >= x''")[0][0] == 3
    for _ in range(2):
        with pytest.raises(IntegrityError), Memory.open(str(path), user="alice") as memory:
            memory.search("payee")
    with Memory.open(str(path), user="bob") as memory:
        assert memory.list().items[0].text == "bob pays rent too"
    with Memory.open(str(path), user="alice", examine=True) as memory:
        assert memory.repair() == ()
        assert [hit.text for hit in memory.search("payee").hits] == ["my payee for rent is Anna"]
        assert memory.audit().ok


def test_altered_cache_of_words_hides_nothing(path: Path, home: Path, monkeypatch: pytest.MonkeyPatch):
    """Row P-088: the cached words of an owner are changed in the home: they are made anew from the rows."""
    monkeypatch.setattr(cache, "CACHE_MIN_ROWS", 1)
    monkeypatch.setattr(cache, "CACHE_MIN_CHANGE", 1)
    with Memory.open(str(path), user="alice") as memory:
        memory.search("payee")
    [file] = (home / "cache").rglob("*.view")
    data = file.read_bytes()
    for at in range(0, len(data), max(1, len(data) // 40)):
        file.write_bytes(data[:at] + bytes([data[at] ^ 0x10]) + data[at + 1 :])
        with Memory.open(str(path), user="alice") as memory:
            assert [hit.text for hit in memory.search("payee").hits] == ["my payee for rent is Anna"]
            assert len(memory.list().items) == 2


def rows_by_name(path: Path, name: str) -> tuple[str, str]:
    """An intact receipt or proof of a store, and the key that checks it."""
    with Memory.open(str(path), user="alice") as memory:
        made = memory.search("payee").hits[0].id
        note = memory.prove(made) if name == "proof" else memory.forget(made).note
        return note, memory.verifier_key


@pytest.mark.parametrize("name", ["receipt", "proof"])
def test_receipt_with_one_changed_character_is_refused(path: Path, name: str):
    """Row P-131: any character of a receipt or proof is changed, a word is turned into its opposite, a line is left out."""
    note, key = rows_by_name(path, name)
    check = verify_receipt if name == "receipt" else verify_proof
    check(note, key)
    lines = note.split("\n")
    spoilt = {f"line {at} gone": "\n".join(lines[:at] + lines[at + 1 :]) for at in range(len(lines) - 1)}
    spoilt |= {f"line {at} doubled": "\n".join(lines[:at] + lines[at : at + 1] + lines[at:]) for at in range(len(lines) - 2)}
    for at in range(0, len(note), 1 if name == "receipt" else 7):
        if note[at] not in "\n":
            spoilt[f"character {at}"] = note[:at] + ("x" if note[at] != "x" else "y") + note[at + 1 :]
    if name == "receipt":
        assert "bytes overwritten" in note
        spoilt["bytes"] = note.replace("bytes overwritten", "bytes pending until readers finish")
        spoilt["memories"] = note.replace("memories 1", "memories 9")
    believed = []
    for what, text in spoilt.items():
        try:
            check(text, key)
            believed.append(what)
        except PackError:
            pass
    assert believed == []
