"""The tables of verbs, commands and settings in docs/quickstart.md name what the code has, and nothing else."""

import re
from pathlib import Path

import click
import pytest

from witnesstree import Memory, config
from witnesstree.cli.main import COMMANDS, commands

PAGE = Path(__file__).resolve().parents[2] / "docs" / "quickstart.md"


def table_after(heading: str) -> list[list[str]]:
    """The cells of each row of the first table below a heading."""
    part = PAGE.read_text(encoding="utf-8").partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    rows = [line.strip("|").split("|") for line in part.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in rows[2:]]


def in_quotes(cells: list[str]) -> set[str]:
    """The words that stand in backticks."""
    return {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}


def all_commands() -> set[str]:
    """Every command, with the ones below `keys` in its place."""
    context = click.Context(commands)
    found = set()
    for name in COMMANDS:
        command = commands.get_command(context, name)
        below = command.list_commands(context) if isinstance(command, click.Group) else [""]
        found |= {f"wtree {name} {inner}".strip() for inner in below}
    return found


def test_the_table_of_verbs_names_every_verb_and_every_command():
    """Who adds a verb or a command adds a row."""
    rows = table_after("Verbs and commands")
    verbs = {name for name in vars(Memory) if not name.startswith("_")}
    named = {re.sub(r"^Memory\.(\w+)\(.*", r"\1", name) for name in in_quotes([row[0] for row in rows])}
    assert named == verbs | {"verify_proof", "verify_receipt"}
    assert {name for name in in_quotes([row[1] for row in rows]) if name.startswith("wtree ")} == all_commands()


def test_a_verb_stands_beside_the_command_that_does_it():
    """Most have the same name; where they do not, the row says so, and the command calls the verb."""
    source = Path(config.__file__).parent / "cli"
    modules = {name: (source / f"{module}.py").read_text(encoding="utf-8") for name, (module, _) in COMMANDS.items()}
    for python, command in table_after("Verbs and commands"):
        for verb in in_quotes([python]) & set(vars(Memory)) - {"open", "close", "place", "store_id"}:
            module = modules[next(iter(in_quotes([command]))).split()[1]]
            assert re.search(rf"(memory(\(\))?|Memory)\.{verb}\b", module), f"{verb} is not called by {command}"


@pytest.fixture
def variables(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Every variable that the one reader of the environment looks at, on this system and on others."""
    asked: set[str] = set()

    class Watched(dict[str, str]):
        def get(self, name: str, default: str | None = None) -> str | None:  # type: ignore[override]
            asked.add(name)
            return default

    monkeypatch.setattr("witnesstree.config.os.environ", Watched())
    monkeypatch.setattr("witnesstree.config.sys.platform", "linux")
    config.read_settings()
    return asked


def test_the_table_of_settings_names_every_variable(variables: set[str]):
    """Who reads another variable adds a row; a variable that is no longer read loses its own."""
    assert in_quotes([row[0] for row in table_after("Settings")]) == variables
    constants = {value for name, value in vars(config).items() if name.endswith("_VARIABLE")}
    assert constants <= variables
