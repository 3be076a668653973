"""Rules of the suite about itself: what it imports, what its documents name, and that no input becomes part of a script."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import click

from witnesstree_conformance import cli
from witnesstree_conformance.attacks import AT_REST
from witnesstree_conformance.protocol import PROTOCOL_VERSION, Raw, Subject
from witnesstree_conformance.subjects import KNOWN
from witnesstree_conformance.verdicts import MEANING

FOLDER = Path(__file__).resolve().parents[1]
SOURCE = FOLDER / "src" / "witnesstree_conformance"


def imported(file: Path) -> set[str]:
    """The top-level packages that a module imports anywhere."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.split(".")[0])
    return found


def test_one_module_imports_the_product():
    files = [str(file.relative_to(SOURCE)) for file in SOURCE.rglob("*.py") if "witnesstree" in imported(file)]
    assert files == ["subjects/witnesstree.py"]


def test_what_runs_in_a_measured_environment_needs_the_standard_library_only():
    code = (
        "import sys; import witnesstree_conformance.child, witnesstree_conformance.runner, witnesstree_conformance.controls,"
        " witnesstree_conformance.costs, witnesstree_conformance.attacks, witnesstree_conformance.in_use;"
        " print(*sorted({name.split('.')[0] for name in sys.modules} - set(sys.stdlib_module_names)))"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", code], capture_output=True, text=True, env={"PYTHONPATH": str(SOURCE.parent)}
    )
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.split()) <= {"witnesstree_conformance", "__main__", "__mp_main__"}


def test_the_protocol_page_names_every_verb_and_verdict():
    page = (FOLDER / "PROTOCOL.md").read_text()
    assert f"Version {PROTOCOL_VERSION}." in page
    for kind in (Subject, Raw):
        names = [name for name in vars(kind) if not name.startswith("_")]
        assert [name for name in names if not re.search(rf"`{name}\b|[`, ]{name}[(`,]", page)] == []
    for word in MEANING:
        assert word.replace("_", " ") in page


def test_the_readme_counts_what_there_is():
    page = (FOLDER / "README.md").read_text()
    assert f"{len(AT_REST)} edits of a store at rest" in page and f"results for {len(KNOWN)} subjects" in page


def test_the_action_uses_options_that_exist_and_puts_no_input_into_a_script():
    action = (FOLDER / "action.yml").read_text()
    run = cli.main.commands["run"]
    options = {name for parameter in run.params if isinstance(parameter, click.Option) for name in parameter.opts}
    assert set(re.findall(r"(--[a-z]+)\b", action)) - {"--quiet"} <= options
    for script in re.findall(r"run: (?:\|\n)?((?:.+\n)(?: {8}.+\n)*)", action):
        assert "${{" not in script
    assert set(re.findall(r"inputs\.(\w+)", action)) == set(re.findall(r"^  (\w+):\n    description", action, re.MULTILINE))
