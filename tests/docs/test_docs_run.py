"""README, docs and examples are run as written, so that none of them can go stale.

How a page is read, from top to bottom, all in one empty folder that is thrown away:

* ```` ```python ```` blocks run in one namespace per page.
* ```` ```console ```` blocks: a line that starts with `$ ` is run by bash; the lines up to the next `$ ` are what it
  must print (standard output and error together). A line `...` stands for any number of lines. A line that ends in a
  backslash goes on in the next, and one with `<<'END'` up to the line `END`. One block is one shell, so `cd` and
  `export` hold until its end. A command that fails is an error, unless the next command of the block is `echo $?`.
* A block with `no-run=some-reason` after the language is not run. Shell and Python blocks under other names (bash, sh,
  ...) are refused, because nobody would notice that they are not run.
* What differs from run to run is made equal first: see `normalised`. `$PWD`, `$HOME` and `$WITNESSTREE_HOME` in the
  expected lines stand for those folders.
"""

import contextlib
import difflib
import os
import re
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "conformance").glob("*.md"))]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))

COMMAND_LIMIT_S = 120
RUNNABLE = {"python", "console"}
LOOKALIKES = {"bash", "sh", "shell", "zsh", "shell-session", "py", "python3", "pycon"}
END_OF_COMMAND = "<<end-of-command>>"


@dataclass(frozen=True)
class Block:
    """One fenced block of a page."""

    language: str
    options: str
    first_line: int
    lines: list[str]


def blocks_of(text: str) -> list[Block]:
    """The fenced blocks of a page in order; a block inside a list may be indented."""
    blocks, fence, indent = [], "", 0
    language = options = ""
    for number, line in enumerate(text.splitlines(), start=1):
        opening = re.match(r"( *)(`{3,}|~{3,})\s*(\S*)\s*(.*)$", line)
        if not fence and opening:
            indent, fence, language, options = len(opening[1]), opening[2], opening[3], opening[4].strip()
            first_line, lines = number + 1, []
        elif fence and line.strip() == fence:
            blocks.append(Block(language, options, first_line, lines))
            fence = ""
        elif fence:
            lines.append(line[min(indent, len(line) - len(line.lstrip())) :])
    assert not fence, f"the block that starts in line {first_line - 1} is never closed"
    return blocks


def must_run(block: Block) -> bool:
    """Whether a block is run; refuses a block that looks as if it were, and one that is left out for no reason."""
    assert block.language not in LOOKALIKES, f"```{block.language} is never run: write ```python, ```console or ```text"
    if block.language not in RUNNABLE:
        return False
    if "no-run" not in block.options:
        return True
    assert re.search(r"\bno-run=\S+", block.options), "no-run needs a reason: no-run=needs-network"
    return False


@dataclass(frozen=True)
class Command:
    """One `$ ` line with what it must print."""

    text: str
    expected: list[str]


def commands_of(block: Block) -> list[Command]:
    """The commands of a console block in order."""
    commands: list[Command] = []
    ends_with = ""  # the line that ends the command, or a backslash while every line ends in one
    for line in block.lines:
        if ends_with:
            last = commands.pop()
            commands.append(Command(f"{last.text}\n{line}", []))
            ends_with = ends_with if line != ends_with and (ends_with != "\\" or line.endswith("\\")) else ""
        elif line.startswith("$ "):
            commands.append(Command(line[2:], []))
            heredoc = re.search(r"<<'(\w+)'", line)
            ends_with = heredoc[1] if heredoc else "\\" if line.endswith("\\") else ""
        else:
            assert commands, f"a console block starts with `$ `, not with {line!r}"
            commands[-1].expected.append(line)
    assert not ends_with, f"a command goes on to {ends_with!r}, which never comes"
    return commands


def run_console(block: Block, folder: Path) -> None:
    """Runs the commands of one block in one bash and compares what each prints."""
    commands = commands_of(block)
    script = "exec </dev/null 2>&1\n" + "".join(
        f"{command.text}\n__s=$?; printf '\\n{END_OF_COMMAND} %s\\n' $__s; (exit $__s)\n" for command in commands
    )
    printed = run_bash(script, folder)
    # [output, status, output, status, ..., rest]
    parts = re.split(rf"\n{re.escape(END_OF_COMMAND)} (\d+)\n", printed)
    for index, command in enumerate(commands):
        assert 2 * index + 1 < len(parts), f"the shell ended at: $ {command.text}\n{parts[-1]}"
        output, status = parts[2 * index], int(parts[2 * index + 1])
        is_failure_shown = index + 1 < len(commands) and commands[index + 1].text == "echo $?"
        assert status == 0 or is_failure_shown, f"$ {command.text}\nended with status {status}:\n{output}"
        compare(command, output, folder)


