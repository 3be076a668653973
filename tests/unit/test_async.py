"""AsyncMemory is Memory for asyncio: the same names and arguments, many tasks at once, and a task that may be cancelled."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from witnesstree import AsyncMemory, Memory
from witnesstree.anchors.file import FileAnchor
from witnesstree.flow import recall

LIMIT_S = 60
SPOKEN = "The rent is 865 euros."


def public_names(kind: type) -> list[str]:
    """What a class shows."""
    return sorted(name for name in dir(kind) if not name.startswith("_"))


PROPERTIES = [name for name in public_names(Memory) if isinstance(inspect.getattr_static(Memory, name), property)]
VERBS = [name for name in public_names(Memory) if name not in PROPERTIES]


def test_both_facades_have_the_same_names():
    """A verb that is added to one is added to the other."""
    assert public_names(AsyncMemory) == public_names(Memory)
    assert {"restore", "open", "close"} <= set(VERBS)
    assert PROPERTIES == ["place", "store_id", "verifier_key"]


@pytest.mark.parametrize("name", VERBS)
def test_both_facades_take_the_same_arguments(name: str):
    """Names, order, kinds, defaults and types of the arguments, and the type of the result."""
    plain, other = inspect.signature(getattr(Memory, name)), inspect.signature(getattr(AsyncMemory, name))
    assert list(other.parameters.values()) == list(plain.parameters.values())
    assert not [p for p in other.parameters.values() if p.kind is p.VAR_KEYWORD], "arguments are spelled out"
    assert str(other.return_annotation).removeprefix("Async") == plain.return_annotation
    assert inspect.iscoroutinefunction(getattr(AsyncMemory, name))


@pytest.mark.parametrize("name", PROPERTIES)
def test_both_facades_have_the_same_properties(name: str):
    """A value that is at hand is not awaited."""
    assert isinstance(inspect.getattr_static(AsyncMemory, name), property)


class Used:
    """Passes everything on and remembers what was asked for."""

    def __init__(self, memory: AsyncMemory) -> None:
        """Wrap an open memory."""
        self._memory = memory
        self.names = {"open"}

    def __getattr__(self, name: str) -> Any:
        self.names.add(name)
        return getattr(self._memory, name)


async def read_and_write(memory: Used) -> None:
    """Call what remembers, finds and corrects."""
    rent, tea = (await memory.add([SPOKEN, "I like green tea."], session="s1", metadata={"page": 3})).episodes
    held = (await memory.add("The wifi is called larch.", hold=True, agent="planner", scope="home")).episodes[0]
    assert (await memory.search("rent euros", k=1, where={"metadata.page": 3})).hits[0].id == rent
    assert (await memory.answer("Is the rent 865 euros?", where={"session": "s1"})).citations[0].id == rent
    assert (await memory.answer("Is the rent 865 euros?", session="s2")).abstained
    assert (await memory.get(rent)).text == (await memory.evidence(rent))[0].text == SPOKEN
    assert [item.id for item in (await memory.list(limit=10)).items] == [rent, tea]
    assert [item.id for item in (await memory.inbox()).items] == [held]
    assert (await memory.approve(held)).what == "approved"
    assert (await memory.update(rent, "The rent is 900 euros.", expected_version=1)).version == 2
    assert (await memory.retract(rent, expected_version=2)).what == "retracted"
    assert len(await memory.history(rent)) == 3
    assert (await memory.alias("the landlord", "Ana")).what == "added"
    proof = await memory.prove(tea)
    assert proof.startswith("c2sp.org/tlog-proof@v1")
    assert (await memory.checkpoint()).startswith(memory.verifier_key.partition("+")[0])


async def move_and_erase(memory: Used, folder: Path) -> None:
    """Call what concerns the whole store."""
    exported = await memory.export()
    assert (await memory.import_(exported)).added == 0
    await memory.backup(str(folder / "backup.db"))
    assert (await memory.fork(str(folder / "fork.db"))).ok
    assert (await memory.restore(str(folder / "backup.db"), str(folder / "restored.db"))).ok
    assert (await memory.forget(session="s1")).memories == 2
    seen: list[int] = []
    assert (await memory.audit(progress=lambda done, total: seen.append(done))).ok
    assert await memory.repair() == ()
    assert (await memory.reindex(progress=lambda done, total: seen.append(done))).rows == 0
    before = memory.verifier_key
    assert (await memory.rotate_keys()).ok
    assert memory.verifier_key != before
    assert len(memory.store_id) == 32
    assert memory.place.endswith("agent.db")


def test_every_verb_works_on_a_file(tmp_path: Path):
    """Each is awaited once and does what the verb of Memory does."""

    async def run() -> set[str]:
        memory = Used(await AsyncMemory.open(tmp_path / "agent.db", user="mira"))
        await read_and_write(memory)
        await move_and_erase(memory, tmp_path)
        await memory.close()
        await memory.close()
        return memory.names

    assert asyncio.run(run()) == set(public_names(Memory))


def test_many_tasks_share_one_memory(tmp_path: Path):
    """Fifty adds and fifty searches at once: nothing is lost, every search is verified, and the log is clean."""

    async def run() -> None:
        async with await AsyncMemory.open(str(tmp_path / "agent.db"), user="mira") as memory:
            adds = [memory.add(f"Turn {number} about the larch.") for number in range(50)]
            searches = [memory.search("larch", k=100) for _ in range(50)]
            done = await asyncio.gather(*(call for pair in zip(adds, searches, strict=True) for call in pair))
            assert sum(result.added for result in done[0::2]) == 50
            assert {result.integrity for result in done[1::2]} == {"verified"}
            assert len((await memory.search("larch", k=100)).hits) == 50
            assert (await memory.audit()).ok

    asyncio.run(run())


class Gate:
    """Holds a thread at one place until the test lets it go on."""

    def __init__(self) -> None:
        """Begin closed."""
        self.reached, self.opened = threading.Event(), threading.Event()

    def stop(self) -> None:
        """Say that the place is reached, and wait."""
        self.reached.set()
        assert self.opened.wait(LIMIT_S)

    async def cancel_at(self, task: asyncio.Task[Any]) -> None:
        """Cancel a task whose thread stands here; the task ends at once, the thread later."""
        assert await asyncio.to_thread(self.reached.wait, LIMIT_S)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


def stopping(gate: Gate, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that first waits at the gate."""

    def replaced(*arguments: Any, **options: Any) -> Any:
        gate.stop()
        return function(*arguments, **options)

    return replaced


