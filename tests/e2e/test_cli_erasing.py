"""Erasing with a receipt, and checking receipts and proofs away from the store."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.conftest import Wtree
from witnesstree.testing.tamper import find_bytes

AWAY = {"WITNESSTREE_HOME": "/nonexistent/home", "WITNESSTREE_STORE": "", "WITNESSTREE_USER": ""}


def test_a_receipt_is_checked_with_the_key_alone(filled: Wtree, home: Path):
    """The words are gone from every file; the receipt verifies without store and home; an altered one does not."""
    done = filled("forget", "{rent}", "--receipt", "{tmp}/receipt.txt")
    assert (done.code, done.err) == (0, "")
    receipt = (filled.folder / "receipt.txt").read_text(encoding="utf-8")
    (filled.folder / "rent.proof").unlink()
    (filled.folder / "old.backup").unlink()
    assert find_bytes([filled.folder, home], [b"865 euros", filled.ids["rent"].encode(), bytes.fromhex(filled.ids["rent"])]) == []
    checked = filled("verify-receipt", "{tmp}/receipt.txt", "--key", "{key}", "--json", **AWAY)
    assert (checked.code, checked.json["memories"], checked.json["bytes"]) == (0, "1", "overwritten")
    altered = filled("verify-receipt", "-", "--key", "{key}", stdin=receipt.replace("memories 1", "memories 2"), **AWAY)
    assert (altered.code, altered.out) == (6, "")


def test_a_receipt_on_standard_output_is_the_signed_text(filled: Wtree):
    """It can be piped into the check as it is; the summary goes to standard error."""
    done = filled("forget", "--where", '{"role": "tool"}')
    assert done.err == "1 memory (1 version) erased\n"
    assert filled("verify-receipt", "-", "--key", "{key}", stdin=done.out, **AWAY).code == 0


def test_a_proof_is_checked_with_the_key_alone(filled: Wtree):
    """The memory is shown; one flipped byte, or the key of another store, is refused."""
    proof = filled("prove", "{sister}").out
    checked = filled("verify-receipt", "-", "--key", "{key}", "--json", stdin=proof, **AWAY)
    assert (checked.code, checked.json["text"], checked.json["user"]) == (0, "My sister lives in Porto.", "mira")
    at = len(proof) // 3
    flipped = proof[:at] + ("A" if proof[at] != "A" else "B") + proof[at + 1 :]
    assert filled("verify-receipt", "-", "--key", "{key}", stdin=flipped, **AWAY).code == 6
    assert filled.here("fork", "{tmp}/fork.db").code == 0
    other = filled("keys", "verifier", "--store", "{tmp}/fork.db").out.strip()
    assert filled("verify-receipt", "-", "--key", other, stdin=proof, **AWAY).code == 6


def test_erasing_nothing_leaves_no_receipt_file(filled: Wtree):
    """Nothing matched, or the id is unknown: no empty file stays behind."""
    done = filled("forget", "--session", "never", "--receipt", "{tmp}/r.txt")
    assert (done.code, done.out) == (0, "0 memories (0 versions) erased\n")
    assert filled("forget", "{none}", "--receipt", "{tmp}/r.txt").code == 4
    assert not (filled.folder / "r.txt").exists()


def test_a_dry_run_erases_nothing(filled: Wtree):
    """It says how much it would be."""
    done = filled("forget", "--everything", "--dry-run", "--json")
    assert (done.json["memories"], done.json["state"]) == (4, "dry_run")
    assert filled.here("show", "{rent}").code == 0


@pytest.mark.parametrize("chosen", [["--session", "s2"], ["--where", '{"session": "s2"}'], ["--everything", "--yes"]])
def test_what_was_erased_is_not_found_any_more(filled: Wtree, chosen: list[str]):
    """By session, by filter, everything."""
    assert filled("forget", *chosen).code == 0
    assert filled.here("show", "{pear}").code == 4
    assert filled.here("show", "{sister}").code == 4
    assert filled.here("show", "{rent}").code == (4 if "--everything" in chosen else 0)
    assert filled.here("audit").code == 0
