"""The command that erases."""

from __future__ import annotations

from typing import Any

import click

from witnesstree.cli import terminal
from witnesstree.cli.verb import EXIT_DECLINED, YES, Door, NewFile, Verb, asks, confirmed, parse_option, warn_if_behind
from witnesstree.errors import InputError
from witnesstree.types.result import ErasureReceipt


@click.command("forget", cls=Verb)
@click.argument("id", required=False)
@click.option("--session", help="Everything said in this conversation.")
@click.option("--where", metavar="JSON", help='Everything that a filter matches, such as {"role": "tool"}.')
@click.option("--everything", is_flag=True, help="All memories of the user.")
@click.option("--dry-run", is_flag=True, help="Only say how much it would be.")
@YES
@click.option("--receipt", metavar="FILE", help="Write the signed receipt to a new file.")
def forget_command(
    door: Door,
    id: str | None,
    *,
    session: str | None,
    where: str | None,
    everything: bool,
    dry_run: bool,
    yes: bool,
    receipt: str | None,
) -> int:
    """Erase the memory ID, or what an option names, with all versions, from every byte of the store and its caches.

    The signed receipt goes to --receipt FILE or to standard output; 'wtree verify-receipt' checks it.
    """
    choice: dict[str, Any] = {"session": session, "where": parse_option(where, "where"), "everything": everything}
    is_asked = asks(yes or dry_run)
    if everything and not yes and not dry_run and not is_asked:
        raise InputError("to erase everything without being asked, add --yes", field="yes")
    with door.open() as memory:
        if is_asked:
            size = memory.forget(id, dry_run=True, **choice)
            if not confirmed(f"erase {_count(size)} of {door.user}?", "nothing was erased"):
                return EXIT_DECLINED
        file = None if receipt is None or dry_run else NewFile(receipt)
        try:
            done = memory.forget(id, dry_run=dry_run, **choice)
        except BaseException:
            if file is not None:
                file.discard()
            raise
    _hand_over(door, done, file)
    return 0


def _count(receipt: ErasureReceipt) -> str:
    memories = "1 memory" if receipt.memories == 1 else f"{receipt.memories} memories"
    versions = "1 version" if receipt.versions == 1 else f"{receipt.versions} versions"
    return f"{memories} ({versions})"


def _hand_over(door: Door, done: ErasureReceipt, file: NewFile | None) -> None:
    """Give the receipt to whoever asked; the note itself is the only thing on standard output without ``--receipt``."""
    if file is not None and not done.note:
        file.discard()
    elif file is not None:
        file.write(done.note.encode())
    warn_if_behind(done)
    if door.as_json:
        terminal.say_json(done.to_dict())
        return
    state = {
        "dry_run": "would be erased",
        "done": "erased",
        "pending": "erased; a reader still holds the bytes, run 'wtree doctor' when it is done",
    }[done.state]
    summary = f"{_count(done)} {state}"
    if file is not None and done.note:
        terminal.say(f"{summary}; receipt written to {file.path}")
    elif done.note:
        terminal.warn(summary)
        terminal.say_exactly(done.note)
    else:
        terminal.say(summary)
