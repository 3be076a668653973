"""Every threat in docs/threats.md has an attack test that names it, and every named threat is in docs/threats.md."""

import ast
import re

from tests.house.source_tree import ROOT, collected_tests, parsed, shown

THREATS = ROOT / "docs" / "threats.md"
ATTACK_FOLDERS = [ROOT / "tests" / "attacks", ROOT / "conformance" / "attacks"]
THREAT_ID = re.compile(r"\bT-[A-Z]+\d+\b")


def listed_threats() -> list[str]:
    """The ids in the first column of the tables of docs/threats.md, such as T-C1."""
    assert THREATS.is_file(), "docs/threats.md is missing: it must list each threat that is answered, one row per id"
    rows = [line.split("|")[1] for line in THREATS.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    return [threat for first_cell in rows for threat in THREAT_ID.findall(first_cell)]


def named_threats() -> dict[str, set[str]]:
    """The ids that attack tests name in any string or docstring, with the files that do so."""
    found: dict[str, set[str]] = {}
    for folder in ATTACK_FOLDERS:
        for path in {path for path, _ in collected_tests(folder)}:
            for node in ast.walk(parsed(path)):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    for threat in THREAT_ID.findall(node.value):
                        found.setdefault(threat, set()).add(shown(path))
    return found


def test_threats_page_lists_each_id_once():
    """The page has rows, and an id stands in one row only."""
    listed = listed_threats()
    assert listed, "docs/threats.md has no row whose first cell is an id such as T-C1"
    twice = sorted({threat for threat in listed if listed.count(threat) > 1})
    assert not twice, f"in more than one row of docs/threats.md: {twice}"


def test_every_threat_has_an_attack_test():
    """A threat that is listed as answered is attacked in a test."""
    missing = sorted(set(listed_threats()) - named_threats().keys())
    assert not missing, f"no test under tests/attacks or conformance/attacks names these threats: {missing}"


def test_every_attacked_threat_is_listed():
    """An id that a test names is a row of docs/threats.md."""
    unknown = {threat: files for threat, files in named_threats().items() if threat not in listed_threats()}
    assert not unknown, f"not in docs/threats.md: {unknown}"


def test_every_attack_file_names_its_threat():
    """A file under attacks says which threat it tries."""
    named = {place for files in named_threats().values() for place in files}
    attacks = {shown(path) for folder in ATTACK_FOLDERS for path, _ in collected_tests(folder)}
    silent = sorted(attacks - named)
    assert not silent, f"these attack tests name no threat id such as T-C1: {silent}"
