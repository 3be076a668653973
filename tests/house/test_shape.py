"""Size, names and docstrings of the source."""

import ast

import pytest

from tests.house.source_tree import (
    PACKAGE,
    ROOT,
    Function,
    named_nodes,
    parsed,
    python_files,
    repository_files,
    run_python,
    shown,
)

MAX_FUNCTION_LINES = 60
MAX_FILE_LINES = 500

# What is longer, and why that is right: {"src/witnesstree/x.py": "why", "src/witnesstree/y.py::Class.name": "why"}.
ALLOWED_LONG: dict[str, str] = {
    "src/witnesstree/memory.py": "the facade: every verb once, each a few lines under a docstring that users read",
}

VAGUE_NAMES = {"util", "utils", "helper", "helpers", "common", "core", "manager", "managers"}


def long_places() -> dict[str, int]:
    """Every file and function in src that is over its limit, with its number of lines."""
    found = {}
    for path in python_files(PACKAGE):
        lines = len(path.read_text(encoding="utf-8").splitlines())
        if lines > MAX_FILE_LINES:
            found[shown(path)] = lines
        for name, node in named_nodes(parsed(path)):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if isinstance(node, Function) and lines > MAX_FUNCTION_LINES:
                found[f"{shown(path)}::{name}"] = lines
    return found


def test_no_file_or_function_is_too_long():
    """A function has at most 60 lines and a file at most 500, or a reason in ALLOWED_LONG."""
    wrong = [f"{place}: {lines} lines" for place, lines in long_places().items() if place not in ALLOWED_LONG]
    assert not wrong, "\n".join(wrong)


def test_every_allowed_long_place_is_still_long():
    """An exception that is no longer needed is taken out, and each has a reason."""
    stale = sorted(ALLOWED_LONG.keys() - long_places().keys())
    assert not stale, f"no longer over the limit, take them out of ALLOWED_LONG: {stale}"
    assert all(reason.strip() for reason in ALLOWED_LONG.values())


def public_places(tree: ast.Module):
    """The module and what it shows: public classes, functions and methods, but nothing nested in a function."""
    yield "module", tree

    def inside(node: ast.AST, prefix: str):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.If | ast.Try):
                yield from inside(child, prefix)
            elif isinstance(child, Function | ast.ClassDef) and not child.name.startswith("_"):
                if not is_described_elsewhere(child):
                    yield prefix + child.name, child
                if isinstance(child, ast.ClassDef):
                    yield from inside(child, f"{prefix}{child.name}.")

    yield from inside(tree, "")


def is_described_elsewhere(node: Function | ast.ClassDef) -> bool:
    """Overloads, overrides and setters are described at their function; a field of a protocol, at its class."""
    marks = {ast.unparse(mark).rpartition(".")[2] for mark in node.decorator_list}
    is_field = "property" in marks and ast.unparse(node.body[-1]) == "..."
    return is_field or bool(marks & {"overload", "override", "setter", "deleter"})


def test_everything_public_has_a_docstring_with_a_summary():
    """The first line of each public docstring is a sentence that ends in a period."""
    wrong = []
    for path in python_files(PACKAGE):
        for name, node in public_places(parsed(path)):
            summary = (ast.get_docstring(node) or "").partition("\n")[0]
            if not summary:
                wrong.append(f"{shown(path, node)} {name}: no docstring")
            elif not summary.endswith("."):
                wrong.append(f"{shown(path, node)} {name}: the first line must end in a period: {summary!r}")
    assert not wrong, "\n".join(wrong)


def test_public_lists_are_sorted_where_present():
    """Ruff's order for __all__ (constants, classes, functions) holds, also where a `noqa` hides it from lint."""
    result = run_python("-m", "ruff", "check", "--isolated", "--ignore-noqa", "--select", "RUF022", "--no-cache", "src")
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("folder", ["src", "tests", "bench", "conformance", "examples"])
def test_no_folder_or_module_has_a_vague_name(folder: str):
    """A name says what is inside; utils, helpers, common, core and manager do not."""
    paths = [path.relative_to(ROOT) for path in repository_files()]
    wrong = {
        path.as_posix()
        for path in paths
        if path.parts[0] == folder and VAGUE_NAMES & {part.partition(".")[0] for part in path.parts}
    }
    assert not wrong, sorted(wrong)
