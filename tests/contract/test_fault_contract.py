"""The fault contract itself: what an engine can't offer is declared with a reason, and engines that are wrong are caught."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import pytest

from tests.contract.test_stores import TestSqliteFaults as SqliteHooks
from witnesstree.testing.store_fault_contract import StoreFaultContract, StoreFaultHooks

COMMITS_TOO_EARLY = """
plain = sqlite.apply_batch
def commit_each(run, made):
    def each(*statement):
        run(*statement)
        run("COMMIT")
        run("BEGIN IMMEDIATE")
    plain(each, made)
sqlite.apply_batch = commit_each
"""
IGNORES_THE_HEAD = """
from witnesstree.types.batch import Batch
plain = sqlite.SqliteSnapshot.append
def blind(self, made):
    sqlite.apply_batch(lambda sql, *rest: self._run(sql.replace("INSERT INTO", "INSERT OR REPLACE INTO"), *rest), made)
sqlite.SqliteSnapshot.append = blind
"""


class Wrong(SqliteHooks):
    """SQLite with a defect in the other processes."""

    __test__ = False
    defect = ""

    def child_code(self, place: str) -> str:
        """Open it, then break it."""
        return f"from witnesstree.stores import sqlite\n{super().child_code(place)}\n{self.defect}"


class TestDeclared(StoreFaultContract):
    """An engine that can offer nothing: every test asserts on the reasons."""

    cannot: ClassVar[dict[str, str]] = dict.fromkeys(
        ("child_code", "torn_copies", "open_impatient", "read_only", "fill_code", "foreign_places", "damaged_places"),
        "it dies with its process",
    ) | {"future_places": "it has no versions"}

    def test_creating_over_a_store_is_refused_and_changes_nothing(self, tmp_path: Path) -> None:
        """There is no place to create anything at."""
        with pytest.raises(NotImplementedError):
            super().test_creating_over_a_store_is_refused_and_changes_nothing(tmp_path)


def declared(**names: str) -> StoreFaultContract:
    """An engine with other declarations."""
    made = TestDeclared()
    made.cannot = {**TestDeclared.cannot, **names}  # type: ignore[misc]
    return made


def test_hooks_without_a_sentence_as_reason_are_refused(tmp_path: Path):
    """No reason, one word, an unknown hook, a hook that is neither written nor declared, one that is both."""
    check = StoreFaultContract.test_every_hook_is_offered_or_declared_with_its_reason
    for wrong in (
        declared(fill_code=""),
        declared(fill_code="no"),
        declared(other="a hook that nobody knows"),
        StoreFaultContract(),
    ):
        with pytest.raises(AssertionError):
            check(wrong)
    both = SqliteHooks()
    both.cannot = {"fill_code": "it can do it all the same"}  # type: ignore[misc]
    with pytest.raises(AssertionError, match="fill_code"):
        check(both)
    with pytest.raises(AssertionError, match="fill_code"):
        declared(fill_code="no").test_full_disk_is_a_store_error_and_reads_go_on(tmp_path)


def test_hooks_that_are_not_written_can_not_be_used(tmp_path: Path):
    """A hook that is forgotten fails at once."""
    with pytest.raises(NotImplementedError):
        StoreFaultHooks().new_place(tmp_path)


def test_store_that_commits_in_the_middle_is_caught(tmp_path: Path):
    """Half a batch is there after a process death."""
    wrong = Wrong()
    wrong.defect = COMMITS_TOO_EARLY
    with pytest.raises(AssertionError, match="not the state after"):
        wrong.test_process_death_at_any_moment_leaves_a_whole_state(tmp_path)


def test_store_that_does_not_compare_heads_is_caught(tmp_path: Path):
    """Processes overwrite each other's batches."""
    wrong = Wrong()
    wrong.defect = IGNORES_THE_HEAD
    with pytest.raises(AssertionError):
        wrong.test_processes_that_append_together_lose_and_duplicate_nothing(tmp_path)