def test_a_cancelled_write_ends_whole_and_leaves_no_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Cancelled after its commit and before its acknowledgement, the memory is kept, and all go on."""
    gate = Gate()

    async def run() -> None:
        async with await AsyncMemory.open(tmp_path / "agent.db", user="mira") as memory:
            with monkeypatch.context() as patch:
                patch.setattr(FileAnchor, "advance", stopping(gate, FileAnchor.advance))
                await gate.cancel_at(asyncio.create_task(memory.add(SPOKEN)))
                gate.opened.set()
                await memory.add("I like green tea.")
            assert [item.text for item in (await memory.list()).items] == [SPOKEN, "I like green tea."]
            async with await AsyncMemory.open(tmp_path / "agent.db", user="mira") as other:
                assert (await other.add("The wifi is called larch.")).added == 1
                assert (await other.audit()).ok

    asyncio.run(run())


def test_a_cancelled_read_leaves_no_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Cancelled in the middle of its read transaction, the next write, read and close go through."""
    gate = Gate()

    async def run() -> None:
        async with await AsyncMemory.open(tmp_path / "agent.db", user="mira") as memory:
            rent = (await memory.add(SPOKEN)).episodes[0]
            monkeypatch.setattr(recall, "fetch_record", stopping(gate, recall.fetch_record))
            await gate.cancel_at(asyncio.create_task(memory.get(rent)))
            gate.opened.set()
            assert (await memory.add("I like green tea.")).added == 1
            assert (await memory.get(rent)).text == SPOKEN

    asyncio.run(run())


def test_what_a_cancelled_open_opened_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Nobody could close it any more."""
    gate = Gate()
    closed: list[Memory] = []
    close = Memory.close

    def noted(memory: Memory) -> None:
        close(memory)
        closed.append(memory)

    monkeypatch.setattr(Memory, "close", noted)
    monkeypatch.setattr(Memory, "open", stopping(gate, Memory.open))

    async def run() -> None:
        await gate.cancel_at(asyncio.create_task(AsyncMemory.open(tmp_path / "agent.db", user="mira")))
        gate.opened.set()

    asyncio.run(run())
    assert len(closed) == 1
