"""tests/cases/COVERAGE.md says truly where each case is tried, or why not yet."""

import re

from tests.house.source_tree import ROOT

PAGE = ROOT / "tests" / "cases" / "COVERAGE.md"
CASE = re.compile(r"\b[A-Z]{1,2}-\d\d\b")


def rows() -> dict[str, str]:
    """The second cell of each row, by case id."""
    found = re.findall(r"^\| ([A-Z]{1,2}-\d\d) \| (.+) \|$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert len(found) == len({case for case, _ in found}), "a case stands in two rows"
    return dict(found)


def test_every_named_file_tries_its_case():
    """A file that the page names exists and names the case."""
    wrong = []
    for case, cell in rows().items():
        files = re.findall(r"`([^`]+)`", cell)
        wrong += [f"{case}: {file}" for file in files if case not in (ROOT / file).read_text(encoding="utf-8")]
        if not files and not re.fullmatch(r"not yet: .{10,}", cell):
            wrong.append(f"{case}: neither a file nor a reason")
    assert not wrong, wrong


def test_every_case_that_a_test_names_is_on_the_page():
    """What tests/cases tries is listed."""
    named = {case for path in (ROOT / "tests" / "cases").glob("*.py") for case in CASE.findall(path.read_text(encoding="utf-8"))}
    kinds = {case.split("-")[0] for case in rows()}
    missing = sorted(case for case in named - rows().keys() if case.split("-")[0] in kinds)
    assert not missing, missing


def test_every_file_of_the_second_table_exists():
    """The rows that broke other systems point at tests that are there."""
    second = PAGE.read_text(encoding="utf-8").partition("## Rows of inputs")[2]
    files = re.findall(r"`([^`]+\.py)`", second)
    assert files and not [file for file in files if not (ROOT / file).is_file()]
