"""Edits between the check and the act: copies, rotation, repair and forks never act on what was not checked (T-T7, T-I10)."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest

from witnesstree import Memory
from witnesstree.anchors.file import FileAnchor
from witnesstree.errors import Error, IntegrityError, StoreError
from witnesstree.flow import examine as examining
from witnesstree.flow.verified import VerifiedStore


def edit(path: str, *statements: str) -> None:
    """Edit the file as an attacker."""
    connection = apsw.Connection(path)
    try:
        for statement in statements:
            connection.execute(statement)
    finally:
        connection.close()


def after_examination(monkeypatch: pytest.MonkeyPatch, act: Callable[[], None]) -> None:
    """Let somebody act right after each full check."""
    from witnesstree.flow import audit, relocate

    plain = examining.examine

    def examine(*args: Any, **options: Any) -> Any:
        found = plain(*args, **options)
        act()
        return found

    for module in (audit, relocate):
        monkeypatch.setattr(module, "examine", examine)


EDITS = {
    "changed": "UPDATE memory SET content = CAST(replace(content, 'DE89', 'XX00') AS BLOB)",
    "deleted": "DELETE FROM memory WHERE seq = 3",
}


@pytest.mark.parametrize("what", EDITS)
@pytest.mark.parametrize("verb", ["fork", "restore", "rotate"])
def test_edit_right_after_the_check_is_never_sealed_as_truth(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str, what: str
) -> None:
    """T-T7: the copy or the rotated store holds the genuine words, or the verb fails; afterwards nothing false is served."""
    path, target = str(tmp_path / "agent.db"), str(tmp_path / "copy.db")
    memory = Memory.open(path, user="ana")
    memory.add("One more line.")
    memory.add("The rent account is DE89.")
    genuine = [m.text for m in memory.list().items]
    backup = str(tmp_path / "backup.db")
    memory.backup(backup)
    source = backup if verb == "restore" else path

    def act() -> None:
        try:
            edit(source, EDITS[what])
        except apsw.BusyError:
            pass

    with monkeypatch.context() as patch:
        after_examination(patch, act)
        try:
            if verb == "rotate":
                memory.rotate_keys()
            elif verb == "fork":
                memory.fork(target)
            else:
                Memory.restore(backup, target)
        except IntegrityError:
            pass
    memory.close()
    for place in (target, path):
        if not Path(place).exists():
            continue
        try:
            with Memory.open(place, user="ana") as again:
                assert [m.text for m in again.list().items] == genuine
        except IntegrityError:
            pass


def test_fork_of_a_rolled_back_live_store_is_refused(tmp_path: Path) -> None:
    """T-C9: a fork is a read like any other: it goes through anchor and head."""
    path = tmp_path / "agent.db"
    memory = Memory.open(str(path), user="ana")
    memory.add("first")
    memory.close()
    old = path.read_bytes()
    memory = Memory.open(str(path), user="ana")
    memory.add("second")
    memory.close()
    memory = Memory.open(str(path), user="ana")
    path.write_bytes(old)
    with pytest.raises(IntegrityError):
        memory.fork(str(tmp_path / "fork.db"))
    assert not (tmp_path / "fork.db").exists()
    memory.close()
    with pytest.raises(StoreError, match="closed"):
        memory.fork(str(tmp_path / "fork.db"))


@pytest.mark.parametrize("failing", ["scrub", "follow", "cache"])
def test_failure_after_the_commit_of_an_erasure_undoes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    """T-I10: the receipt is given, the erasure is remembered, and an older backup does not bring the memory back."""
    path, backup = str(tmp_path / "agent.db"), str(tmp_path / "backup.db")
    with Memory.open(path, user="ana") as memory:
        made = memory.add(["stays here", "secret zqxjwv"]).episodes
        memory.backup(backup)

        def fail(*args: object, **options: object) -> None:
            raise StoreError("no room", reason="full")

        with monkeypatch.context() as patch:
            target: tuple[type, str] = {
                "scrub": (VerifiedStore, "scrub"),
                "follow": (FileAnchor, "advance"),
                "cache": (VerifiedStore, "drop_cache"),
            }[failing]
            patch.setattr(*target, fail)
            receipt = memory.forget(made[1])
        assert receipt.note and receipt.memories == 1
        assert receipt.state == ("done" if failing == "follow" else "pending")
        assert receipt.anchor_behind is (failing == "follow")
    assert Memory.restore(backup, str(tmp_path / "restored.db")).ok
    with Memory.open(str(tmp_path / "restored.db"), user="ana") as memory:
        assert [m.text for m in memory.list().items] == ["stays here"]


def test_torn_mark_file_loses_no_later_mark(tmp_path: Path, home: Path) -> None:
    """T-I10: a crash in the middle of writing marks must not shift those that come after."""
    path, backup = str(tmp_path / "agent.db"), str(tmp_path / "backup.db")
    with Memory.open(path, user="ana") as memory:
        made = memory.add(["one zqxjwv", "two zqxjwv", "stays"]).episodes
        memory.backup(backup)
        memory.forget(made[0])
        marks = next((home / "state" / "tombstones").glob("*.marks"))
        with marks.open("ab") as file:
            file.write(b"\x01" * 7)
        memory.forget(made[1])
    Memory.restore(backup, str(tmp_path / "restored.db"))
    with Memory.open(str(tmp_path / "restored.db"), user="ana") as memory:
        assert [m.text for m in memory.list().items] == ["stays"]


def test_pending_scrub_that_fails_does_not_fail_the_next_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A committed write is acknowledged, whatever housekeeping does afterwards."""
    with Memory.open(str(tmp_path / "agent.db"), user="ana") as memory:
        memory._store.scrub_pending = True
        with monkeypatch.context() as patch:
            patch.setattr(VerifiedStore, "scrub", lambda self: (_ for _ in ()).throw(StoreError("no room")))
            assert memory.add("kept").added == 1
        assert memory.search("kept").hits


def test_failed_opens_leak_no_file(tmp_path: Path) -> None:
    """A store that is refused again and again costs nothing that stays."""
    path = tmp_path / "agent.db"
    Memory.open(str(path)).close()
    shutil.copy(path, tmp_path / "old.db")
    with Memory.open(str(path), user="ana") as memory:
        memory.add("x")
    path.write_bytes((tmp_path / "old.db").read_bytes())
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(10):
        with pytest.raises(Error):
            Memory.open(str(path))
    assert len(list(Path("/proc/self/fd").iterdir())) <= before


def test_correction_through_an_agent_is_attested_not_authorized(tmp_path: Path) -> None:
    """T-L1: an agent that corrects a tool's line does not make it the user's own word."""
    with Memory.open("ram:", user="ana", agent="bot") as memory:
        made = memory.add({"role": "tool", "content": "Pay to XX00."}).episodes[0]
        memory.update(made, "Pay to XX01.")
        assert memory.get(made).authority == "attested"
        assert memory.get(made).actor == "agent:bot"
