"""The command that checks a home and a store, and the two acts that need a person who typed what they mean."""

from __future__ import annotations

import sys

import click

from witnesstree.cli import terminal
from witnesstree.cli.verb import Door, StoreVerb
from witnesstree.config import read_settings
from witnesstree.errors import InputError, IntegrityError
from witnesstree.flow.checkup import Check, accept_head, check_home, check_store, forget_place
from witnesstree.flow.home import Home
from witnesstree.flow.opening import utc_now
from witnesstree.stores import place_of


@click.command("doctor", cls=StoreVerb)
@click.option("--forget-place", "forgets", is_flag=True, help="Forget which store belongs at --store; asks to type the place.")
@click.option(
    "--accept-head", "head", nargs=2, metavar="SIZE ROOT", help="Take the head that doctor printed for the right one, and log it."
)
def doctor_command(door: Door, *, forgets: bool, head: tuple[str, str] | None) -> int:
    """Check settings, folders, key and library, and with --store the store and its anchor.

    Prints one line a check and what to do; exit code 6 if something is bad.
    """
    if forgets and head:
        raise InputError("--forget-place and --accept-head are two different acts", field="accept_head")
    if forgets:
        _forget(door)
        return 0
    if head:
        _accept(door, *head)
        return 0
    checks = list(check_home(read_settings()))
    if door.has_store and all(check.ok or check.name != "home" for check in checks):
        checks += check_store(door.store, Home.at(read_settings()))
    is_ok = all(check.ok for check in checks)
    door.tell({"ok": is_ok, "checks": [check.to_dict() for check in checks]}, _lines(checks))
    return 0 if is_ok else IntegrityError.exit_code


def _lines(checks: list[Check]) -> list[str]:
    lines = []
    for check in checks:
        word = terminal.painted("ok ", "green") if check.ok else terminal.painted("bad", "red")
        lines.append(f"{word}  {check.name}: {terminal.one_line(check.message)}")
        if check.remedy:
            lines.append(f"     to do: {terminal.one_line(check.remedy)}")
    return lines


def _forget(door: Door) -> None:
    place = place_of(door.store)
    terminal.warn(f"To let any store, or none, be at this place from now on, type it: {terminal.one_line(place)}")
    typed = "" if sys.stdin is None else sys.stdin.buffer.readline().decode(errors="surrogateescape").rstrip("\n")
    forget_place(door.store, Home.at(read_settings()), typed)
    door.tell({"forgotten": place}, [f"forgotten: {terminal.one_line(place)}"])


def _accept(door: Door, size: str, root: str) -> None:
    if not (size.isascii() and size.isdigit() and len(size) < 19):
        raise InputError("SIZE is a whole number and ROOT 64 hex digits, as 'wtree doctor' prints them", field="accept_head")
    done = accept_head(door.store, Home.at(read_settings()), size=int(size), root=root, clock=utc_now)
    lines = [f"accepted and logged; the anchor remembers SIZE {done.size} ROOT {done.root}"]
    if done.erased_again:
        lines.append(f"erased again, since they were erased before and had come back: {done.erased_again}")
    door.tell({"size": done.size, "root": done.root, "erased_again": done.erased_again}, lines)
