"""What a terminal sees. Every line goes through here: stored text can't steer the terminal, and no encoding can break it."""

from __future__ import annotations

import io
import json
import os
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, TextIO

import click

from witnesstree.config import read_settings
from witnesstree.errors import StoreError

_JOINERS: Final = "\u200c\u200d"
"""Invisible, harmless, and needed to write Persian, Hindi and many emoji."""
_UNSAFE: Final = ("Cc", "Cf", "Cs", "Zl", "Zp")


class OutputClosedError(Exception):
    """Whoever read the output went away (``wtree list | head``); there is nobody left to tell."""


def prepare_streams() -> None:
    """Let no character that a console can't show end the program."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # the caller closed it
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115  lives as long as the process
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def inert(text: str) -> str:
    """Return stored text with control, escape and direction characters made visible; line breaks and tabs stay."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_visible(c) for c in text)


def _visible(character: str) -> str:
    if character in "\n\t" or character in _JOINERS or unicodedata.category(character) not in _UNSAFE:
        return character
    return character.encode("unicode_escape", "surrogatepass").decode()


def one_line(text: str) -> str:
    """Return stored text as one inert line."""
    return inert(text).replace("\n", "\\n").replace("\t", "\\t")


def indented(text: str, by: str = "    ") -> list[str]:
    """Return the lines of stored text, inert and set off from the program's own words."""
    return [by + line for line in inert(text).split("\n")]


def is_tty(stream: object) -> bool:
    """Return whether a stream is a terminal."""
    return isinstance(stream, io.TextIOWrapper) and not stream.closed and stream.isatty()


def painted(text: str, colour: str, stream: TextIO | None = None) -> str:
    """Return text in a colour if the stream is a terminal and the user did not ask for none."""
    if not is_tty(stream or sys.stdout) or read_settings().no_color:
        return text
    return click.style(text, fg=colour)


def say(line: str = "") -> None:
    """Write one line of the result."""
    _write(sys.stdout, f"{line}\n")


def warn(line: str) -> None:
    """Write one line that is no part of the result."""
    _write(sys.stderr, f"{line}\n")
    sys.stderr.flush()


def say_json(value: Any) -> None:
    """Write a result as one JSON document; only ASCII where the console is a terminal or can't show more."""
    is_plain = is_tty(sys.stdout) or (sys.stdout.encoding or "").lower().replace("-", "") != "utf8"
    say(json.dumps(value, ensure_ascii=is_plain, indent=2 if is_tty(sys.stdout) else None))


def say_exactly(text: str) -> None:
    """Write signed text: its UTF-8 bytes and nothing else, whatever the console's encoding is."""
    buffer = getattr(sys.stdout, "buffer", None)
    if buffer is None:
        _write(sys.stdout, text)
        return
    flush()
    with _told():
        buffer.write(text.encode())


@contextmanager
def _told() -> Iterator[None]:
    """Turn what a stream raises into errors of ours."""
    try:
        yield
    except BrokenPipeError:
        raise OutputClosedError from None
    except OSError as error:
        raise StoreError(f"the output can't be written: {error.strerror}", reason="output_failed") from error


def _write(stream: TextIO, text: str) -> None:
    with _told():
        stream.write(text)


def flush() -> None:
    """Hand over what is still in buffers, while somebody can still be told that it did not work."""
    with _told():
        sys.stdout.flush()


def abandon_output() -> None:
    """Point standard output to nowhere, so that the interpreter does not complain about it when it ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


class Progress:
    """A line on standard error that counts up; nothing at all where standard error is no terminal."""

    def __init__(self, what: str, total: int = 0) -> None:
        """Begin.

        Args:
            what: what is being done.
            total: how many items there are, if that is known.
        """
        self._what = what
        self._total = total
        self._is_shown = is_tty(sys.stderr)

    def __enter__(self) -> Progress:
        """Show that nothing is done yet."""
        self.show(0)
        return self

    def show(self, done: int, total: int = 0) -> None:
        """Show how many items are done."""
        if self._is_shown:
            of = total or self._total
            sys.stderr.write(f"\r{self._what}: {done} of {of}" if of else f"\r{self._what}: {done}")
            sys.stderr.flush()

    def __exit__(self, *error: object) -> None:
        """Take the line away."""
        if self._is_shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def when(memo: Mapping[str, Any]) -> str:
    """Return when something was said or, where nobody told, when it was recorded."""
    return memo["at"] or f"recorded {memo['recorded_at']}"


def who_said(memo: Mapping[str, Any]) -> str:
    """Return who said something, when, in which session, and how far it is proven."""
    who = f"{memo['role']} {one_line(memo['name'])}".strip()
    parts = [who, when(memo)]
    if memo["session"]:
        parts.append(f"session {one_line(memo['session'])}")
    return ", ".join([*parts, memo["authority"], memo["trust"]])


def memo_lines(memo: Mapping[str, Any], number: int | None = None) -> list[str]:
    """Return a memory as a person reads it: a head with its id, then the words."""
    state = "" if memo["status"] == "active" else f", {memo['status']}"
    version = "" if memo["version"] == 1 else f", version {memo['version']}"
    mark = "" if number is None else f"{number}. "
    return [f"{mark}{memo['id']}  {who_said(memo)}{version}{state}", *indented(memo["text"])]


def withheld_lines(withheld: int) -> list[str]:
    """Return what a quarantined result says about itself."""
    what = "memory is" if withheld == 1 else "memories are"
    return [f"{withheld} {what} withheld: they fail their integrity check; run 'wtree audit'."] if withheld else []


def say_all(lines: Iterable[str]) -> None:
    """Write lines of the result."""
    for line in lines:
        say(line)
