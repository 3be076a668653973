"""Commands that read: search, ask, list, show, evidence, history, inbox. None of them makes a store."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from witnesstree.cli import terminal
from witnesstree.cli.terminal import indented, memo_lines, when, who_said, withheld_lines
from witnesstree.cli.verb import QUARANTINE, Door, Verb, completes, parse_option, warn_of
from witnesstree.errors import InputError
from witnesstree.types.trust import MEMORY_KINDS, Authority, Trust, name_of

if TYPE_CHECKING:
    pass

KIND_WORDS = tuple(name_of(kind) for kind in MEMORY_KINDS)
AUTHORITY_WORDS = tuple(name_of(level) for level in Authority if level is not Authority.NONE)
TRUST_WORDS = tuple(name_of(level) for level in Trust if level is not Trust.REJECTED)
FILTERS = [
    click.option("--agent", metavar="NAME", help="The agent that asks."),
    click.option("--session", help="Only this conversation."),
    click.option("--scope", help="Only this scope label."),
    click.option(
        "--kind", "kinds", multiple=True, help="Only this kind (repeat for several).", shell_complete=completes(*KIND_WORDS)
    ),
    click.option(
        "--min-authority",
        metavar="LEVEL",
        help="At least unendorsed, attested or authorized.",
        shell_complete=completes(*AUTHORITY_WORDS),
    ),
    click.option(
        "--min-trust",
        metavar="LEVEL",
        help="At least contested, candidate or verified.",
        shell_complete=completes(*TRUST_WORDS),
    ),
    click.option("--as-of", metavar="INSTANT", help="What was true then, such as 2026-11-30T09:15:00+01:00."),
    click.option("--recorded-as-of", metavar="INSTANT", help="What was known then."),
    click.option("--where", metavar="JSON", help='Filter, such as {"role": "user"}.'),
]


def with_filters(function: Any) -> Any:
    """Add the filters of search and ask to a command."""
    for option in reversed(FILTERS):
        function = option(function)
    return function


@click.command("search", cls=Verb)
@click.argument("query")
@click.option("-k", "--limit", "k", type=int, default=10, show_default=True, help="How many at most.")
@with_filters
@click.option("--context", "as_context", is_flag=True, help="Print the fenced text for a prompt.")
@click.option(
    "--budget-tokens", "--budget", "budget_tokens", type=int, metavar="N", help="With --context: at most this many tokens."
)
@QUARANTINE
def search_command(
    door: Door, query: str, *, kinds: tuple[str, ...], where: str | None, as_context: bool, quarantine: bool, **rest: Any
) -> None:
    """Find the memories that match QUERY best, each verified before it is shown."""
    if rest["budget_tokens"] is not None and not as_context:
        raise InputError("--budget-tokens goes with --context", field="budget_tokens")
    filters = parse_option(where, "where")
    with door.open(quarantine=quarantine) as memory:
        result = memory.search(query, kinds=kinds or None, where=filters, **rest)
        context = result.context() if as_context else None
        plain = result.to_dict() | ({} if context is None else {"context": context})
    warn_of(result.notes)
    if context is not None:
        door.tell(plain, [context])
        return
    lines = [line for number, hit in enumerate(plain["hits"], 1) for line in memo_lines(hit, number)]
    door.tell(plain, [*(lines or ["nothing found"]), *withheld_lines(result.withheld)])


@click.command("ask", cls=Verb)
@click.argument("question")
@with_filters
@QUARANTINE
def ask_command(door: Door, question: str, *, kinds: tuple[str, ...], where: str | None, quarantine: bool, **rest: Any) -> None:
    """Answer QUESTION with the best-supported verbatim quote and its source, or say that memory holds no answer."""
    filters = parse_option(where, "where")
    with door.open(quarantine=quarantine) as memory:
        answer = memory.answer(question, kinds=kinds or None, where=filters, **rest).to_dict()
        lines = [*answer_lines(answer), *withheld_lines(answer["withheld"])]
    warn_of(answer["notes"])
    door.tell(answer, lines)


def answer_lines(answer: dict[str, Any]) -> Iterator[str]:
    """Yield an answer as a person reads it: the quote, then its source; or that there is none.

    Args:
        answer: as plain data.
    """
    if answer["abstained"]:
        yield f"no answer: {answer['reason']}"
        return
    yield terminal.inert(answer["text"])
    for citation in answer["citations"]:
        yield f"  source: {who_said(citation)}, id {citation['id']}"


def _page(door: Door, page: Any, nothing: str) -> None:
    plain = page.to_dict()
    lines = [line for memo in plain["items"] for line in memo_lines(memo)]
    more = [f"more: --cursor {page.cursor}"] if page.cursor else []
    door.tell(plain, [*(lines or [nothing]), *withheld_lines(page.withheld), *more])


LIMIT = click.option("--limit", type=int, default=100, show_default=True, help="How many at most.")
CURSOR = click.option("--cursor", metavar="TEXT", help="Go on where an earlier page ended.")


@click.command("list", cls=Verb)
@LIMIT
@CURSOR
@click.option("--session", help="Only this conversation.")
@click.option("--scope", help="Only this scope label.")
@click.option("--where", metavar="JSON", help='Filter, such as {"role": "user"}.')
@click.option(
    "--include-inactive",
    "--all-states",
    "include_inactive",
    is_flag=True,
    help="Also what is held, withdrawn or no longer valid.",
)
@QUARANTINE
def list_command(door: Door, *, where: str | None, quarantine: bool, **rest: Any) -> None:
    """List memories in the order in which they came in."""
    filters = parse_option(where, "where")
    with door.open(quarantine=quarantine) as memory:
        page = memory.list(where=filters, **rest)
    _page(door, page, "no memories")


@click.command("inbox", cls=Verb)
@LIMIT
@CURSOR
@QUARANTINE
def inbox_command(door: Door, *, limit: int, cursor: str | None, quarantine: bool) -> None:
    """List what waits for its owner's approval ('wtree approve ID', or 'wtree retract ID')."""
    with door.open(quarantine=quarantine) as memory:
        page = memory.inbox(limit=limit, cursor=cursor)
    _page(door, page, "the inbox is empty")


