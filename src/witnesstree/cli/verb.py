"""What commands share: --store, --user, --json, how a memory is opened, and how files are read and written."""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol

import click

from witnesstree.cli import terminal
from witnesstree.config import KEY_VARIABLE, STORE_VARIABLE, USER_VARIABLE, read_settings
from witnesstree.errors import InputError, StoreError
from witnesstree.types.wire import parse_json

if TYPE_CHECKING:
    from witnesstree.memory import Memory

QUARANTINE = click.option(
    "--quarantine", is_flag=True, help="Withhold what fails its integrity check and say how much, instead of refusing all."
)
Completion = Callable[[click.Context, click.Parameter, str], list[str]]


def completes(*words: str) -> Completion:
    """Return what a shell offers for a value that is one of a closed set; what is valid, the verbs decide."""
    return lambda ctx, parameter, begun: [word for word in words if word.startswith(begun)]


YES = click.option("--yes", is_flag=True, help="Do not ask.")
EXIT_DECLINED: Final = 1
EXPECTED_VERSION = click.option("--expected-version", type=int, metavar="N", help="Refuse if the memory is at another version.")


@dataclass
class Door:
    """What a command was told about where, whose and how."""

    as_json: bool
    given_store: str | None = None
    given_user: str | None = None

    @property
    def has_store(self) -> bool:
        """Whether a store was named at all."""
        return bool(self.given_store or read_settings().store)

    @property
    def store(self) -> str:
        """The store that was named.

        Raises:
            InputError: none was.
        """
        store = self.given_store or read_settings().store
        if not store:
            raise InputError(f"say which store: --store PATH, or set {STORE_VARIABLE}", field="store")
        return store

    @property
    def user(self) -> str:
        """The user that was named.

        Raises:
            InputError: none was.
        """
        user = self.given_user or read_settings().user
        if not user:
            raise InputError(f"say whose memory: --user NAME, or set {USER_VARIABLE}", field="user")
        return user

    def open(
        self,
        *,
        create: bool = False,
        quarantine: bool = False,
        examine: bool = False,
        for_user: bool = True,
        embedder: str | None = None,
    ) -> Memory:
        """Open the memory of this command.

        Args:
            create: make the store if there is none.
            quarantine: withhold what does not verify instead of refusing.
            examine: open also what does not verify, to audit or repair it.
            for_user: the command is about one user's memory, who must be named.
            embedder: instead of the one that the environment names.
        """
        store, user = self.store, self.user if for_user else None
        from witnesstree.memory import Memory  # numpy and the driver behind it take 0.3 s, which --help need not pay

        on_tamper = "quarantine" if quarantine else "raise"
        return Memory.open(store, user=user, create=create, on_tamper=on_tamper, examine=examine, embedder=embedder)

    def check_names(self) -> None:
        """Say that no store or no user was named, before any work is done.

        Raises:
            InputError: one was not.
        """
        _ = self.store, self.user

    def open_or_make(self) -> Memory:
        """Open the memory of this command, or make it; one line on standard error then says where it and its keys are."""
        self.check_names()
        from witnesstree.flow.home import Home
        from witnesstree.stores import place_exists

        keyring = Home.at(read_settings()).keyring
        is_new, makes_keys = not place_exists(self.store), not keyring.has_key()
        memory = self.open(create=True)
        if is_new:
            keys = f"{'and its' if makes_keys else 'under the'} keys {keyring.path_of()}; back up the keys: 'wtree keys phrase'"
            if keyring.is_given:
                keys = f"under the key in {KEY_VARIABLE}; keep that key safe"
            terminal.warn(terminal.one_line(f"wtree: made the store {memory.place} {keys} (without, the store can't be opened)"))
        return memory

    def tell(self, value: Any, lines: Iterable[str]) -> None:
        """Write a result: as JSON if that was asked for, else as lines for a person."""
        if self.as_json:
            terminal.say_json(value)
        else:
            terminal.say_all(lines)


class BareVerb(click.Command):
    """A command that needs no store. It takes --json, and gets that as a ``Door``."""

    has_store: ClassVar[bool] = False
    has_user: ClassVar[bool] = False

    def __init__(self, *arguments: Any, **options: Any) -> None:
        """Add the shared options to a command."""
        super().__init__(*arguments, **options)
        if self.has_store:
            self.params.append(click.Option(["--store"], metavar="PATH", help=f"Path of the store [default: {STORE_VARIABLE}]."))
        if self.has_user:
            self.params.append(click.Option(["--user"], metavar="NAME", help=f"Whose memory [default: {USER_VARIABLE}]."))
        self.params.append(click.Option(["--json", "as_json"], is_flag=True, help="Print JSON."))

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        given = (ctx.params.pop(name, None) for name in ("store", "user"))
        ctx.params["door"] = Door(ctx.params.pop("as_json"), *given)
        return super().invoke(ctx)


