"""Edits of the history, log or receipts that a store keeps about its entries."""

from __future__ import annotations

from witnesstree_conformance.attacks.attack import Attack, Bench


def _log_only(bench: Bench) -> None:
    bench.raw.edit_log()


def _log_cut(bench: Bench) -> None:
    bench.raw.cut_log()


def _log_and_rows(bench: Bench) -> None:
    bench.raw.cut_log_and_rows(bench.slots[-2:])


def _log_and_head(bench: Bench) -> None:
    bench.raw.cut_log_and_head(bench.slots[-2:])


def _log_empty(bench: Bench) -> None:
    bench.raw.empty_log()


ATTACKS = (
    Attack("log_only", "Edit the log", "One entry of the log is changed; rows stay.", _log_only, group="log"),
    Attack("log_cut", "Cut the log", "The newest entry of the log is deleted; rows stay.", _log_cut, group="log"),
    Attack(
        "log_and_rows",
        "Cut log and rows",
        "The two newest entries are deleted together with what the log says about them.",
        _log_and_rows,
        group="log",
        removes=True,
    ),
    Attack(
        "log_and_head",
        "Cut log, rows and head",
        "As before, and the head is put back to what it said before them.",
        _log_and_head,
        group="log",
        removes=True,
    ),
    Attack("log_empty", "Empty the log", "Every entry of the log is deleted; rows stay.", _log_empty, group="log"),
)