def run_bash(script: str, folder: Path) -> str:
    """Runs a script and returns what it prints; ends whatever it left in the background."""
    # To a file and not a pipe: a server that was started with `&` would keep a pipe open.
    path = folder.parent / "console-output.txt"
    with path.open("wb") as output:
        process = subprocess.Popen(["bash", "-c", script], cwd=folder, stdout=output, start_new_session=True)
        try:
            process.wait(timeout=COMMAND_LIMIT_S)
        finally:
            with contextlib.suppress(ProcessLookupError):  # nothing was left
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    return path.read_text(encoding="utf-8", errors="replace")


def normalised(text: str) -> str:
    """The text with all that differs from run to run replaced by its kind."""
    for pattern, kind in (
        (r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?", "<time>"),
        (r"\b[0-9a-f]{32,}\b", "<hex>"),
        # A long word with a capital or digit in it; `/` only together with those, so that paths stay readable.
        (r"(?<![\w+/=-])(?=[\w+/-]*[A-Z])(?=[\w+/-]*[0-9a-z])[\w+/-]{20,}={0,2}(?![\w=])", "<base64>"),
        (r"\b\d+(\.\d+)? ?(ms|µs|us|s|seconds)\b", "<duration>"),
        (r"\b\d+\.\d+\b", "<float>"),
    ):
        text = re.sub(pattern, kind, text)
    return text


def compare(command: Command, output: str, folder: Path) -> None:
    """Compares what a command printed with the page; `...` matches any number of lines."""
    for name in ("WITNESSTREE_HOME", "HOME"):
        output = output.replace(os.environ[name], f"${name}")
    output = output.replace(str(folder), "$PWD")
    expected = [line.rstrip() for line in normalised("\n".join(command.expected)).splitlines()]
    printed = [line.rstrip() for line in normalised(output).splitlines()]
    while expected and not expected[-1]:
        expected.pop()
    while printed and not printed[-1]:
        printed.pop()
    pattern = "".join(r"(?:.*\n)*?" if line.strip() == "..." else re.escape(line) + r"\n" for line in expected)
    if not re.fullmatch(pattern, "".join(line + "\n" for line in printed)):
        difference = "\n".join(difflib.unified_diff(expected, printed, "the page", "this run", lineterm=""))
        pytest.fail(f"$ {command.text}\nprints something else than the page says:\n{difference}", pytrace=False)


def run_page(page: Path, folder: Path) -> None:
    """Runs all blocks of a page in order; a failure names page and line."""
    assert page.is_file(), f"{page.name} is missing"
    namespace: dict[str, object] = {"__name__": "__main__"}
    for block in blocks_of(page.read_text(encoding="utf-8")):
        place = f"{page.relative_to(ROOT).as_posix()}:{block.first_line}"
        try:
            if not must_run(block):
                continue
            if block.language == "python":
                # Empty lines in front, so that a traceback shows the line of the page.
                code = "\n" * (block.first_line - 1) + "\n".join(block.lines)
                exec(compile(code, str(page), "exec", dont_inherit=True), namespace)
            else:
                run_console(block, folder)
        except (Exception, pytest.fail.Exception) as error:
            error.add_note(f"in the block at {place}")
            raise


def run_example(example: Path, folder: Path) -> None:
    """Runs one example as its own process."""
    result = subprocess.run(
        [sys.executable, str(example)],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=COMMAND_LIMIT_S,
        check=False,
    )
    assert result.returncode == 0, f"{example.name} ended with status {result.returncode}:\n{result.stdout}"


@pytest.mark.parametrize("path", [*PAGES, *EXAMPLES], ids=lambda path: path.relative_to(ROOT).as_posix())
def test_each_page_and_example_runs_as_written(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """What a reader types gives what the page shows."""
    folder, home = tmp_path / "here", tmp_path / "home"
    folder.mkdir()
    home.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("WITNESSTREE_HOME", str(home / "witnesstree"))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if path.suffix == ".md":
        run_page(path, folder)
    else:
        run_example(path, folder)