class HintingGroup(click.Group):
    """A group of commands that says which one may have been meant by a name that is none of them."""

    other_names: ClassVar[dict[str, str]] = {}
    """What else a command may be looked for under."""

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; an unknown one is an error with a hint."""
        name = args[0]
        if not (name.startswith("-") or ctx.resilient_parsing) and self.get_command(ctx, name) is None:
            known = self.list_commands(ctx)
            close = difflib.get_close_matches(name, known, n=1)
            meant = self.other_names.get(name) or (close[0] if close else "")
            hint = f" (did you mean '{meant}'?)" if meant else ""
            raise click.UsageError(f"No such command '{name}'{hint}", ctx)
        return super().resolve_command(ctx, args)


class StoreVerb(BareVerb):
    """A command about a whole store: it takes --store and --json."""

    has_store = True


class Verb(StoreVerb):
    """A command about one user's memory: it takes --store, --user and --json."""

    has_user = True


def asks(yes: bool) -> bool:
    """Return whether a command that can't be undone asks first: on a terminal, unless it was told not to."""
    return not yes and terminal.is_tty(sys.stdin)


def confirmed(question: str, otherwise: str) -> bool:
    """Return whether a person says yes to a question; else say what was left undone."""
    if click.confirm(terminal.one_line(question), err=True):
        return True
    terminal.warn(otherwise)
    return False


class Written(Protocol):
    """What a write gives back."""

    @property
    def anchor_behind(self) -> bool:
        """Whether the anchor could not follow."""


def warn_if_behind(result: Written) -> None:
    """Say so if the anchor could not follow a write."""
    if result.anchor_behind:
        terminal.warn("wtree: warning: it is done, but the anchor could not be written; run 'wtree doctor'")


def warn_of(notes: Iterable[str]) -> None:
    """Say in one line each what could not be done."""
    for note in notes:
        terminal.warn(terminal.one_line(f"wtree: warning: {note}"))


def read_stdin() -> str:
    """Return what comes in at standard input.

    Raises:
        InputError: not UTF-8.
    """
    if terminal.is_tty(sys.stdin):
        terminal.warn("reading from the terminal; end with Ctrl-D")
    return as_text(read_file("-"), "standard input")


def read_file(name: str) -> bytes:
    """Return the bytes of a file, or of standard input for ``-``.

    Raises:
        InputError: it can't be read.
    """
    if name == "-" and sys.stdin is None:
        raise InputError("standard input is closed", field="file")
    try:
        return sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "not a file name"
        raise InputError(f"{name} can't be read: {why}", field="file") from None


def as_text(data: bytes, name: str) -> str:
    """Return the text that bytes spell.

    Raises:
        InputError: not UTF-8.
    """
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{name} is not UTF-8 text", field="file") from None


def parse_option(text: str | None, name: str) -> dict[str, Any] | None:
    """Return the JSON object that an option holds.

    Raises:
        InputError: it holds none.
    """
    if text is None:
        return None
    try:
        value = parse_json(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise InputError(f'--{name} must be a JSON object, such as {{"field": "value"}}', field=name)
    return value


class NewFile:
    """A private file that is made before the work whose result it shall hold, so that the result can't get lost."""

    def __init__(self, path: str) -> None:
        """Make the file.

        Raises:
            InputError: something is there already, or it can't be made.
        """
        self.path = path
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            raise InputError(f"{path} exists already; choose another name", field="file") from None
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else "not a file name"
            raise InputError(f"{path} can't be made: {why}", field="file") from None

    def write(self, data: bytes) -> None:
        """Write everything and close.

        Raises:
            StoreError: the disk is full or gone.
        """
        try:
            with os.fdopen(self._file, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise StoreError(f"{self.path} can't be written: {error.strerror}", reason="output_failed") from error

    def discard(self) -> None:
        """Take the file away again."""
        os.close(self._file)
        os.unlink(self.path)


def deliver(door: Door, text: str, output: str | None, what: str) -> None:
    """Write signed text to a new file or, exactly as it is, to standard output."""
    if output is None:
        if door.as_json:
            terminal.say_json({what: text})
        else:
            terminal.say_exactly(text)
        return
    NewFile(output).write(text.encode())
    door.tell({"file": output}, [f"{what} written to {output}"])
