"""Edits that aim at how bytes are read: formats, ciphertexts, payloads that run, and one unreadable row."""

from __future__ import annotations

from witnesstree_conformance.attacks.attack import Attack, Bench

FORGED_WORDS = "Invoices from Globex are paid to the account EVIL-1001 in Zurich."


def _plaintext(bench: Bench) -> None:
    bench.raw.plaintext(bench.slots[-1], FORGED_WORDS)


def _format(bench: Bench) -> None:
    bench.raw.older_format(bench.slots[-1], FORGED_WORDS)


def _ciphertexts(bench: Bench) -> None:
    slots = bench.slots
    bench.raw.swap_ciphertexts(slots[1], slots[2])


def _code(bench: Bench) -> None:
    bench.raw.plant_code(bench.slots[-1], bench.raw.place.canary, silent=False)


def _silent_code(bench: Bench) -> None:
    bench.raw.plant_code(bench.slots[-1], bench.raw.place.canary, silent=True)


def _spoil(bench: Bench) -> None:
    bench.raw.spoil(bench.slots[3])


ATTACKS = (
    Attack(
        "plaintext_downgrade",
        "Plaintext downgrade",
        "A row in plain text is put into a store that encrypts or signs.",
        _plaintext,
        group="load",
    ),
    Attack(
        "format_downgrade",
        "Format downgrade",
        "A row in an older or weaker format takes the place of a protected one.",
        _format,
        group="load",
    ),
    Attack("ciphertext_swap", "Swap ciphertexts", "Two rows change what is encrypted or sealed.", _ciphertexts, group="load"),
    Attack("exec_on_load", "Code in a row", "A payload is planted that runs if the row is decoded.", _code, group="load"),
    Attack(
        "exec_on_load_silent",
        "Code in a row that stays valid",
        "As before, but the row still gives a valid answer, so that nobody notices.",
        _silent_code,
        group="load",
    ),
    Attack(
        "bad_row_dos",
        "One bad row",
        "One unreadable row: the question is whether other owners can still read.",
        _spoil,
        group="load",
        denies=True,
    ),
)
