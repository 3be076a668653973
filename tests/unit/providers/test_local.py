"""The embedder that is always there: its data, its vectors, and the texts that it leaves to search by words."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hatchling.builders.wheel import WheelBuilder
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.house.source_tree import ROOT
from witnesstree.errors import ProviderError
from witnesstree.providers import data_files, local
from witnesstree.providers.data_files import CHECKSUMS, data_path, read_table
from witnesstree.providers.local import StaticEmbedder

EMBEDDER = StaticEmbedder()
ENGLISH = [
    "Where does my brother live?",
    "My sister has moved to Graz and works as a carpenter.",
    "I am allergic to peanuts, hazelnuts and walnuts.",
    "The flight to Lisbon leaves at nine on Friday.",
    "We adopted a puppy from the animal shelter last week.",
    "He repaired the engine of his old motorcycle by himself.",
    "thanks 😂 see you at the gym",
    "lasagna recipe",
]
OTHERS = [
    "Meine Schwester hat Tomaten hinter dem Haus gepflanzt.",
    "Elle a vendu son vélo la semaine dernière.",
    "Pociąg do Krakowa odjeżdża o siódmej.",
    "Toplantı ne zaman başlıyor?",
    "Мой брат купил новую машину.",
    "Τρώμε συχνά ψάρι στην παραλία.",
    "أختي تدرس الطب في الجامعة.",
    "हम कल बाज़ार गए थे।",
    "我姐姐在医院工作。iPhone 很好用",
    "妹は Python を習っています。",
    "새 전화기는 얼마예요?",
    "พี่สาวของฉันทำงานในโรงพยาบาล",
]


@pytest.mark.parametrize("name", CHECKSUMS)
def test_data_files_are_those_that_the_code_names(name: str) -> None:
    """A file that was exchanged would give other vectors under the same id."""
    assert hashlib.sha256(data_path(name).read_bytes()).hexdigest() == CHECKSUMS[name]


def test_data_files_belong_to_the_wheel() -> None:
    """What hatchling packs holds each file, so that an installed package has them."""
    packed = {file.distribution_path for file in WheelBuilder(str(ROOT)).recurse_included_files()}
    assert {f"witnesstree/providers/data/{name}" for name in CHECKSUMS} <= packed


@pytest.mark.parametrize("content", [None, b"", b"not an array", b"\x93NUMPY"])
def test_damaged_or_missing_data_is_an_error_that_says_what_to_do(
    content: bytes | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files that are not there, empty, or something else."""
    monkeypatch.setattr(data_files, "data_path", lambda name: tmp_path / name)
    for name in CHECKSUMS:
        if content is not None:
            (tmp_path / name).write_bytes(content)
    for read in (
        data_files.read_vocabulary,
        data_files.read_table,
        data_files.read_centre,
        lambda: StaticEmbedder().embed(["x"]),
    ):
        with pytest.raises(ProviderError, match="is missing or damaged: install witnesstree again"):
            read()


