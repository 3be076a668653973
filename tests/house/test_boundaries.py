"""What only one place may do: read the environment, speak SQL; and what no file may hold."""

import ast
import re

from tests.house.source_tree import (
    PACKAGE,
    ROOT,
    docstrings,
    imported_names,
    parsed,
    python_files,
    repository_files,
    shown,
)

ENVIRONMENT_NAMES = {"environ", "environb", "getenv", "getenvb", "putenv", "unsetenv"}
ENVIRONMENT_OPTIONS = {"envvar", "auto_envvar_prefix"}  # click's own ways to read the environment

# Outside of stores, and why.
SQL_ELSEWHERE = {"testing/tamper.py": "plays the attacker, who edits the file behind the program's back"}
SQL_DRIVERS = {"apsw", "sqlite3", "psycopg", "psycopg2", "asyncpg", "sqlalchemy"}
# A string that begins like a statement. Upper or lower case, but not mixed: "Select a scope from ..." is a sentence.
SQL_STARTS = (
    r"SELECT\s.*\sFROM\s|WITH\s.*\sAS\s*\(|INSERT\s(OR\s\w+\s)?INTO\s|REPLACE\sINTO\s|UPDATE\s\S+\sSET\s|DELETE\sFROM\s"
    r"|CREATE\s(VIRTUAL\s|UNIQUE\s|TEMP\s)?(TABLE|INDEX|TRIGGER|VIEW)\s|ALTER\sTABLE\s|DROP\s(TABLE|INDEX)\s"
    r"|PRAGMA\s\w+|BEGIN\s(IMMEDIATE|EXCLUSIVE)"
)
SQL = re.compile(rf"\s*({SQL_STARTS}|{re.sub(r'[A-Z]{3,}', lambda m: m[0].lower(), SQL_STARTS)})", re.DOTALL)


def environment_reads(tree: ast.Module):
    """Every node that reads or names the process environment."""
    for node in ast.walk(tree):
        is_attribute = isinstance(node, ast.Attribute) and node.attr in ENVIRONMENT_NAMES
        is_import = isinstance(node, ast.ImportFrom) and ENVIRONMENT_NAMES & {alias.name for alias in node.names}
        is_option = isinstance(node, ast.Call) and ENVIRONMENT_OPTIONS & {word.arg for word in node.keywords}
        if is_attribute or is_import or is_option:
            yield node


def test_only_config_reads_the_environment():
    """Settings come in by one door, so that a reader finds them all in config.py."""
    wrong = [
        shown(path, node)
        for path in python_files(PACKAGE)
        if path != PACKAGE / "config.py"
        for node in environment_reads(parsed(path))
    ]
    assert not wrong, f"only config.py may read the environment: {wrong}"


def sql_places(tree: ast.Module):
    """Every import of a database driver and every string, docstrings left out, that begins like SQL."""
    for name, node in imported_names(tree):
        if name.partition(".")[0] in SQL_DRIVERS:
            yield node
    described = docstrings(tree)
    for node in ast.walk(tree):
        is_text = isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in described
        if is_text and SQL.match(node.value):
            yield node


def test_sql_is_only_in_stores():
    """Policy and retrieval never hold a query, so a backend can be swapped."""
    wrong = [
        shown(path, node)
        for path in python_files(PACKAGE)
        if PACKAGE / "stores" not in path.parents and path.relative_to(PACKAGE).as_posix() not in SQL_ELSEWHERE
        for node in sql_places(parsed(path))
    ]
    assert not wrong, f"SQL and its drivers belong under stores: {wrong}"


def test_no_file_names_a_registry_or_a_path_of_one_machine():
    """The repository works anywhere: no package registry's host, no absolute path of who wrote it."""
    # Put together from parts, so that this file does not name what it looks for.
    hosts = ["pypi" + ".org", "files.python" + "hosted.org", "registry.npm" + "js.org", "deb.debian" + ".org"]
    folders = [re.escape("/" + name) for name in ("work", "root")]
    forbidden = re.compile("|".join([*map(re.escape, hosts), *(rf"(?<![\w.\-/}}$>*]){folder}(?![\w.\-])" for folder in folders)]))
    wrong = []
    for path in repository_files():
        text = path.read_bytes().decode("utf-8", errors="replace")
        for match in forbidden.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            wrong.append(f"{path.relative_to(ROOT).as_posix()}:{line} {match[0]}")
    assert not wrong, "\n".join(wrong)
