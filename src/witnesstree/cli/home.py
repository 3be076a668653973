"""Commands about a home's keys: init, keys."""

from __future__ import annotations

import sys

import click

from witnesstree.cli import terminal
from witnesstree.cli.proving import report_lines
from witnesstree.cli.verb import (
    EXIT_DECLINED,
    YES,
    BareVerb,
    Door,
    HintingGroup,
    StoreVerb,
    as_text,
    asks,
    confirmed,
    deliver,
    read_file,
)
from witnesstree.config import read_settings
from witnesstree.errors import InputError
from witnesstree.flow.home import Home


@click.command("init", cls=StoreVerb)
@click.option(
    "--phrase",
    is_flag=False,
    flag_value="-",
    metavar="-",
    help="Restore the keys from the recovery phrase, which is read from standard input: one line of 24 words.",
)
def init_command(door: Door, *, phrase: str | None) -> None:
    """Make this home's keys, if it has none, and show the 24 words that restore them ('wtree keys phrase' shows them again).

    With --store also makes the store, if nothing is at its place.
    """
    home = Home.at(read_settings())
    if phrase is None:
        is_new = home.keyring.ensure()
    elif phrase == "-":
        home.keyring.restore(_read_phrase())
        is_new = False
    else:
        raise InputError(
            "give the phrase at standard input ('--phrase -'); a command line stays in the shell's history", field="phrase"
        )
    plain: dict[str, object] = {"key": str(home.keyring.path_of()), "created": is_new, "restored": phrase is not None}
    if door.has_store:
        with door.open(create=True, for_user=False) as memory:
            plain |= {"store": memory.place, "verifier_key": memory.verifier_key}
    if is_new:
        plain["phrase"] = home.keyring.phrase()
    door.tell(plain, _init_lines(plain))


def _init_lines(plain: dict[str, object]) -> list[str]:
    if plain["created"]:
        lines = [
            f"made the keys of this home: {plain['key']}",
            "",
            "Recovery phrase. Write it down and keep it away from this machine; 'wtree keys phrase' shows it again.",
            "Who has it can read the sealed caches and sign in your name. Without it and without the key file, no memory of",
            "this home can be verified any more. To restore: wtree init --phrase -",
            "",
            *_phrase_lines(str(plain["phrase"])),
        ]
    else:
        lines = [f"{'restored the' if plain['restored'] else 'this home has'} keys: {plain['key']}"]
    if "store" in plain:
        lines += ["", f"store: {plain['store']}", f"verifier key: {plain['verifier_key']}"]
    return lines


def _phrase_lines(phrase: str) -> list[str]:
    words = phrase.split()
    return ["    " + " ".join(words[start : start + 6]) for start in range(0, len(words), 6)]


def _read_phrase() -> str:
    if terminal.is_tty(sys.stdin):
        return str(click.prompt("recovery phrase", hide_input=True, err=True))
    return as_text(read_file("-"), "the phrase")


@click.group("keys", cls=HintingGroup, invoke_without_command=True)
@click.pass_context
def keys_command(ctx: click.Context) -> None:
    """Show or rotate keys."""
    if ctx.invoked_subcommand is None:
        terminal.say(ctx.get_help())


@keys_command.command("phrase", cls=BareVerb)
def phrase_command(door: Door) -> None:
    """Print the 24-word recovery phrase of this home's master key."""
    phrase = Home.at(read_settings()).keyring.phrase()
    door.tell({"phrase": phrase}, _phrase_lines(phrase))


@keys_command.command("verifier", cls=StoreVerb)
def verifier_command(door: Door) -> None:
    """Print the public key that checks the store's checkpoints, proofs and receipts."""
    with door.open(for_user=False) as memory:
        key = memory.verifier_key
    door.tell({"verifier_key": key}, [key])


@keys_command.command("reader", cls=StoreVerb)
@click.option("--output", metavar="FILE", help="Write to a new private file instead of standard output.")
def reader_command(door: Door, *, output: str | None) -> None:
    """Give out a key file for somebody who may read and check this home's stores, and never write."""
    with door.open(for_user=False) as memory:
        key = Home.at(read_settings()).keyring.reader_key(bytes.fromhex(memory.store_id)).decode() + "\n"
    deliver(door, key, output, "reader_key")


@keys_command.command("rotate", cls=StoreVerb)
@click.option("--lost-signer", is_flag=True, help="Do it with a reader's key, since the signing key is lost; the log says so.")
@YES
def rotate_command(door: Door, *, lost_signer: bool, yes: bool) -> int:
    """Check the whole store, then seal and sign everything anew under a new key; the old one is worthless afterwards.

    On a terminal it asks first; the recovery phrase does not restore the new key.
    """
    with door.open(for_user=False) as memory:
        question = f"give {memory.place} a new key? the recovery phrase will not restore it"
        if asks(yes) and not confirmed(question, "the key was not changed"):
            return EXIT_DECLINED
        report = memory.rotate_keys(lost_signer=lost_signer)
        key = memory.verifier_key
    path = str(Home.at(read_settings()).keyring.path_of(bytes.fromhex(report.store_id)))
    lines = [f"the store has a new key: {path}", "Back up this file: the recovery phrase does not restore a rotated key."]
    door.tell(report.to_dict() | {"key": path, "verifier_key": key}, [*lines, f"verifier key: {key}", *report_lines(report)])
    return 0
