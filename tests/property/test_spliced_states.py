"""The product in one property: whatever mixture of genuine old and new bytes a store shows, plain reads refuse or tell the truth.

The attacker has kept every state that the store ever had, and shows any splice of them, with forged bytes in between
(edits I1 to I6).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.worlds import OWNERS, answers
from witnesstree import Memory
from witnesstree.errors import ConflictError, IntegrityError, NotFoundError
from witnesstree.stores.ram import RamState, RamStore
from witnesstree.types.record import SealedRecord

LINES = ("the rent account is DE89", "pears in the garden", "allergic to sesame", "房租 and water", "train to Lisbon at nine")
steps = st.lists(
    st.tuples(
        st.sampled_from(["add", "add", "add", "update", "retract", "forget"]),
        st.sampled_from(OWNERS),
        st.integers(0, 9),
        st.integers(0, 9),
    ),
    min_size=3,
    max_size=14,
)


def live(memory: Memory, ids: dict[str, list[str]], step: tuple[str, str, int, int]) -> None:
    """Do one honest step."""
    what, owner, first, second = step
    known = ids[owner]
    if what == "add" or not known:
        line = f"{LINES[first % len(LINES)]} {first}{second}"
        known += [i for i in memory.add(line, user=owner).episodes if i not in known]
        return
    target = known[first % len(known)]
    with suppress(NotFoundError, ConflictError):
        if what == "update":
            memory.update(target, f"{LINES[second % len(LINES)]} changed {second}", user=owner)
        elif what == "retract":
            memory.retract(target, user=owner)
        else:
            memory.forget(target, user=owner)


def truth(memory: Memory, ids: dict[str, list[str]]) -> dict[tuple[str, str], object]:
    """Return what every read of every owner gives."""
    found: dict[tuple[str, str], object] = {}
    for owner in OWNERS:
        for name, read in answers(memory, owner, ids[owner]).items():
            if name.startswith("history"):
                continue
            found[owner, name] = read()
    return found


def choose(data: st.DataObject, options: Sequence[Any]) -> Any:
    """Draw one of some options, so that the draw itself does not depend on random ids and keys."""
    return options[data.draw(st.integers(0, 9999)) % len(options)]


def splice(states: list[RamState], data: st.DataObject) -> RamState:
    """Return a mixture of states: each part, and each single row, leaf and node, from a state of the attacker's choice."""
    now = states[-1].copy()
    kind = choose(data, ["whole", "parts", "items", "items", "forge"])
    if kind == "whole":
        return choose(data, states).copy()
    if kind == "parts":
        parts = {name: getattr(choose(data, states), name) for name in ("head", "log", "rows", "leaves", "nodes")}
        return RamState(**parts).copy()
    for table in ("rows", "leaves", "nodes", "log"):
        target = getattr(now, table)
        keys = sorted({key for state in states for key in getattr(state, table)})
        for _ in range(choose(data, range(4)) if keys else 0):
            key = choose(data, keys)
            value = getattr(choose(data, states), table).get(key)
            if value is None:
                target.pop(key, None)
            else:
                target[key] = value
    if kind == "forge":
        _forge(now, data)
    return now


def _forge(state: RamState, data: st.DataObject) -> None:
    rows = sorted(state.rows) or [0]
    if rows[-1] not in state.rows:
        return
    victim, source = state.rows[choose(data, rows)], state.rows[choose(data, rows)]
    place = choose(data, [*rows, rows[-1] + 1, rows[-1] + 2])
    at = choose(data, range(len(victim.content)))
    flipped = victim.content[:at] + bytes([victim.content[at] ^ choose(data, range(1, 256))]) + victim.content[at + 1 :]
    state.rows[place] = choose(
        data,
        [
            victim._replace(seq=place),
            victim._replace(seq=place, owner=source.owner),
            victim._replace(content=flipped),
            SealedRecord(victim.seq, victim.owner, source.content, source.seal),
            SealedRecord(victim.seq, source.owner, source.content, source.seal),
        ],
    )


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(steps, st.data())
def test_no_splice_of_old_and_new_bytes_is_served_as_truth(life: list[tuple[str, str, int, int]], data: st.DataObject) -> None:
    """For every read, an ``IntegrityError`` or exactly the true answer; afterwards the true store still serves."""
    memory = Memory.open("ram:")
    store = memory._store.store
    assert isinstance(store, RamStore)
    ids: dict[str, list[str]] = {owner: [] for owner in OWNERS}
    states = [store.state.copy()]
    warm = choose(data, ["warm", "cold", "some"])
    for step in life:
        live(memory, ids, step)
        states.append(store.state.copy())
    expected = truth(memory, ids)
    genuine = store.state
    if warm == "cold":
        memory._store._views.clear()
    elif warm == "some":
        memory._store._views.popitem()
    store.state = splice(states, data)
    for owner in OWNERS:
        for name, read in answers(memory, owner, ids[owner]).items():
            if (owner, name) not in expected:
                continue
            with suppress(IntegrityError):
                assert read() == expected[owner, name], f"a lie to {owner}: {name}"
    with suppress(IntegrityError, ConflictError):
        memory.add("a write on top of whatever is there", user="dee")
        if store.state.head != genuine.head:
            states.append(store.state)
            return
    store.state = genuine
    assert truth(memory, ids) == expected
