"""Our WordPiece gives what the library `tokenizers` gives for BERT (uncased), on texts of every script."""

from __future__ import annotations

import sys
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer
from tokenizers.models import WordPiece as ReferenceModel
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

from witnesstree.providers import wordpiece
from witnesstree.providers.data_files import read_vocabulary
from witnesstree.providers.wordpiece import MAX_WORD, UNKNOWN, WordPiece

VOCABULARY = read_vocabulary()
NUMBERS = {piece: number for number, piece in enumerate(VOCABULARY)}
OURS = WordPiece(VOCABULARY)

# Blocks in which both sides have the same Unicode tables. Elsewhere a character may be newer than the library's tables.
BLOCKS = [(0x00, 0x5FF), (0x620, 0x6FF), (0x900, 0x97F), (0xE00, 0xE7F), (0x1E00, 0x1FFF), (0x2000, 0x206F), (0x2190, 0x2BFF)]
BLOCKS += [(0x3000, 0x30FF), (0x4E00, 0x9FFF), (0xAC00, 0xD7A3), (0xF900, 0xFAFF), (0xFF00, 0xFFFD), (0x1F300, 0x1FAFF)]
BLOCKS += [(0x20000, 0x2CEAF), (0x2F800, 0x2FA1F)]
characters = st.one_of(*(st.characters(min_codepoint=low, max_codepoint=high) for low, high in BLOCKS))
pieces = st.sampled_from(VOCABULARY).map(lambda piece: piece.removeprefix("##"))
long_words = st.integers(MAX_WORD - 2, MAX_WORD + 2).map(lambda length: "ab1" * (length // 3) + "z" * (length % 3))
marks = st.sampled_from(
    ["e\u0301", "e\u0323\u0301", "n\u0303o", "\u1e69", "I\u0307", "ΟΔΟΣ", "İstanbul", "ﬁ", "ǆ", "각", "\u1112\u1161\u11ab"]
)
spaces = st.sampled_from(
    [" ", "", "\n", "\t", "\r\n", "\u00a0", "\u2003", "\u2028", "\u200b", "\x00", "\x0b", "\x85", "\ufffd", "-", "'"]
)
texts = st.lists(st.one_of(characters, pieces, long_words, marks, spaces), max_size=30).map("".join)


@pytest.fixture(scope="module", name="reference")
def reference_tokenizer() -> Tokenizer:
    """The library's tokeniser with BERT's steps and our vocabulary."""
    tokenizer = Tokenizer(ReferenceModel(NUMBERS, unk_token=UNKNOWN, max_input_chars_per_word=MAX_WORD))
    tokenizer.normalizer = BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = BertPreTokenizer()
    return tokenizer


@given(text=texts)
def test_pieces_are_those_of_the_reference(reference: Tokenizer, text: str) -> None:
    """Accents, Chinese, emoji, Arabic, control characters and long words included."""
    assert OURS.ids(text) == reference.encode(text).ids


@given(text=st.text(st.characters(max_codepoint=127), max_size=200))
def test_pieces_of_plain_text_are_those_of_the_reference(reference: Tokenizer, text: str) -> None:
    """ASCII has a faster way, which must not show."""
    assert OURS.ids(text) == reference.encode(text).ids


def test_characters_differ_only_where_the_reference_has_older_tables(reference: Tokenizer) -> None:
    """Every assigned character between two words, and a sample of the others: few are newer than the library knows."""
    every = [code for code in range(sys.maxunicode + 1) if not 0xD800 <= code <= 0xDFFF]
    codes = [code for code in every if unicodedata.category(chr(code)) not in ("Cn", "Co") or code % 97 == 0]
    texts = [f"ab{chr(code)}cd" for code in codes]
    theirs = [encoding.ids for encoding in reference.encode_batch(texts)]
    differ = [code for code, text, ids in zip(codes, texts, theirs, strict=True) if OURS.ids(text) != ids]
    assert len(differ) < 1000
    assert not [hex(code) for code in differ if any(low <= code <= high for low, high in BLOCKS)]


def test_words_are_cut_as_published_examples_are() -> None:
    """The example of the paper's code, accents, an unknown word, and Chinese characters alone."""
    assert [VOCABULARY[number] for number in OURS.ids("Unaffable, Élan! 日本x")] == [
        *("una", "##ffa", "##ble", ",", "el", "##an", "!", "日", "本", "x"),
    ]
    assert OURS.ids("\u1fbe☃☃") == [NUMBERS[UNKNOWN]]
    assert OURS.ids("") == OURS.ids(" \n\x00") == []


def test_lone_surrogates_are_dropped_like_control_characters() -> None:
    """A text that can't be written as UTF-8 still has its pieces."""
    assert OURS.ids("he\ud800llo \udfff") == OURS.ids("hello")


class Counting(dict[str, int]):
    """A vocabulary that counts how often it is asked."""

    asked = 0

    def get(self, key: str, default: Any = None) -> Any:
        """Count, and answer."""
        self.asked += 1
        return super().get(key, default)


def counted(monkeypatch: pytest.MonkeyPatch, text: str) -> int:
    """Return how often the vocabulary is asked for a text."""
    fresh, counting = WordPiece(VOCABULARY), Counting(NUMBERS)
    monkeypatch.setattr(fresh._pieces, "_vocabulary", counting)
    fresh.ids(text)
    return counting.asked


def test_effort_grows_in_proportion_to_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """No text makes a word cost more than its letters times the longest piece, and a word over the limit costs nothing."""
    longest = max(map(len, VOCABULARY))
    hostile = " ".join(f"{number:04d}" + "q" * (MAX_WORD - 5) + "☃" for number in range(50))
    assert 0 < counted(monkeypatch, hostile) <= len(hostile) * longest
    assert counted(monkeypatch, "q" * 1_000_000) == 0
    assert counted(monkeypatch, "e" + "\u0301" * 1_000_000) == 1


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Words and characters are kept up to a number; the pieces stay right when that is passed."""
    monkeypatch.setattr(wordpiece, "MAX_CACHED", 8)
    fresh = WordPiece(VOCABULARY)
    words = [f"wörd{number}é{chr(0x430 + number)}" for number in range(30)]
    assert [fresh.ids(word) for word in words] == [OURS.ids(word) for word in words]
    assert len(fresh._pieces) <= 8 and len(fresh._forms) <= 8
