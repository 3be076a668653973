"""tests/cases/COVERAGE.md says truly where each case and each row is tried, or why not yet."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.house.source_tree import ROOT, TESTS, docstrings, parsed, python_files, shown

PAGE = ROOT / "tests" / "cases" / "COVERAGE.md"
CASE = re.compile(r"\b[A-Z]{1,2}-\d\d\b")
ROW = re.compile(r"\bP-\d{3}\b")
REASON = r"not yet: .{10,}"
MAX_WORDS = 12


@cache
def notes(path: Path) -> str:
    """The docstrings and comments of a file: what its author says about it."""
    tree = parsed(path)
    spoken = docstrings(tree)
    texts = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) in spoken]
    tokens = tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline)
    return "\n".join([*texts, *(token.string for token in tokens if token.type == tokenize.COMMENT)])


def names(path: Path, case: str) -> bool:
    """Whether the notes of a file name a case or row; what is no file of ours names nothing."""
    return path.is_file() and re.search(rf"\b{case}\b", notes(path)) is not None


def rows() -> dict[str, str]:
    """The second cell of each line of the first table, by case id."""
    found = re.findall(r"^\| ([A-Z]{1,2}-\d\d) \| (.+) \|$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert len(found) == len({case for case, _ in found}), "a case stands in two rows"
    return dict(found)


def inputs() -> list[tuple[str, str, str]]:
    """The lines of the second table: id, input, where it is tried."""
    found = re.findall(r"^\| (P-\d+) \| ([^|]+) \| (.+) \|$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert found, "the second table has no rows"
    return found


def files_in(cell: str) -> list[str]:
    """The files that a cell names."""
    return re.findall(r"`([^`]+)`", cell)


def places_that_name(pattern: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    """Every (id, file) that a note of a test outside this folder names."""
    for path in python_files(TESTS):
        if path.parent != Path(__file__).parent:
            yield from ((found, shown(path)) for found in pattern.findall(notes(path)))


def test_every_named_file_tries_its_case():
    """A file that the page names exists, and a docstring or comment in it names the case."""
    wrong = []
    for case, cell in rows().items():
        files = files_in(cell)
        wrong += [f"{case}: {file}" for file in files if not names(ROOT / file, case)]
        if not files and not re.fullmatch(REASON, cell):
            wrong.append(f"{case}: neither a file nor a reason")
    assert not wrong, wrong


def test_every_case_that_a_test_names_is_on_the_page():
    """What tests/cases tries is listed."""
    named = {case for path in (ROOT / "tests" / "cases").glob("*.py") for case in CASE.findall(path.read_text(encoding="utf-8"))}
    kinds = {case.split("-")[0] for case in rows()}
    missing = sorted(case for case in named - rows().keys() if case.split("-")[0] in kinds)
    assert not missing, missing


def test_second_table_has_each_row_once_and_in_order():
    """P-001, P-002 and so on without a gap, each input in a few words."""
    found = inputs()
    assert [row for row, _, _ in found] == [f"P-{number:03d}" for number in range(1, len(found) + 1)]
    wordy = [row for row, text, _ in found if not 1 <= len(text.split()) <= MAX_WORDS]
    assert not wordy, f"more than {MAX_WORDS} words: {wordy}"
    lines = PAGE.read_text(encoding="utf-8").partition("## Rows of inputs")[2].splitlines()
    assert sum(line.startswith("| P") for line in lines) == len(found), "a line of the table is malformed"


def test_each_row_of_the_second_table_has_a_file_or_a_reason():
    """Files, or what is missing, or both: files for a part of the row, and what the rest waits for."""
    file = r"`tests/[a-z0-9_/]+\.py`"
    cell = re.compile(rf"(?:{file}(?:, {file})*(?:; {REASON})?|{REASON})")
    wrong = [f"{row}: {where}" for row, _, where in inputs() if not cell.fullmatch(where)]
    assert not wrong, wrong


def test_second_table_and_the_tests_name_each_other():
    """A file that a row names has the row in a docstring or comment, and a row that a test names is listed with that file."""
    listed = {(row, file) for row, _, where in inputs() for file in files_in(where)}
    named = set(places_that_name(ROW))
    assert listed - named == set(), f"claimed, but not named there: {sorted(listed - named)}"
    assert named - listed == set(), f"named in a test, but not on the page: {sorted(named - listed)}"
