"""The repository as the house tests see it: every Python file, parsed once."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SRC = ROOT / "src"
PACKAGE = SRC / "witnesstree"
TESTS = ROOT / "tests"

Function = ast.FunctionDef | ast.AsyncFunctionDef


def python_files(folder: Path) -> list[Path]:
    """All Python files under a folder, in a fixed order."""
    return sorted(path for path in folder.rglob("*.py") if "__pycache__" not in path.parts)


@cache
def parsed(path: Path) -> ast.Module:
    """The syntax tree of one file."""
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def shown(path: Path, node: ast.AST | None = None) -> str:
    """A place as an editor can open it: `src/witnesstree/x.py:12`."""
    line = getattr(node, "lineno", None)
    return path.relative_to(ROOT).as_posix() + (f":{line}" if line else "")


def named_nodes(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, Function | ast.ClassDef]]:
    """Every class and function with its dotted name, nested ones included."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, Function | ast.ClassDef):
            name = f"{prefix}{child.name}"
            yield name, child
            yield from named_nodes(child, f"{name}.")
        else:
            yield from named_nodes(child, prefix)


def collected_tests(folder: Path = TESTS) -> Iterator[tuple[Path, Function]]:
    """Every function whose name pytest would collect."""
    for path in python_files(folder):
        if path.name.startswith("test_") or path.parent.name == "attacks":
            for name, node in named_nodes(parsed(path)):
                if name.rpartition(".")[2].startswith("test_") and isinstance(node, Function):
                    yield path, node


def imported_names(tree: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Every imported module as written, wherever in the file; relative imports are left out."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module, node


def docstrings(tree: ast.AST) -> set[int]:
    """The ids of the nodes that are docstrings, for tests that look at all other strings."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | Function) and node.body:
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                found.add(id(first.value))
    return found


def repository_files() -> list[Path]:
    """What is or will be in the repository: all that git does not ignore; without git, all but dot folders."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listing = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if listing.returncode == 0:
        return [ROOT / name for name in listing.stdout.split("\0") if name and (ROOT / name).is_file()]
    everything = (path.relative_to(ROOT) for path in ROOT.rglob("*") if path.is_file())
    return [ROOT / path for path in everything if not path.parts[0].startswith(".") and "__pycache__" not in path.parts]


def run_python(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs this interpreter in the repository's root and captures what it prints."""
    return subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
