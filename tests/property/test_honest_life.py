"""No false alarm in an honest life (I8): random operations, two processes, kill -9, rotation, backup, restore, repair."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from witnesstree import Memory
from witnesstree.errors import NotFoundError

ROOT = Path(__file__).parents[2]


def start(store: Path, seed: int, operations: int, acknowledged: Path) -> subprocess.Popen[bytes]:
    """Start one honest process."""
    command = [sys.executable, "-m", "tests.support.honest_worker", str(store), str(seed), str(operations), str(acknowledged)]
    return subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE)


def live_and_die(store: Path, folder: Path, dice: random.Random, *, operations: int, kills: int) -> list[list[list[object]]]:
    """Run pairs of processes, kill -9 one of each at a random line of its life; return what each acknowledged."""
    facts = []
    for round_number in range(kills):
        logs = [folder / f"log-{round_number}-{n}" for n in (0, 1)]
        workers = [start(store, dice.getrandbits(30), operations, log) for log in logs]
        victim_at = dice.randrange(5, max(6, operations - 5))
        killer = threading.Thread(target=_kill_at, args=(workers[0], logs[0], victim_at))
        killer.start()
        for worker in workers:
            _, errors = worker.communicate()
            assert worker.returncode in (0, -signal.SIGKILL), (worker.returncode, errors.decode()[-2000:], _tail(logs))
        killer.join()
        for log in logs:
            lines = [json.loads(line) for line in log.read_text().splitlines() if line.endswith("]")]
            assert not [line for line in lines if line[0] == "ALARM"], lines[-1]
            facts.append(lines)
    return facts


def _tail(logs: list[Path]) -> list[str]:
    return [log.read_text()[-400:] for log in logs if log.exists()]


def _kill_at(worker: subprocess.Popen[bytes], log: Path, lines: int) -> None:
    while worker.poll() is None:
        if log.exists() and log.read_bytes().count(b"\n") >= lines:
            worker.kill()
            return


def held_to(store: Path, facts: list[list[list[object]]]) -> None:
    """Every acknowledged change is there: texts as last acknowledged by their writer, withdrawn and erased ones not."""
    with Memory.open(str(store)) as memory:
        assert memory.audit().ok
        for lines in facts:
            last: dict[tuple[str, str], list[object]] = {}
            for fact in lines:
                if fact[0] != "read":
                    last[str(fact[1]), str(fact[2])] = fact
            # The one operation that a kill interrupted may or may not have happened; it concerns one memory at most.
            missed = 0
            for (owner, memory_id), (what, _, _, text) in last.items():
                try:
                    there = memory.get(memory_id, user=owner).text
                except NotFoundError:
                    there = ""
                if (what in ("add", "update") and there != text) or (what in ("retract", "forget") and there):
                    missed += 1
            assert missed <= 1, "acknowledged changes are lost"


def after_that(store: Path, folder: Path) -> None:
    """Rotation, repair, backup, restore and fork of an honest store raise no alarm and lose nothing."""
    with Memory.open(str(store)) as memory:
        assert memory.rotate_keys().ok
        assert memory.repair() == ()
        listed = [m.text for m in memory.list(user="ana", limit=1000).items]
        backup = folder / "backup.db"
        memory.backup(str(backup))
        memory.add("one more line after the backup", user="ana")
        assert memory.fork(str(folder / "fork.db")).ok
    assert Memory.restore(str(backup), str(folder / "restored.db")).ok
    with Memory.open(str(folder / "restored.db")) as memory:
        assert [m.text for m in memory.list(user="ana", limit=1000).items] == listed
        memory.add("life goes on in the restored store", user="ana")
        assert memory.audit().ok
    with Memory.open(str(folder / "fork.db")) as memory:
        assert memory.search("line after backup", user="ana").hits
    with Memory.open(str(store)) as memory:
        assert memory.audit().ok


@pytest.mark.parametrize(
    ("operations", "kills"), [(120, 3), pytest.param(560, 14, marks=pytest.mark.slow)], ids=["short", "ten-thousand"]
)
def test_honest_operations_with_crashes_raise_no_alarm_and_lose_nothing(tmp_path: Path, operations: int, kills: int) -> None:
    """The long run is 14 rounds of two processes with up to 560 operations each: more than 10,000, with 14 kills."""
    store = tmp_path / "agent.db"
    facts = live_and_die(store, tmp_path, random.Random(7), operations=operations, kills=kills)
    held_to(store, facts)
    after_that(store, tmp_path)
    if kills > 10:
        assert sum(len(lines) for lines in facts) >= 10_000


def test_key_rotation_under_a_live_second_process_raises_no_alarm(tmp_path: Path) -> None:
    """A process that was open before the rotation takes the new key up at its next call, for reads and writes."""
    store = str(tmp_path / "agent.db")
    with Memory.open(store, user="ana") as first, Memory.open(store, user="ana") as second:
        first.add("The rent account is DE89.")
        assert second.search("rent").hits
        old = second.verifier_key
        assert first.rotate_keys().ok
        assert second.search("rent account").hits[0].text == "The rent account is DE89."
        second.add("Written after the rotation.")
        assert second.verifier_key != old
        assert first.search("after rotation").hits and first.audit().ok and second.audit().ok


def test_two_rotating_processes_and_a_reader_raise_no_alarm(tmp_path: Path) -> None:
    """Commit, renaming of the key file and a look at both may interleave in any way; no key is lost and no head is doubted."""
    store = str(tmp_path / "agent.db")
    with Memory.open(store, user="ana") as memory:
        memory.add("The rent account is DE89.")
        command = [sys.executable, "-m", "tests.support.rotating_worker", store]
        workers = [subprocess.Popen([*command, "12"], cwd=ROOT, stderr=subprocess.PIPE) for _ in (0, 1)]
        while any(worker.poll() is None for worker in workers):
            assert memory.search("rent").hits
            assert memory.get(memory.list().items[0].id).text
        assert [(worker.communicate()[1].decode()[-2000:], worker.returncode) for worker in workers] == [("", 0), ("", 0)]
        assert memory.search("rent").hits and memory.audit().ok
    with Memory.open(store, user="ana") as again:
        assert again.search("rent").hits and again.rotate_keys().ok


def test_rotation_that_was_cut_off_after_its_commit_is_settled_at_the_next_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Crash between commit and renaming the key file: the next open finds the new key beside the old one."""
    from witnesstree.flow.keyring import KeyRing

    store = str(tmp_path / "agent.db")
    memory = Memory.open(store, user="ana")
    memory.add("The rent account is DE89.")
    with monkeypatch.context() as patch:
        patch.setattr(KeyRing, "promote", lambda self, store_id, key: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            memory.rotate_keys()
    memory.close()
    with Memory.open(store, user="ana") as again:
        assert again.search("rent").hits
        again.add("And written on.")
        assert again.audit().ok
    with Memory.open(store, user="ana") as third:
        assert third.rotate_keys().ok


def test_rotation_that_was_cut_off_before_its_commit_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Crash between writing the new key and the commit: the old key still opens, and a later rotation works."""
    from witnesstree.flow import relocate

    store = str(tmp_path / "agent.db")
    memory = Memory.open(store, user="ana")
    memory.add("The rent account is DE89.")
    with monkeypatch.context() as patch:
        patch.setattr(relocate, "rewrite", lambda *args, **kwargs: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            memory.rotate_keys()
    memory.close()
    with Memory.open(store, user="ana") as again:
        assert again.search("rent").hits
        assert again.rotate_keys().ok
        assert again.search("rent").hits
