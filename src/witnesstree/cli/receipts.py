"""The command that checks proofs and receipts with nothing but a verifier key: no store, no home, no network."""

from __future__ import annotations

from typing import Any

import click

from witnesstree.cli import terminal
from witnesstree.cli.verb import BareVerb, Door, as_text, read_file
from witnesstree.errors import InputError, PackError
from witnesstree.proof.checkpoint import parse_verifier_key
from witnesstree.proof.receipt import PROOF_LINE, verify_proof, verify_receipt
from witnesstree.types.instant import to_iso
from witnesstree.types.trust import name_of


@click.command("verify-receipt", cls=BareVerb)
@click.argument("file")
@click.option("--key", required=True, metavar="VERIFIER_KEY", help="The store's verifier key ('wtree keys verifier').")
def verify_receipt_command(door: Door, file: str, *, key: str) -> None:
    """Check FILE ('-': standard input): a proof from 'wtree prove' or a receipt from 'wtree forget'.

    Needs neither the store nor a home. Exit code 6 if it does not verify.
    """
    check_verifier_key(key)
    text = as_text(read_file(file), file)
    if text.startswith(PROOF_LINE):
        facts = proof_facts(text, key)
        words = terminal.indented(str(facts["text"]))
        shown = {name: value for name, value in facts.items() if name != "text" and value is not None}
        lines = [f"{name}: {terminal.one_line(str(value))}" for name, value in shown.items()]
        door.tell(facts, ["the proof verifies: the signed log holds this memory", *lines, "text:", *words])
        return
    receipt: dict[str, Any] = {"type": "receipt", **verify_receipt(text, key)}
    lines = [f"{name}: {terminal.one_line(value)}" for name, value in receipt.items()]
    door.tell(receipt, ["the receipt verifies: the store's key signed this erasure", *lines])


def check_verifier_key(key: str) -> None:
    """Say that a key is none before anything is checked with it: that is wrong input, and no finding.

    Raises:
        InputError: it is malformed.
    """
    try:
        parse_verifier_key(key)
    except PackError as error:
        raise InputError(f"{error}; 'wtree keys verifier' prints it", field="key") from None


def proof_facts(text: str, key: str) -> dict[str, object]:
    """Return what a proof proves.

    Raises:
        PackError: it does not verify.
    """
    proven = verify_proof(text, key)
    record = proven.record
    return {
        "type": "proof",
        "origin": proven.origin,
        "id": record.id.hex(),
        "version": record.version,
        "user": record.user,
        "role": name_of(record.role),
        "at": to_iso(record.said_at),
        "recorded_at": to_iso(record.recorded_at),
        "authority": name_of(record.authority),
        "position": proven.entry.seq,
        "size": proven.size,
        "text": record.text,
    }
