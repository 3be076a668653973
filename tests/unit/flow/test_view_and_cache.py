"""Views follow the log step by step, and a cached view is the same view."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from witnesstree import Memory
from witnesstree.flow import cache
from witnesstree.flow.view import View
from witnesstree.flow.words import WordIndex
from witnesstree.rules.terms import words_of
from witnesstree.types.tombstone import read_tombstone, write_tombstone


@pytest.fixture(autouse=True)
def small_caches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cache from the first row on."""
    monkeypatch.setattr(cache, "CACHE_MIN_ROWS", 1)
    monkeypatch.setattr(cache, "CACHE_MIN_CHANGE", 1)


def cache_files(home: Path) -> list[Path]:
    """Return the cache files of this home."""
    return sorted((home / "cache").rglob("*.view"))


def all_answers(memory: Memory) -> list[object]:
    """Return what the memory answers."""
    found: list[object] = [[h.to_dict() for h in memory.search(q).hits] for q in ("rent", "pears garden", "房租", "line 7")]
    return [*found, memory.list(include_inactive=True).to_dict()]


def test_cached_view_answers_like_a_fresh_one_and_follows_later_writes(tmp_path: Path, home: Path) -> None:
    """Warm start, then writes of another process, then updates: always the truth."""
    store = str(tmp_path / "agent.db")
    with Memory.open(store, user="ana") as memory:
        ids = memory.add([f"line {n} rent pears 房租" for n in range(20)]).episodes
        memory.update(ids[3], "line 3 changed garden")
        memory.forget(ids[5])
        memory.search("rent")
    assert len(cache_files(home)) == 1
    with Memory.open(store, user="ana") as memory:
        warm = all_answers(memory)
    for file in cache_files(home):
        file.unlink()
    with Memory.open(store, user="ana") as memory:
        assert all_answers(memory) == warm
    with Memory.open(store, user="ana") as memory, Memory.open(store, user="ana") as other:
        memory.search("rent")
        other.update(ids[7], "line 7 changed elsewhere")
        other.forget(ids[8])
        assert all_answers(memory) == all_answers(other)


@pytest.mark.parametrize("damage", ["garbage", "cut", "flipped", "empty", "another owner's"])
def test_damaged_cache_file_is_ignored(tmp_path: Path, home: Path, damage: str) -> None:
    """The cache folder is not trusted: what does not open is built anew from the store (row P-088)."""
    store = str(tmp_path / "agent.db")
    with Memory.open(store, user="ana") as memory:
        memory.add(["rent account", "pears"])
        memory.add(["foreign secret"], user="bo")
        clean = all_answers(memory)
        memory.search("secret", user="bo")
    files = cache_files(home)
    data = files[0].read_bytes()
    others = files[1].read_bytes()
    for file in files:
        file.write_bytes(
            {
                "garbage": os.urandom(500),
                "cut": data[: len(data) // 2],
                "flipped": data[:-1] + bytes([data[-1] ^ 1]),
                "empty": b"",
                "another owner's": others if file == files[0] else data,
            }[damage]
        )
    with Memory.open(store, user="ana") as memory:
        assert all_answers(memory) == clean


def test_older_cache_file_put_back_is_caught_up_or_dead(tmp_path: Path, home: Path) -> None:
    """A stale cache is brought up to date; one from before an erasure can't even be opened."""
    store = str(tmp_path / "agent.db")
    with Memory.open(store, user="ana") as memory:
        made = memory.add(["rent account", "secret zqxjwv"]).episodes
        memory.search("rent")
    old = cache_files(home)[0].read_bytes()
    with Memory.open(store, user="ana") as memory:
        memory.add("pears in the garden")
    cache_files(home)[0].write_bytes(old)
    with Memory.open(store, user="ana") as memory:
        assert len(memory.search("pears").hits) == 1
        memory.forget(made[1])
    for file in cache_files(home) or [home / "cache" / memory.store_id / "x.view"]:
        file.write_bytes(old)
    with Memory.open(store, user="ana") as memory:
        assert not memory.search("zqxjwv").hits
        assert len(memory.search("pears rent").hits) == 2


def test_cache_holds_no_word_of_what_was_erased(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The plain bytes that are sealed into the file name no erased word."""
    dumps: list[tuple[bytes, bytes]] = []
    original = View.dump
    monkeypatch.setattr(View, "dump", lambda self: dumps.append(original(self)) or dumps[-1])
    with Memory.open(str(tmp_path / "agent.db"), user="ana") as memory:
        made = memory.add(["rent account", "secret zqxjwv", "more words"]).episodes
        memory.search("rent")
        memory.forget(made[1])
        memory.search("rent")
    assert dumps
    assert b"zqxjwv" not in b"".join(part for dump in dumps for part in dump)
    assert bytes.fromhex(made[1]) not in b"".join(part for dump in dumps for part in dump)


def test_words_index_scores_the_same_built_at_once_or_step_by_step() -> None:
    """Incremental adding, sealing, removing: scores are those of a fresh index over what is left."""
    texts = [f"alpha beta {'gamma ' * (n % 4)} number{n} 房租" for n in range(600)]
    stepwise = WordIndex()
    for number, text in enumerate(texts):
        stepwise.add(words_of(text))
        if number in (10, 300, 500):
            stepwise.scores(["alpha"], np.ones(len(stepwise), np.bool_))
    visible = np.ones(600, np.bool_)
    for document in (3, 77, 599):
        stepwise.remove([document])
        visible[document] = False
    fresh = WordIndex()
    for number, text in enumerate(texts):
        fresh.add(words_of(text) if visible[number] else [])
    for query in (["alpha"], ["gamma", "number77"], ["房租", "number5"], ["absent"]):
        assert np.allclose(stepwise.scores(query, visible), fresh.scores(query, visible))
    assert "number77" not in stepwise.vocabulary
    loaded = WordIndex.load(*stepwise.dump(np.flatnonzero(visible)))
    assert np.allclose(loaded.scores(["gamma"], np.ones(597, np.bool_)), stepwise.scores(["gamma"], visible)[visible])


def test_tombstone_payload_packs_positions_into_ranges() -> None:
    """Marks sorted and unique, positions as ranges, and back."""
    marks, seqs = [b"b" * 16, b"a" * 16, b"b" * 16], [5, 6, 7, 9, 11, 10]
    assert read_tombstone(write_tombstone(marks, seqs)) == ([b"a" * 16, b"b" * 16], [(5, 7), (9, 11)])
    assert read_tombstone(write_tombstone([], [])) == ([], [])
