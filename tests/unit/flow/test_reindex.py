"""Exchanging all vectors: whole or not at all, resumed after an interruption, and nothing of what was erased is kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from witnesstree import Memory
from witnesstree.errors import InputError, IntegrityError, StoreError
from witnesstree.flow import reindex as module
from witnesstree.flow.vectors import pack_vector

DIM = 24


class Counting:
    """An embedder that counts texts, and does what it is told to before each batch."""

    floor = 0.3
    dim = DIM

    def __init__(self, name: str, before: Callable[[Counting], None] = lambda self: None) -> None:
        self.id = name
        self.texts: list[str] = []
        self._before = before

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One vector a text, from its letters."""
        self._before(self)
        self.texts += texts
        return np.array([self.embed_query(text) for text in texts], np.float32).reshape(len(texts), DIM)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """The letters counted, as a vector of length 1."""
        found = np.zeros(DIM, np.float32)
        for letter in f"{self.id}{text}".encode():
            found[letter % DIM] += 1
        return found / np.float32(np.linalg.norm(found))


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three rows a piece."""
    monkeypatch.setattr(module, "PIECE", 3)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store with vectors of "old", of two users, with a correction, a withdrawal and an erasure."""
    (tmp_path / "data").mkdir()
    place = tmp_path / "data" / "a.db"
    with Memory.open(place, user="ana", embedder=Counting("old")) as memory:
        ids = memory.add([f"ana {n} pear" for n in range(10)]).episodes
        memory.update(ids[0], "ana corrected")
        memory.retract(ids[1])
        memory.forget(ids[2])
        memory.add([f"bob {n} plum" for n in range(4)], user="bob")
    return place


def holds(folder: Path, needle: bytes) -> bool:
    """Whether any file in a folder holds these bytes."""
    return any(needle in path.read_bytes() for path in folder.rglob("*") if path.is_file())


def vectors_in(memory: Memory) -> list[bytes]:
    """Every stored vector."""
    with memory._store.reading() as reading:
        return [row.vector for row in reading.snapshot.all_rows()]


def test_every_vector_is_exchanged_and_nothing_else_changes(path: Path) -> None:
    """Texts, ids, versions, history, log positions of old rows stay; the log says what was done; other processes follow."""
    with Memory.open(path, user="ana", embedder=Counting("old")) as old:
        before = [(item.id, item.version, item.text) for item in old.list().items]
        scores = old.search("ana 5 pear").hits
        size = old.audit().size
        new = Counting("new")
        with Memory.open(path, user="ana", embedder=new) as memory:
            with pytest.raises(InputError, match="reindex"):
                memory.search("pear")
            with pytest.raises(InputError, match="reindex"):
                memory.add("one more pear")
            done: list[tuple[int, int]] = []
            result = memory.reindex(progress=lambda at, total: done.append((at, total)))
            assert (result.model, result.rows) == ("new", 15)
            assert done[-1][0] == done[-1][1] == max(at for at, _ in done)
            assert {vector[:4] for vector in vectors_in(memory) if vector} == {b"\x03new"}
            assert [(item.id, item.version, item.text) for item in memory.list().items] == before
            assert memory.search("ana 5 pear").hits[0].id == scores[0].id
            report = memory.audit()
            assert report.ok and report.size == size + 2
            assert memory.reindex().rows == 0
            assert memory.audit().size == report.size
        with pytest.raises(InputError, match="new"):
            old.search("pear")
        assert [item.text for item in old.list().items] == [text for _, _, text in before]


def test_interrupted_run_changes_nothing_and_is_resumed(path: Path) -> None:
    """Ctrl-C after some pieces: readers see the old vectors; the second run embeds what is missing only."""

    def stop(embedder: Counting) -> None:
        if len(embedder.texts) >= 6:
            raise KeyboardInterrupt

    first, second = Counting("new", stop), Counting("new")
    with Memory.open(path, user="ana", embedder=first) as memory, pytest.raises(KeyboardInterrupt):
        memory.reindex()
    with Memory.open(path, user="ana", embedder=Counting("old")) as old:
        assert old.search("ana 5 pear").hits and old.audit().ok
    with Memory.open(path, user="ana", embedder=second) as memory:
        assert memory.reindex().rows == 15
        assert memory.search("ana 5 pear").hits
    assert len(first.texts) >= 6
    assert len(first.texts) + len(second.texts) == 15


