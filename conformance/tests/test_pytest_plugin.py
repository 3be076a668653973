"""The pytest plugin: a test per cell, what is open fails with its raw edit, one measurement for all processes."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest


def run(folder: Path, *arguments: str) -> str:
    """Run pytest in a folder with the plugin and nothing else of this project."""
    call = [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", *arguments]
    done = subprocess.run(call, cwd=folder, capture_output=True, text=True)
    return done.stdout + done.stderr


def counts(output: str) -> dict[str, int]:
    return {word: int(number) for number, word in re.findall(r"(\d+) (passed|failed|skipped)", output.splitlines()[-1])}


@pytest.mark.parametrize("processes", [[], ["-n", "2"]], ids=["one process", "two processes"])
def test_every_cell_is_a_test(tmp_path: Path, processes: list[str]):
    output = run(tmp_path, "--conformance", "naive", *processes)
    found = counts(output)
    assert found["failed"] > 20 and found["skipped"] > 10 and found["passed"] > 5, output[-3000:]
    assert "accepted: served" in output and 'UPDATE "memory"' in output
    assert "the store has no log" in output
    assert "Traceback" not in output


def test_an_unknown_subject_is_a_usage_error(tmp_path: Path):
    output = run(tmp_path, "--conformance", "nobody")
    assert "no subject is called 'nobody'" in output and "Traceback" not in output


def test_a_fixture_gives_the_result(tmp_path: Path):
    (tmp_path / "test_mine.py").write_text(
        "def test_level(conformance):\n"
        "    result = conformance('chained-model')\n"
        "    assert result['rating']['level'] == 'none'\n"
        "    assert conformance('chained-model') == result\n"
    )
    assert counts(run(tmp_path)) == {"passed": 1}
