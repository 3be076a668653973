"""Commands that move memories: export, backup, restore, fork. Import has a file of its own."""

from __future__ import annotations

import sys

import click

from witnesstree.cli import terminal
from witnesstree.cli.proving import report_lines
from witnesstree.cli.verb import QUARANTINE, Door, NewFile, StoreVerb, Verb
from witnesstree.errors import InputError
from witnesstree.memory import Memory
from witnesstree.stores import place_of


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