def test_failure_in_the_last_step_changes_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk at the commit: the old vectors stay, the computed ones are kept for the next run."""
    new = Counting("new")
    with Memory.open(path, user="ana", embedder=new) as memory:
        with monkeypatch.context() as patch:
            patch.setattr(module, "rewrite", lambda *a, **k: (_ for _ in ()).throw(StoreError("full", reason="full")))
            with pytest.raises(StoreError):
                memory.reindex()
        count = len(new.texts)
        assert {vector[:4] for vector in vectors_in(memory) if vector} == {b"\x03old"}
        assert memory.reindex().rows == 15
        assert len(new.texts) == count == 15


def test_rows_written_meanwhile_get_a_vector_too(path: Path) -> None:
    """Another process adds and erases between the pieces."""
    with Memory.open(path, user="ana", embedder=Counting("old")) as other:
        seen: list[int] = []

        def write(embedder: Counting) -> None:
            seen.append(len(embedder.texts))
            if len(seen) == 2:
                other.add("ana writes meanwhile", user="ana")
                other.add("cem is new here", user="cem")
                other.forget(other.list(user="bob").items[0].id, user="bob")

        with Memory.open(path, user="ana", embedder=Counting("new", write)) as memory:
            memory.reindex()
            assert {vector[:4] for vector in vectors_in(memory) if vector} == {b"\x03new"}
            assert memory.search("ana writes meanwhile").hits[0].text == "ana writes meanwhile"
            assert memory.search("cem is new here", user="cem").hits
            assert len(memory.list(user="bob").items) == 3
            assert memory.audit().ok


def test_remote_embedder_is_not_waited_for_in_the_last_step(path: Path) -> None:
    """Rows that came in meanwhile are kept without a vector, counted, and filled by the next run."""
    with Memory.open(path, user="ana", embedder=Counting("old")) as other:
        texts = [f"cem {n} is new here" for n in range(9)]

        def write(embedder: Counting) -> None:
            if texts:  # were a transaction open now, this would wait for it and fail
                other.add(texts.pop(), user="cem")

        remote = Counting("new", write)
        remote.is_remote = True
        with Memory.open(path, user="ana", embedder=remote) as memory:
            result = memory.reindex()
            assert result.left >= 1
            added = 9 - len(texts)
            texts.clear()
            assert memory.reindex().rows == result.left
            assert memory.reindex().rows == 0
            assert len(memory.list(user="cem").items) == added and memory.audit().ok


def test_without_an_embedder_the_vectors_go(path: Path) -> None:
    """Words only: nothing of any vector stays in the store's files."""
    with Memory.open(path, user="ana", embedder=Counting("old")) as memory:
        vector = memory._store.vectors_of(["ana 5 pear"])[0]
    assert holds(path.parent, vector[4:])
    with Memory.open(path, user="ana", embedder="none") as memory:
        assert memory.reindex().rows == 15
        assert not any(vectors_in(memory))
        assert memory.search("pear").hits
    assert not holds(path.parent, vector[4:])


def test_store_that_was_altered_is_left_alone(path: Path) -> None:
    """The full check comes first."""
    import apsw

    connection = apsw.Connection(str(path))
    connection.execute("UPDATE memory SET vector = ? WHERE length(vector) > 0 AND seq > 9", (pack_vector("old", np.ones(DIM)),))
    connection.close()
    with pytest.raises(IntegrityError), Memory.open(path, user="ana", embedder=Counting("new"), examine=True) as memory:
        memory.reindex()
    with Memory.open(path, user="ana", embedder=Counting("old"), examine=True) as memory:
        assert not memory.audit().ok


def test_kept_pieces_are_sealed_and_go_with_an_erasure(path: Path, tmp_path: Path) -> None:
    """What an interrupted run left behind can be read by nobody, and an erasure removes it."""

    def stop(embedder: Counting) -> None:
        if len(embedder.texts) >= 6:
            raise KeyboardInterrupt

    with Memory.open(path, user="ana", embedder=Counting("new", stop)) as memory:
        with pytest.raises(KeyboardInterrupt):
            memory.reindex()
        pieces = [p for p in tmp_path.rglob("*.vectors") if p.is_file()]
        assert pieces
        vector = pack_vector("new", Counting("new").embed_query("ana 5 pear"))
        assert not any(vector[4:] in p.read_bytes() or b"ana" in p.read_bytes() for p in pieces)
    with Memory.open(path, user="ana", embedder=Counting("old")) as memory:
        for user in ("ana", "bob"):
            memory.forget(memory.list(user=user).items[0].id, user=user)
    assert not [p for p in tmp_path.rglob("*.vectors") if p.is_file()]


def test_piece_of_a_cache_that_was_changed_is_computed_again(path: Path, tmp_path: Path) -> None:
    """A folder of caches is not trusted: damaged, swapped and foreign files count as none."""

    def stop(embedder: Counting) -> None:
        if len(embedder.texts) >= 6:
            raise KeyboardInterrupt

    with Memory.open(path, user="ana", embedder=Counting("new", stop)) as memory, pytest.raises(KeyboardInterrupt):
        memory.reindex()
    pieces = sorted(p for p in tmp_path.rglob("*.vectors") if p.is_file())
    data = [p.read_bytes() for p in pieces]
    pieces[0].write_bytes(data[0][:-1] + bytes([data[0][-1] ^ 1]))
    if len(pieces) > 1:
        pieces[1].write_bytes(data[0])
    new = Counting("new")
    with Memory.open(path, user="ana", embedder=new) as memory:
        memory.reindex()
        for item in memory.list().items:
            assert memory.search(item.text).hits[0].id == item.id
        expected = {pack_vector("new", new.embed_query(item.text)) for item in memory.list(include_inactive=True).items}
        assert expected <= set(vectors_in(memory))
