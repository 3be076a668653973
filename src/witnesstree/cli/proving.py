"""Commands about the whole store and its proofs: audit, prove, checkpoint, repair."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import click

from witnesstree.cli import terminal
from witnesstree.cli.verb import QUARANTINE, Door, StoreVerb, Verb, deliver
from witnesstree.errors import IntegrityError
from witnesstree.flow.examine import MAX_PROBLEMS
from witnesstree.types.result import AuditReport, Problem

OUTPUT = click.option("--output", metavar="FILE", help="Write to a new file instead of standard output.")

REMOVALS: Final = frozenset({"row_planted", "row_resurrected", "log_planted"})
"""Findings that a repair answers by taking away what stands there."""
REMEDY: Final = "; run 'wtree repair'"


def problem_lines(problems: Iterable[Problem]) -> list[str]:
    """Return findings, one a line."""
    bad = terminal.painted("bad", "red")
    return [f"{bad}  {problem.where}: {terminal.one_line(problem.message)} [{problem.reason}]" for problem in problems]


def report_lines(report: AuditReport) -> list[str]:
    """Return an audit's report as a person reads it."""
    head = [f"store {report.store_id}"]
    if report.root:
        head.append(f"log: {report.size} entries, root {report.root}")
    else:
        head.append("log: it could not be verified; what follows was found without it")
    head.append(f"rows: {report.rows} of {report.owners} owners" if report.rows else "rows: none could be checked")
    if report.ok:
        return [*head, f"{terminal.painted('ok', 'green')}  everything is what was written"]
    return [*head, *problem_lines(report.problems), f"{len(report.problems)} problems"]


@click.command("audit", cls=StoreVerb)
@QUARANTINE
def audit_command(door: Door, *, quarantine: bool) -> int:
    """Check log, head, anchor, every row, owner map and schema, and report every finding; exit code 6 if there is one."""
    with door.open(quarantine=quarantine, examine=True, for_user=False) as memory, terminal.Progress("rows checked") as progress:
        report = memory.audit(progress=progress.show)
    door.tell(report.to_dict(), report_lines(report))
    return 0 if report.ok else IntegrityError.exit_code


@click.command("prove", cls=Verb)
@click.argument("id")
@OUTPUT
@QUARANTINE
def prove_command(door: Door, id: str, *, output: str | None, quarantine: bool) -> None:
    """Write a proof that the memory ID stands in the signed log exactly so; 'wtree verify-receipt' checks it offline."""
    with door.open(quarantine=quarantine) as memory:
        proof = memory.prove(id)
    deliver(door, proof, output, "proof")


@click.command("checkpoint", cls=StoreVerb)
@OUTPUT
@QUARANTINE
def checkpoint_command(door: Door, *, output: str | None, quarantine: bool) -> None:
    """Print the signed head of the log (C2SP checkpoint), for a witness or for your own records."""
    with door.open(quarantine=quarantine, for_user=False) as memory:
        note = memory.checkpoint()
    deliver(door, note, output, "checkpoint")


@click.command("repair", cls=StoreVerb)
def repair_command(door: Door) -> int:
    """Rebuild indexes and owner map from rows that verify; list what was taken away and why.

    Says what needs a backup, then with exit code 6.
    """
    with door.open(examine=True, for_user=False) as memory:
        before = memory.audit().problems
        left = memory.repair()
        stays = set(memory.audit().problems) if left else set()
    gone = [problem for problem in before if problem not in stays]
    removed = [problem for problem in gone if is_removal(problem)]
    rebuilt = [problem for problem in gone if not is_removal(problem)]
    lines = [_repaired_line("removed", problem) for problem in removed]
    lines += [_repaired_line("rebuilt", problem) for problem in rebuilt]
    if len(before) >= MAX_PROBLEMS:
        lines.append(f"(only the first {MAX_PROBLEMS} findings are listed)")
    lines += problem_lines(left) or [f"{terminal.painted('ok', 'green')}  nothing is left to repair"]
    plain = {"problems": left, "removed": removed, "rebuilt": rebuilt}
    door.tell({"ok": not left} | {name: [found.to_dict() for found in some] for name, some in plain.items()}, lines)
    return IntegrityError.exit_code if left else 0


def is_removal(problem: Problem) -> bool:
    """Return whether a repair of this finding takes something away that stood in the store, and builds nothing anew."""
    return problem.reason in REMOVALS or "was planted" in problem.message


def _repaired_line(what: str, problem: Problem) -> str:
    return f"{what}  {problem.where}: {terminal.one_line(problem.message.removesuffix(REMEDY))} [{problem.reason}]"
