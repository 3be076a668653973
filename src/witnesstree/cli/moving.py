"""Commands that move memories: import, export, backup, restore, fork."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click

from witnesstree.cli import terminal
from witnesstree.cli.proving import report_lines
from witnesstree.cli.verb import QUARANTINE, Door, NewFile, StoreVerb, Verb, read_file, warn_if_behind
from witnesstree.errors import InputError
from witnesstree.memory import Memory
from witnesstree.stores import place_of

if TYPE_CHECKING:
    from witnesstree.types.result import AddResult

SHOWN_PROBLEMS = 20


@dataclass
class _Tally:
    """What an import of several files did."""

    counts: dict[str, int] = field(default_factory=dict)
    rejected: list[dict[str, object]] = field(default_factory=list)

    def take(self, result: AddResult) -> None:
        for change in result.changes:
            self.counts[change.what] = self.counts.get(change.what, 0) + 1

    def reject(self, file: str, line: int, *, field: str, message: str) -> None:
        self.rejected.append({"file": file, "line": line, "field": field, "message": message})


@dataclass(frozen=True)
class _Items:
    """The items of one file, and the line at which each one stands (items of a JSON array are counted from 1)."""

    data: Any
    lines: list[int]
    size: int


def _split(name: str, data: bytes, tally: _Tally) -> _Items:
    """Split a file into items. A line that is not UTF-8 is reported, and the others are kept."""
    data = data.removeprefix(b"\xef\xbb\xbf")
    if data.lstrip().startswith(b"["):
        return _Items(data, [], 0)
    texts: list[str] = []
    lines: list[int] = []
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            texts.append(line.removesuffix(b"\r").decode())
            lines.append(number)
        except UnicodeDecodeError:
            tally.reject(name, number, field="line", message="the line is not UTF-8 text")
    return _Items(texts, lines, len(texts))


@click.command("import", cls=Verb)
@click.argument("files", nargs=-1, required=True)
@click.option("--session", help="The conversation for messages that name none.")
@click.option("--scope", help="A label for later filtering.")
@click.option("--agent", metavar="NAME", help="The agent that hands them in.")
@click.option("--hold", is_flag=True, help="Let them wait in the inbox until they are approved.")
@click.option("--origin", default="", metavar="TEXT", help="Where they come from.")
def import_command(door: Door, files: tuple[str, ...], **options: Any) -> int:
    """Bring in FILES ('-': standard input): chats as JSON lines or as a JSON array, or exports of this program.

    A message is {"role": ..., "content": ..., "name"?, "at"?, "id"?, "session"?, "metadata"?}. Good lines are kept, bad ones
    are listed on standard error, then with exit code 2. It may be stopped and run again at any time: nothing is added twice,
    and what was erased stays away. Makes the store if nothing is at its place.
    """
    if files.count("-") > 1:
        raise InputError("standard input can be read once only", field="files")
    loaded = [("standard input" if name == "-" else name, read_file(name)) for name in files]
    tally = _Tally()
    with door.open(create=True) as memory:
        for name, data in loaded:
            _import_one(memory, name, data, tally, options)
    for line in _problem_lines(tally.rejected):
        terminal.warn(line)
    known = ("added", "held", "duplicate", "erased_before")
    plain = {what: tally.counts.get(what, 0) for what in known}
    words = [f"{plain['added']} added", f"{plain['duplicate']} already there"]
    words += [f"{plain[what]} {word}" for what, word in (("held", "held"), ("erased_before", "erased before")) if plain[what]]
    words += [f"{len(tally.rejected)} rejected"] if tally.rejected else []
    door.tell(plain | {"rejected": tally.rejected}, [", ".join(words)])
    return InputError.exit_code if tally.rejected else 0


def _import_one(memory: Memory, name: str, data: bytes, tally: _Tally, options: dict[str, Any]) -> None:
    items = _split(name, data, tally)
    if not items.size and not items.lines and not items.data:
        return
    try:
        with terminal.Progress(f"importing {name}", items.size) as progress:
            result = memory.import_(items.data, progress=progress.show, **options)
    except InputError as error:
        raise InputError(f"{name}: {error}", field="files") from None
    warn_if_behind(result)
    tally.take(result)
    for rejected in result.rejected:
        line = items.lines[rejected.index] if items.lines else rejected.index + 1
        tally.reject(name, line, field=rejected.field, message=rejected.message)


def _problem_lines(problems: list[dict[str, object]]) -> Iterable[str]:
    for problem in problems[:SHOWN_PROBLEMS]:
        yield terminal.one_line(f"{problem['file']}:{problem['line']}: {problem['message']}")
    if len(problems) > SHOWN_PROBLEMS:
        yield f"... and {len(problems) - SHOWN_PROBLEMS} more"


@click.command("export", cls=Verb)
@click.option("--output", metavar="FILE", help="Write to a new file instead of standard output.")
@QUARANTINE
def export_command(door: Door, *, output: str | None, quarantine: bool) -> None:
    """Write a user's whole memory, with every version, as signed JSON lines that 'wtree import' takes."""
    if output is None and (door.as_json or terminal.is_tty(sys.stdout)):
        raise InputError("an export is signed text for a file or a pipe: add --output FILE", field="output")
    with door.open(quarantine=quarantine) as memory:
        file = None if output is None else NewFile(output)
        try:
            text = memory.export()
        except BaseException:
            if file is not None:
                file.discard()
            raise
    if file is None:
        terminal.say_exactly(text)
        return
    file.write(text.encode())
    versions = sum(1 for line in text.split("\n") if line.startswith('{"memory"'))
    door.tell({"file": output, "versions": versions}, [f"{versions} versions written to {output}"])


@click.command("backup", cls=StoreVerb)
@click.argument("path")
def backup_command(door: Door, path: str) -> None:
    """Write a consistent copy of the store to PATH. It can only be read, or restored from."""
    with door.open(for_user=False) as memory:
        memory.backup(path)
    door.tell({"backup": place_of(path)}, [f"backup written to {place_of(path)}"])


@click.command("restore", cls=StoreVerb)
@click.argument("backup")
@click.argument("target", required=False)
def restore_command(door: Door, backup: str, target: str | None) -> None:
    """Check all of BACKUP and make a new store from it at TARGET (or --store); erased memories stay erased."""
    report = Memory.restore(backup, target or door.store)
    door.tell(report.to_dict(), [f"restored to {place_of(target or door.store)}", *report_lines(report)])


@click.command("fork", cls=StoreVerb)
@click.argument("target")
def fork_command(door: Door, target: str) -> None:
    """Make a new store at TARGET that begins with this one's memory and knows where it came from."""
    with door.open(for_user=False) as memory:
        report = memory.fork(target)
    door.tell(report.to_dict(), [f"forked to {place_of(target)}", *report_lines(report)])
