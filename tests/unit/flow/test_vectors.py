"""Stored vectors: packing loses little, other models are never compared, erased ones are overwritten."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from witnesstree import Memory
from witnesstree.errors import InputError
from witnesstree.flow.vectors import Vectors, model_of, pack_vector
from witnesstree.providers import as_embedder, make_embedder


def unit(seed: int, dim: int = 32) -> np.ndarray:
    """A vector of length 1."""
    values = np.random.default_rng(seed).normal(size=dim).astype(np.float32)
    return values / np.linalg.norm(values)


@given(st.lists(st.integers(0, 10_000), min_size=1, max_size=200), st.data())
def test_cosines_are_those_of_the_floats(seeds: list[int], data: st.DataObject) -> None:
    """One byte a component keeps a cosine to within a hundredth, in whatever steps vectors come in."""
    vectors = Vectors()
    query = unit(77)
    for seed in seeds:
        vectors.add(pack_vector("m-1", unit(seed)))
        if data.draw(st.booleans()):
            vectors.cosines(query)
    wanted = np.array([unit(seed) @ query for seed in seeds])
    assert np.allclose(vectors.cosines(query), wanted, atol=0.01)
    loaded = Vectors.load(*[part if n == 0 else memoryview(part) for n, part in enumerate(vectors.dump(np.arange(len(seeds))))])
    assert np.array_equal(loaded.cosines(query), vectors.cosines(query)) and loaded.models == {"m-1"}


def test_what_has_no_vector_or_one_of_another_model_counts_as_nothing() -> None:
    """Empty, all zero, another model, another dimension: cosine 0, and the other model's name is known."""
    vectors = Vectors()
    for stored in (
        b"",
        pack_vector("a", unit(1)),
        pack_vector("a", np.zeros(32, np.float32)),
        pack_vector("b", unit(1)),
        b"\x09x",
    ):
        vectors.add(stored)
    vectors.add(pack_vector("a", unit(1, 16)))
    found = vectors.cosines(unit(1))
    assert found[1] > 0.99 and not found[[0, 2, 3, 4, 5]].any()
    assert {"a", "b"} <= vectors.models and model_of(b"") == ""
    assert not vectors.cosines(unit(1, 16)).any()
    vectors.remove([1])
    assert not vectors.cosines(unit(1)).any() and not vectors.known.any()


class Other:
    """An embedder with another id."""

    id, dim, floor = "other-1", 256, 0.4

    def embed(self, texts):
        """The local one's vectors."""
        return make_embedder("local").embed(texts)

    def embed_query(self, text):
        """The local one's vector."""
        return make_embedder("local").embed_query(text)


def test_vectors_of_another_embedder_are_refused_by_name(tmp_path) -> None:
    """Nothing is compared with what another model made; words only still works."""
    store = str(tmp_path / "a.db")
    with Memory.open(store, user="ana") as memory:
        memory.add("green tea in the garden")
    with Memory.open(store, user="ana", embedder=Other()) as memory, pytest.raises(InputError, match="local-1"):
        memory.search("tea")
    with Memory.open(store, user="ana", embedder="none") as memory:
        assert memory.search("tea").hits[0].signals["meaning"] == 0
    with pytest.raises(InputError, match="embedder"):
        Memory.open(store, embedder="best")
    with pytest.raises(InputError, match="embedder"):
        as_embedder(3)


class Malformed(Other):
    """An embedder that answers whatever it was given."""

    def __init__(self, answer: object, **about: object) -> None:
        self.answer = answer
        for name, value in about.items():
            setattr(self, name, value)

    def embed(self, texts: list[str]) -> object:
        """The answer."""
        return self.answer


@pytest.mark.parametrize(
    "about", [{"id": ""}, {"id": "ü"}, {"id": 5}, {"id": "a\nb"}, {"id": "x" * 65}, {"dim": 0}, {"dim": -1}, {"dim": "4"}]
)
def test_embedder_whose_name_or_size_can_not_be_kept_is_refused_at_open(about: dict[str, object]) -> None:
    """In one line, before anything is written; the same for a floor that is no cosine."""
    for wrong in (about, {"floor": float("nan")}, {"floor": 2}):
        with pytest.raises(InputError) as caught:
            Memory.open("ram:", user="u", embedder=Malformed(None, **wrong))
        assert caught.value.attributes["field"] == "embedder"


@pytest.mark.parametrize(
    "answer",
    [None, [], "x", np.zeros((1, 3)), np.zeros(256), np.full((1, 256), np.nan), np.full((1, 256), np.inf), np.zeros((2, 256))],
    ids=range(8),
)
def test_embedder_that_gives_no_vectors_costs_no_words(answer: object) -> None:
    """What it gives is never stored; the words are, and the result says so."""
    with Memory.open("ram:", user="u", embedder=Malformed(answer)) as memory:
        added = memory.add("a pear")
        assert added.without_vector == 1 and "finite numbers" in added.notes[0]
        assert memory.audit().ok and memory.list().items[0].text == "a pear"