@pytest.mark.parametrize("wrong", [np.zeros((5, 256), np.int8), np.zeros((data_files.PIECES, 256), np.int16)])
def test_tables_of_another_form_are_refused(wrong: NDArray[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows for other pieces, or numbers of another kind, would give vectors that mean nothing."""
    monkeypatch.setattr(data_files, "data_path", lambda name: tmp_path / name)
    np.save(tmp_path / data_files.TABLE, wrong)
    with pytest.raises(ProviderError, match=r"table\.npy is missing or damaged"):
        read_table()


def test_vectors_have_length_one_and_the_shape_that_is_promised() -> None:
    """One row a text; a question has no rows."""
    vectors = EMBEDDER.embed(ENGLISH)
    assert (vectors.shape, vectors.dtype) == ((len(ENGLISH), EMBEDDER.dim), np.float32)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert EMBEDDER.embed_query(ENGLISH[0]).shape == (EMBEDDER.dim,)
    assert EMBEDDER.embed([]).shape == (0, EMBEDDER.dim)
    assert EMBEDDER.id == "local-1"


def test_vectors_are_the_same_bytes_on_every_machine() -> None:
    """The digest was made once; sums are of whole numbers, so it depends on no processor and no version of numpy."""
    digest = hashlib.sha256(EMBEDDER.embed(ENGLISH).astype("<f4").tobytes()).hexdigest()
    assert digest == "14c47b57703b526d6390b62aef5d0f927e85e72102705c56f512d6083e4c3eb6"


@given(texts=st.lists(st.one_of(st.text(max_size=40), st.sampled_from(ENGLISH + OTHERS)), max_size=8))
def test_vectors_do_not_depend_on_the_texts_beside_them(texts: list[str]) -> None:
    """Alone, in a batch, as a question: the same bytes; length 1 or all zero."""
    vectors = EMBEDDER.embed(texts)
    assert [row.tobytes() for row in vectors] == [EMBEDDER.embed_query(text).tobytes() for text in texts]
    lengths = np.linalg.norm(vectors, axis=1)
    assert np.all((lengths == 0) | (np.abs(lengths - 1) < 1e-6))


def test_long_texts_are_summed_in_parts_with_the_same_result(monkeypatch: pytest.MonkeyPatch) -> None:
    """A text longer than what is copied at a time points where its sentences point."""
    text = " ".join(ENGLISH[:6]) * 50
    whole = EMBEDDER.embed_query(text)
    monkeypatch.setattr(local, "_AT_ONCE", 7)
    assert EMBEDDER.embed_query(text).tobytes() == whole.tobytes()


def test_threads_share_one_embedder_and_get_the_same_vectors() -> None:
    """Also when the first texts of all threads come before the table is loaded."""
    fresh = StaticEmbedder()
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(fresh.embed, [ENGLISH] * 16))
    assert {result.tobytes() for result in results} == {EMBEDDER.embed(ENGLISH).tobytes()}


def test_related_texts_are_near_and_others_are_not() -> None:
    """Questions find the sentence that answers them, with no word in common, above the floor; most other pairs are below it."""
    questions = ["Which nuts must be avoided?", "When is the plane?", "Does anybody have a dog?", "Who fixes bikes?"]
    answers = [ENGLISH[2], ENGLISH[3], ENGLISH[4], ENGLISH[5]]
    cosines = np.array([EMBEDDER.embed_query(question) for question in questions]) @ EMBEDDER.embed(answers).T
    assert cosines.argmax(axis=1).tolist() == [0, 1, 2, 3]
    assert cosines.diagonal().min() > EMBEDDER.floor
    assert np.median(cosines[~np.eye(4, dtype=np.bool_)]) < EMBEDDER.floor


@pytest.mark.parametrize("text", OTHERS)
def test_texts_that_are_not_english_have_no_vector(text: str) -> None:
    """Single letters of words mean nothing, so these are left to search by words."""
    assert not EMBEDDER.embed_query(text).any()


@pytest.mark.parametrize(
    "text", ["", " \n", "?!", "😂", "\x00", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "☃" * 500]
)
def test_texts_without_a_known_word_have_no_vector(text: str) -> None:
    """Marks, emoji and strings of random letters."""
    assert not EMBEDDER.embed_query(text).any()


def test_rows_of_marks_and_other_scripts_are_zero() -> None:
    """A Chinese word in an English sentence adds nothing, and neither does a comma."""
    assert EMBEDDER.embed_query("my sister works in 医院").tobytes() == EMBEDDER.embed_query("My sister, works in!").tobytes()
    assert not read_table()[:999].any(), "the model's own signs"


def test_loading_needs_no_package_but_numpy() -> None:
    """A new interpreter that embeds has imported numpy and nothing else from outside."""
    script = (
        "import sys, json; before = set(sys.modules); from witnesstree.providers import make_embedder\n"
        "make_embedder('local').embed(['hello'])\n"
        "tops = {name.partition('.')[0] for name in set(sys.modules) - before}\n"
        "print(json.dumps(sorted(name for name in tops - set(sys.stdlib_module_names) if not name.startswith('_'))))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == ["numpy", "witnesstree"]
