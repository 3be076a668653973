"""The script that built the table: its arithmetic, and what it writes. The whole run takes half an hour and is not repeated."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from tests.house.source_tree import ROOT
from witnesstree.providers.data_files import CHECKSUMS, TABLE, VOCABULARY, read_vocabulary


@pytest.fixture(name="distill")
def distill_script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script as a module; the thread limits that it sets are taken back."""
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.setenv(name, "1")
    spec = importlib.util.spec_from_file_location("distill", ROOT / "scripts" / "distill.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def loss(table: np.ndarray, texts: list[list[int]], targets: np.ndarray) -> float:
    """The mean of 1 minus the cosine, written plainly."""
    sums = np.array([table[ids].sum(axis=0) for ids in texts])
    return float(np.mean(1 - (sums * targets).sum(axis=1) / np.linalg.norm(sums, axis=1)))


def test_gradient_is_the_slope_of_the_loss(distill: ModuleType) -> None:
    """Against differences, with a piece that comes twice in one text and one that comes in two."""
    dice = np.random.default_rng(1)
    texts = [[1, 2, 2], [0, 1], [4]]
    table, targets = dice.normal(size=(6, 5)), dice.normal(size=(3, 5))
    targets /= np.linalg.norm(targets, axis=1, keepdims=True)
    met, slope = distill.gradient(table, np.concatenate(texts), np.array([3, 2, 1]), targets)
    assert met.tolist() == [0, 1, 2, 4]
    for row, piece in enumerate(met):
        for column in range(5):
            step = np.zeros_like(table)
            step[piece, column] = 1e-6
            difference = (loss(table + step, texts, targets) - loss(table - step, texts, targets)) / 2e-6
            assert slope[row, column] == pytest.approx(difference, abs=1e-6)


def test_script_writes_both_files_and_prints_their_digests(
    distill: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With random vectors in place of the encoder's, a few texts, and one step; rows of no meaning stay zero."""
    dice = np.random.default_rng(2)
    vocabulary = read_vocabulary()
    monkeypatch.setattr(distill, "read_model", lambda wheel: ({}, vocabulary))
    monkeypatch.setattr(distill, "teach", lambda texts, wheel, jobs: dice.normal(size=(len(texts), 384)).astype(np.float32))
    monkeypatch.setattr(distill, "docstring_texts", lambda: iter(["Return a thing."]))
    monkeypatch.setattr(distill, "RANDOM_TEXTS", 1200)
    monkeypatch.setattr(distill, "STEPS", 1)
    for part in ("noun", "verb", "adj", "adv"):
        (tmp_path / f"data.{part}").write_text('00001740 03 n 01 tree 0 000 | a tall plant; "the tree fell"\n', "latin-1")
    monkeypatch.setattr(sys, "argv", ["distill.py", "model.whl", str(tmp_path), "--out", str(tmp_path / "out")])
    distill.main()
    table = np.load(tmp_path / "out" / TABLE)
    assert (table.dtype, table.shape) == (np.int8, (len(vocabulary), 256))
    assert not table[:999].any() and table[vocabulary.index("tree")].any() and not table[vocabulary.index("木")].any()
    digests = {name: hashlib.sha256((tmp_path / "out" / name).read_bytes()).hexdigest() for name in (TABLE, VOCABULARY)}
    assert capsys.readouterr().out.splitlines() == [f"{digest} {name}" for name, digest in digests.items()]
    assert digests[VOCABULARY] == CHECKSUMS[VOCABULARY]
