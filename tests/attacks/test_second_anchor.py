"""Who takes the state folder with the store (tier C) is refused where a second anchor is on another disk (T-C9, edit-I6)."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from witnesstree import Memory
from witnesstree.errors import InputError, IntegrityError, LogError, StoreError, UnsupportedError

USER = "alice"


class World:
    """A store, a home whose key is handed in (tier C has no keys), and a folder on another disk, so to say."""

    def __init__(self, folder: Path) -> None:
        self.store, self.home, self.away = folder / "data" / "m.db", folder / "home", folder / "away"
        self.away.mkdir()
        self.store.parent.mkdir()
        self.kept = folder / "kept"

    def open(self, store: Path | None = None, *, anchor: str = "") -> Memory:
        return Memory.open(store or self.store, user=USER, anchor=anchor or f"file:{self.away}", embedder="none")

    def say(self, text: str) -> None:
        with self.open() as memory:
            memory.add(text)

    def keep(self) -> None:
        for part in (self.store.parent, self.home):
            shutil.copytree(part, self.kept / part.name)

    def put_back(self) -> None:
        for part in (self.store.parent, self.home):
            shutil.rmtree(part)
            shutil.copytree(self.kept / part.name, part)


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setenv("WITNESSTREE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("WITNESSTREE_KEY", "11" * 32)
    return World(tmp_path)


def test_store_and_state_put_back_together_are_refused(world: World):
    world.say("The first thing.")
    world.keep()
    world.say("The second thing.")
    world.put_back()
    with pytest.raises(LogError):
        world.open()
    # Without the second anchor this is the one edit that can't be seen: it is why there is one.
    with world.open(anchor="file") as memory:
        assert len(memory.list().items) == 1


def test_later_writes_on_the_older_copy_do_not_heal_it(world: World):
    world.say("The first thing.")
    world.keep()
    world.say("The second thing.")
    world.put_back()
    with world.open(anchor="file") as memory:
        memory.add("Another second thing.")
        memory.add("A third thing.")
    with pytest.raises(LogError):
        world.open()


def test_everything_deleted_is_refused(world: World):
    world.say("The first thing.")
    shutil.rmtree(world.home)
    shutil.rmtree(world.store.parent)
    world.store.parent.mkdir()
    with pytest.raises(IntegrityError) as refused:
        world.open()
    assert refused.value.reason == "store_replaced"


def test_another_genuine_store_with_its_own_state_is_refused(world: World):
    other = world.store.parent / "other.db"
    with world.open(other) as memory:
        memory.add("Another store.")
    world.say("The first thing.")
    for pin in (world.home / "state" / "places").iterdir():
        pin.unlink()
    shutil.copy2(other, world.store)
    with pytest.raises(IntegrityError) as refused:
        world.open()
    assert refused.value.reason == "store_replaced"


def test_a_store_can_be_given_a_second_anchor_later(world: World):
    with world.open(anchor="file") as memory:
        memory.add("The first thing.")
    with world.open() as memory:
        assert len(memory.list().items) == 1
    world.keep()
    world.say("The second thing.")
    world.put_back()
    with pytest.raises(LogError):
        world.open()


def test_an_anchor_that_was_away_catches_up(world: World):
    world.say("The first thing.")
    with world.open(anchor="file") as memory:
        memory.add("Said while the disk was away.")
    with world.open() as memory:
        assert len(memory.list().items) == 2


def test_a_second_folder_that_lost_its_anchor_is_not_taken_for_a_new_one(world: World):
    world.say("The first thing.")
    shutil.rmtree(world.away)
    world.away.mkdir()
    with pytest.raises(LogError) as refused:
        world.open()
    assert refused.value.reason == "anchor_missing"


def test_a_disk_that_is_not_mounted_is_an_error_that_says_so(world: World):
    with pytest.raises(StoreError, match="mount it"):
        world.open(anchor=f"file:{world.away}/nowhere")


def test_the_environment_names_it_too(world: World, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("WITNESSTREE_ANCHOR", f"file:{world.away}")
    with Memory.open(world.store, user=USER, embedder="none") as memory:
        memory.add("The first thing.")
    assert list((world.away / "anchors").iterdir())


@pytest.mark.parametrize("anchor", ["etcd://here", "file:", "nothing"])
def test_an_unknown_form_is_refused(world: World, anchor: str):
    with pytest.raises(UnsupportedError, match="file:FOLDER"):
        world.open(anchor=anchor)


def test_a_relative_folder_is_refused(world: World):
    with pytest.raises(InputError, match="absolute"):
        world.open(anchor="file:away")
