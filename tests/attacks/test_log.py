"""Every verb that changes something leaves an entry that commits to who did it; every other verb leaves none (T-R1)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from witnesstree import Memory
from witnesstree.errors import Error
from witnesstree.proof.encoding import ZERO, Entry, commit_to, decode_entry
from witnesstree.proof.receipt import verify_proof
from witnesstree.types.record import Record
from witnesstree.types.trust import Op
from witnesstree.types.wire import decode


@pytest.fixture(params=["ram", "sqlite"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Memory]:
    """One active and one held memory."""
    url = "ram:" if request.param == "ram" else str(tmp_path / "agent.db")
    with Memory.open(url, user="alice") as opened:
        opened.add("I like green tea.")
        opened.add("I like coffee.", hold=True)
        yield opened


def log_of(memory: Memory) -> list[tuple[Entry, Record | None]]:
    """Every log entry, with the row at its position if there is one."""
    with memory._store.store.read() as snapshot:
        entries = [decode_entry(data) for data in snapshot.entries(0, snapshot.log_positions())]
        rows = {row.seq: decode(row.content) for row in snapshot.all_rows()}
    assert [entry.seq for entry in entries] == list(range(len(entries)))
    return [(entry, rows.get(entry.seq)) for entry in entries]


def active(memory: Memory) -> str:
    """The id of the active memory."""
    return memory.list().items[0].id


def held(memory: Memory) -> str:
    """The id of the held memory."""
    return memory.inbox().items[0].id


WRITES: dict[str, tuple[Callable[[Memory], object], list[Op], str]] = {
    "add": (lambda m: m.add("New."), [Op.ADD], "user:alice"),
    "add through an agent": (lambda m: m.add("New.", agent="planner"), [Op.ADD], "agent:planner"),
    "add many": (lambda m: m.add(["One.", "Two."], agent="planner"), [Op.ADD, Op.ADD], "agent:planner"),
    "add for another user": (lambda m: m.add("New.", user="bob"), [Op.ADD], "user:bob"),
    "hold": (lambda m: m.add("New.", hold=True), [Op.ADD], "user:alice"),
    "update": (lambda m: m.update(active(m), "I like black tea."), [Op.UPDATE], "user:alice"),
    "update metadata": (lambda m: m.update(active(m), metadata={"a": 1}), [Op.UPDATE], "user:alice"),
    "retract": (lambda m: m.retract(active(m)), [Op.RETRACT], "user:alice"),
    "approve": (lambda m: m.approve(held(m)), [Op.APPROVE], "user:alice"),
    "import": (lambda m: m.import_([{"content": "New."}], agent="mover"), [Op.IMPORT], "agent:mover"),
    "forget one": (lambda m: m.forget(active(m)), [Op.FORGET], "user:alice"),
    "forget by filter": (lambda m: m.forget(where={"role": "user"}), [Op.FORGET], "user:alice"),
    "forget everything": (lambda m: m.forget(everything=True), [Op.FORGET], ""),
}


@pytest.mark.parametrize("verb", WRITES)
def test_each_write_leaves_entries_that_commit_to_its_actor(memory: Memory, verb: str):
    """T-R1, row P-108: one entry a row and one commit, in the same transaction, each tied to who did it."""
    write, ops, actor = WRITES[verb]
    size = len(log_of(memory))
    write(memory)
    new = log_of(memory)[size:]
    assert [entry.op for entry, _ in new] == [*ops, Op.COMMIT]
    for entry, record in new[:-1]:
        assert record is not None and record.actor == actor
        assert entry.actor == commit_to(record.salt, b"a", actor.encode())
        assert entry.target == commit_to(record.salt, b"t", record.id + record.version.to_bytes(4, "big"))
        assert entry.at == record.recorded_at
    assert memory.audit().ok


@pytest.mark.parametrize("verb", WRITES)
def test_the_log_names_nobody_in_clear(memory: Memory, verb: str):
    """T-R1: the commitments say who to those who hold the row, and nothing to others."""
    WRITES[verb][0](memory)
    for entry, record in log_of(memory):
        data = entry.encode()
        for word in (b"alice", b"bob", b"planner", b"mover", b"tea", b"New"):
            assert word not in data
        if record is not None and record.actor:
            assert entry.actor not in (ZERO, commit_to(b"", b"a", record.actor.encode()))


REFUSED: dict[str, Callable[[Memory], object]] = {
    "add nothing": lambda m: m.add(" "),
    "update at an old version": lambda m: m.update(active(m), "x", expected_version=9),
    "approve what is active": lambda m: m.approve(active(m)),
    "retract what is not there": lambda m: m.retract("0" * 32),
    "forget what is not there": lambda m: m.forget("0" * 32),
    "forget without a choice": lambda m: m.forget(),
}
READS: dict[str, Callable[[Memory], object]] = {
    "search": lambda m: m.search("tea").context(),
    "trace": lambda m: m.search("tea").trace_id,
    "get": lambda m: m.get(active(m)),
    "history": lambda m: m.history(active(m)),
    "answer": lambda m: m.answer("Which tea?"),
    "export": lambda m: m.export(),
    "prove": lambda m: m.prove(active(m)),
    "audit": lambda m: m.audit(),
    "dry run": lambda m: m.forget(everything=True, dry_run=True),
    "the same message again": lambda m: m.add("I like green tea."),
    "the same text again": lambda m: m.update(active(m), "I like green tea."),
}


@pytest.mark.parametrize("verb", [*REFUSED, *READS])
def test_what_changes_nothing_leaves_no_entry(memory: Memory, verb: str):
    """T-R1: a refused write and a read write nothing at all."""
    before, log = memory.checkpoint(), log_of(memory)
    if verb in REFUSED:
        with pytest.raises(Error):
            REFUSED[verb](memory)
    else:
        READS[verb](memory)
    assert (memory.checkpoint(), log_of(memory)) == (before, log)


def test_an_actor_can_be_proven_and_not_denied(memory: Memory):
    """T-R1: the exported proof names the actor, and no other name fits it."""
    id = memory.add("I rented a car.", agent="planner").episodes[0]
    proven = verify_proof(memory.prove(id), memory.verifier_key)
    assert proven.record.actor == "agent:planner"
    assert proven.entry.actor != commit_to(proven.record.salt, b"a", b"user:alice")


def test_an_entry_of_a_row_can_not_be_left_out_or_changed(memory: Memory):
    """T-R1: the audit ties rows and log in both directions."""
    if not hasattr(memory._store.store, "state"):
        memory.close()
        memory = Memory.open("ram:", user="alice")
        memory.add("I like green tea.")
    state = memory._store.store.state  # type: ignore[attr-defined]
    seq = max(state.rows)
    good = state.log[seq]
    entry = decode_entry(good)
    state.log[seq] = Entry(seq, entry.at, entry.op, bytes(32), entry.target, entry.owner, entry.before, entry.after).encode()
    assert not memory.audit().ok
    del state.log[seq]
    assert not memory.audit().ok
    state.log[seq] = good
    assert memory.audit().ok


def test_maintenance_is_logged_as_well(tmp_path: Path):
    """T-R1: making, forking, restoring and re-keying a store leave their own entries, by the operator."""
    path, copy = str(tmp_path / "agent.db"), str(tmp_path / "copy.db")
    with Memory.open(path, user="alice") as memory:
        memory.add("I like green tea.")
        memory.rotate_keys()
        memory.backup(str(tmp_path / "backup.db"))
        memory.fork(copy)
        ops = [(entry.op, record.actor) for entry, record in log_of(memory) if record is not None]
    assert ops == [(Op.INIT, "operator"), (Op.ADD, "user:alice"), (Op.REKEY, "operator")]
    Memory.restore(str(tmp_path / "backup.db"), str(tmp_path / "restored.db"))
    for place, op in ((copy, Op.FORK), (str(tmp_path / "restored.db"), Op.RESTORE)):
        with Memory.open(place, user="alice") as memory:
            assert log_of(memory)[0][0].op is op
            assert [item.text for item in memory.list().items] == ["I like green tea."]
            assert memory.audit().ok
