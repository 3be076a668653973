"""The command that imports. A file is read line by line, and a store is made only when a good line is there for it."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from witnesstree.cli import terminal
from witnesstree.cli.verb import Door, Verb, warn_if_behind, warn_of
from witnesstree.errors import InputError
from witnesstree.flow.exchange import numbered_records
from witnesstree.flow.items import FileItems, is_export, numbered_items, parse_item
from witnesstree.types.message import check_message
from witnesstree.types.principal import normalise_name
from witnesstree.types.record import Record

if TYPE_CHECKING:
    from witnesstree.memory import Memory
    from witnesstree.types.result import AddResult, Rejected

SHOWN_PROBLEMS = 20
PART = 5000
"""Messages in one call of ``import_``: what came of them is added up, and not kept for each."""
BLOCK_BYTES = 1024 * 1024

Numbered = Iterator[tuple[int, object]]
"""Items with the line at which each one stands (items of a JSON array are counted from 1)."""


@dataclass
class _Tally:
    """What an import of several files did. ``most``: how many problems are kept in full, if not all."""

    most: int | None
    counts: dict[str, int] = field(default_factory=dict)
    rejected: list[dict[str, object]] = field(default_factory=list)
    rejects: int = 0
    anchor_behind: bool = False
    without_vector: int = 0
    notes: tuple[str, ...] = ()

    def take(self, result: AddResult) -> None:
        for change in result.changes:
            self.counts[change.what] = self.counts.get(change.what, 0) + 1
        self.anchor_behind = self.anchor_behind or result.anchor_behind
        self.without_vector += result.without_vector
        self.notes = tuple(dict.fromkeys([*self.notes, *result.notes]))

    def reject(self, file: str, line: int, *, field: str, message: str) -> None:
        self.rejects += 1
        if self.most is None or len(self.rejected) < self.most:
            self.rejected.append({"file": file, "line": line, "field": field, "message": message})


@dataclass(frozen=True)
class _Source:
    """A file, which can be read as often as needed, or a stream, which can be read once."""

    name: str
    stream: BinaryIO | None = None

    @classmethod
    def of(cls, name: str) -> _Source:
        """Return a source that can be read, or say why not."""
        if name == "-":
            if sys.stdin is None:
                raise InputError("standard input is closed", field="file")
            return cls("standard input", sys.stdin.buffer)
        try:
            file = open(name, "rb")  # noqa: SIM115  a pipe stays open until it is read
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return cls(name, file)
            file.close()
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else "not a file name"
            raise InputError(f"{name} can't be read: {why}", field="file") from None
        return cls(name)

    def numbered(self) -> Numbered:
        """Yield the items with their line numbers."""
        try:
            yield from FileItems(self.name).numbered() if self.stream is None else numbered_items(self.stream)
        except OSError as error:
            raise InputError(f"it can't be read: {error.strerror}", field="data") from None

    def count_lines(self) -> int:
        """Return how many lines there are, if a person looks on and it can be known beforehand; else 0."""
        if self.stream is not None or not terminal.is_tty(sys.stderr):
            return 0
        with open(self.name, "rb") as file:
            return sum(block.count(b"\n") for block in iter(partial(file.read, BLOCK_BYTES), b""))


@dataclass(frozen=True)
class _Import:
    """Where everything goes: ``memory`` opens the store, or makes it, when it is called for the first time."""

    memory: Callable[[], Memory]
    tally: _Tally
    options: dict[str, Any]

    def take(self, source: _Source) -> None:
        """Bring in one file."""
        numbered = source.numbered()
        first = next(numbered, None)
        if first is None:
            return
        total = source.count_lines() if isinstance(first[1], bytes) else 0
        with terminal.Progress(f"importing {source.name}", total) as progress:
            if is_export(first[1]):
                held = [first, *numbered] if source.stream is not None else None
                self._take_export(source, _Export(source.numbered if held is None else held.__iter__), progress)
            else:
                self._take_chat(source, chain([first], numbered), progress)

    def _take_chat(self, source: _Source, numbered: Numbered, progress: terminal.Progress) -> None:
        lines: list[int] = []
        good = self._good(source, numbered, lines)
        while (first := next(good, None)) is not None:
            part = chain([first], islice(good, PART - 1))
            result = self.memory().import_(part, progress=lambda done: progress.show(lines[done - 1]), **self.options)
            self.tally.take(result)
            for bad in result.rejected:
                self.tally.reject(source.name, lines[bad.index], field=bad.field, message=bad.message)
            lines.clear()

    def _good(self, source: _Source, numbered: Numbered, lines: list[int]) -> Iterator[object]:
        """Yield the messages that can be kept, noting the line of each; the others go into the tally."""
        for number, item in numbered:
            try:
                message = parse_item(item)
                check_message(message)
            except InputError as error:
                self.tally.reject(source.name, number, field=str(error.attributes.get("field", "line")), message=str(error))
                continue
            lines.append(number)
            yield message

    def _take_export(self, source: _Source, export: _Export, progress: terminal.Progress) -> None:
        rejected: Iterable[Rejected] = export.problems_if_nothing_is_good()
        if not rejected:
            result = self.memory().import_(export, progress=progress.show, **self.options)
            self.tally.take(result)
            rejected = result.rejected
        wanted = {bad.index: bad for bad in rejected}
        for index, (line, _) in enumerate(export.numbered() if wanted else ()):
            if index in wanted:
                self.tally.reject(source.name, line, field=wanted[index].field, message=wanted[index].message)


@dataclass(frozen=True)
class _Export:
    """The items of an export, as often as they are asked for."""

    numbered: Callable[[], Numbered]

    def __iter__(self) -> Iterator[object]:
        return (item for _, item in self.numbered())

    def problems_if_nothing_is_good(self) -> list[Rejected]:
        """Return what is wrong with every record; nothing if one of them can be taken in, or if there are none."""
        problems: list[Rejected] = []
        for _, found in numbered_records(self):
            if isinstance(found, Record):
                return []
            problems.append(found)
        return problems


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
    and what was erased stays away. JSON lines are read one by one, an array as a whole. Makes the store if nothing is at its
    place and a line is good.
    """
    if files.count("-") > 1:
        raise InputError("standard input can be read once only", field="files")
    door.check_names()
    for option, value in options.items():
        if option != "hold":
            normalise_name(value, option, required=False)
    sources = [_Source.of(name) for name in files]
    tally = _Tally(None if door.as_json else SHOWN_PROBLEMS)
    with ExitStack() as stack:
        all_files = _Import(cache(lambda: stack.enter_context(door.open_or_make())), tally, options)
        for source in sources:
            try:
                all_files.take(source)
            except InputError as error:
                if error.attributes.get("field") != "data":
                    raise
                raise InputError(f"{source.name}: {error}", field="files") from None
    _say_what_was_done(door, tally)
    return InputError.exit_code if tally.rejects else 0


def _say_what_was_done(door: Door, tally: _Tally) -> None:
    warn_if_behind(tally)
    warn_of(tally.notes)
    for problem in tally.rejected[:SHOWN_PROBLEMS]:
        terminal.warn(terminal.one_line(f"{problem['file']}:{problem['line']}: {problem['message']}"))
    if tally.rejects > SHOWN_PROBLEMS:
        terminal.warn(f"... and {tally.rejects - SHOWN_PROBLEMS} more")
    plain = {what: tally.counts.get(what, 0) for what in ("added", "held", "duplicate", "erased_before")}
    words = [f"{plain['added']} added", f"{plain['duplicate']} already there"]
    words += [f"{plain[what]} {word}" for what, word in (("held", "held"), ("erased_before", "erased before")) if plain[what]]
    words += [f"{tally.rejects} rejected"] if tally.rejects else []
    words += [f"{tally.without_vector} without a vector"] if tally.without_vector else []
    more = {"without_vector": tally.without_vector, "notes": list(tally.notes)}
    door.tell(plain | {"rejected": tally.rejected} | more, [", ".join(words)])