@click.command("show", cls=Verb)
@click.argument("id")
@QUARANTINE
def show_command(door: Door, id: str, *, quarantine: bool) -> None:
    """Show the memory ID with everything that is known about it."""
    with door.open(quarantine=quarantine) as memory:
        memo = memory.get(id).to_dict()
    shown = {name: value for name, value in memo.items() if name not in ("text", "evidence") and value not in (None, "", {})}
    lines = [f"{name.replace('_', ' ')}: {terminal.one_line(str(value))}" for name, value in shown.items()]
    door.tell(memo, [*lines, "text:", *indented(memo["text"])])


get_command = show_command


@click.command("evidence", cls=Verb)
@click.argument("id")
@QUARANTINE
def evidence_command(door: Door, id: str, *, quarantine: bool) -> None:
    """Show the verbatim quotes that the memory ID rests on."""
    with door.open(quarantine=quarantine) as memory:
        quotes = [quote.to_dict() for quote in memory.evidence(id)]
        lines = [line for quote in quotes for line in _quote_lines(quote)]
    door.tell(quotes, lines)


def _quote_lines(quote: dict[str, Any]) -> list[str]:
    who = f"{quote['role']} {terminal.one_line(quote['name'])}".strip()
    place = f"characters {quote['start']} to {quote['end']} of version {quote['version']}"
    return [f"{quote['source']}  {who}, {when(quote)}, {place}", *indented(quote["text"])]


@click.command("history", cls=Verb)
@click.argument("id")
@QUARANTINE
def history_command(door: Door, id: str, *, quarantine: bool) -> None:
    """Show every version of the memory ID, oldest first."""
    with door.open(quarantine=quarantine) as memory:
        versions = [memo.to_dict() for memo in memory.history(id)]
    lines = []
    for memo in versions:
        lines.append(f"version {memo['version']}, {memo['recorded_at']}, {who_said(memo)}, {memo['status']}")
        lines += indented(memo["text"])
    door.tell(versions, lines)
