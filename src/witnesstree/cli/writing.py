"""Commands that write memories: add, correct, retract, approve."""

from __future__ import annotations

import click

from witnesstree.cli.verb import EXPECTED_VERSION, Door, Verb, completes, parse_option, read_stdin, warn_if_behind, warn_of
from witnesstree.rules.alias import check_alias
from witnesstree.types.message import ROLES, Message, check_message
from witnesstree.types.result import Change
from witnesstree.types.trust import name_of

ROLE_WORDS = tuple(dict.fromkeys(name_of(role) for role in ROLES.values()))


@click.command("add", cls=Verb)
@click.argument("text", default="-")
@click.option(
    "--role",
    default="user",
    show_default=True,
    help="user, assistant, tool, document or system.",
    shell_complete=completes(*ROLE_WORDS),
)
@click.option("--name", help="The speaker's name.")
@click.option("--at", metavar="INSTANT", help="When it was said, such as 2026-11-30T09:15:00+01:00.")
@click.option("--session", help="The conversation it belongs to.")
@click.option("--scope", help="A label for later filtering.")
@click.option("--id", "source_id", metavar="TEXT", help="The sender's own id; the same message again is not kept twice.")
@click.option("--agent", metavar="NAME", help="The agent that hands it in.")
@click.option("--hold", is_flag=True, help="Let it wait in the inbox until it is approved.")
@click.option("--metadata", metavar="JSON", help="Data to keep with it.")
def add_command(
    door: Door,
    text: str,
    *,
    role: str,
    name: str | None,
    at: str | None,
    session: str | None,
    scope: str | None,
    source_id: str | None,
    agent: str | None,
    hold: bool,
    metadata: str | None,
) -> None:
    """Keep TEXT verbatim as one memory; without TEXT, or for '-', what comes in at standard input.

    Makes the store if nothing is at its place.
    """
    about = parse_option(metadata, "metadata") or {}
    words = read_stdin().removesuffix("\n") if text == "-" else text
    message = Message(words, role=role, name=name, at=at, id=source_id, session=session, metadata=about)
    check_message(message)  # before a store is made for it
    with door.open_or_make() as memory:
        result = memory.add(message, agent=agent, scope=scope, hold=hold)
    warn_if_behind(result)
    warn_of(result.notes)
    door.tell(result.to_dict(), [_sentence(change) for change in result.changes])


@click.command("alias", cls=Verb)
@click.argument("alias")
@click.argument("name")
@click.option("--agent", metavar="NAME", help="The agent that proposes it; it then waits in the inbox.")
@click.option("--hold", is_flag=True, help="Let it wait in the inbox until it is approved.")
def alias_command(door: Door, alias: str, name: str, *, agent: str | None, hold: bool) -> None:
    """Keep that ALIAS and NAME mean the same: questions with one find what has the other."""
    check_alias(alias, name)
    with door.open() as memory:
        _tell(door, memory.alias(alias, name, agent=agent, hold=hold))


def _tell(door: Door, change: Change) -> None:
    warn_if_behind(change)
    warn_of(change.notes)
    door.tell(change.to_dict(), [_sentence(change)])


def _sentence(change: Change) -> str:
    if change.what == "erased_before":
        return "not kept: this message was erased before"
    return f"{change.what} {change.id}" + (f" version {change.version}" if change.version > 1 else "")


@click.command("correct", cls=Verb)
@click.argument("id")
@click.argument("text", required=False)
@click.option("--metadata", metavar="JSON", help="Replace its data; without TEXT the words stay.")
@EXPECTED_VERSION
def correct_command(door: Door, id: str, text: str | None, *, metadata: str | None, expected_version: int | None) -> None:
    """Replace what the memory ID says by TEXT ('-' or nothing: standard input); older versions stay in its history."""
    about = parse_option(metadata, "metadata")
    is_typed = text == "-" or (text is None and about is None)
    words = read_stdin().removesuffix("\n") if is_typed else text
    with door.open() as memory:
        change = memory.update(id, words, metadata=about, expected_version=expected_version)
    _tell(door, change)


@click.command("retract", cls=Verb)
@click.argument("id")
@EXPECTED_VERSION
def retract_command(door: Door, id: str, *, expected_version: int | None) -> None:
    """Withdraw the memory ID: it is not found any more and stays in its history. 'wtree forget' erases."""
    with door.open() as memory:
        change = memory.retract(id, expected_version=expected_version)
    _tell(door, change)


@click.command("approve", cls=Verb)
@click.argument("id")
def approve_command(door: Door, id: str) -> None:
    """Let the held memory ID take effect."""
    with door.open() as memory:
        change = memory.approve(id)
    _tell(door, change)
