"""Commands about how memories are found: measure it on own questions, exchange the vectors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from witnesstree.cli import terminal
from witnesstree.cli.verb import Door, StoreVerb, Verb, warn_if_behind
from witnesstree.errors import InputError


@click.command("eval", cls=Verb)
@click.argument("file")
def eval_command(door: Door, file: str) -> None:
    """Ask the labelled questions of FILE and show how many of their memories are found and answered.

    FILE holds one JSON object a line: {"question": "…", "ids": ["…"]}, or "texts" with words that the right memories contain,
    or "answerable": false.
    """
    from witnesstree.evaluation import evaluate, read_question
    from witnesstree.flow.items import FileItems

    questions = []
    for line, item in FileItems(file).numbered():
        try:
            questions.append(read_question(item))
        except InputError as error:
            raise InputError(f"{file}, line {line}: {error}", field="file") from None
    if not questions:
        raise InputError(f"{file} holds no questions", field="file")
    with door.open() as memory, terminal.Progress("questions asked", len(questions)) as progress:
        figures = evaluate(memory, questions, progress=progress.show).to_dict()
    door.tell(figures, _figure_lines(figures))


def _figure_lines(figures: dict[str, Any]) -> Iterator[str]:
    """Yield the figures as a person reads them."""
    if figures["questions"]:
        yield f"{figures['questions']} questions with an answer in the memory"
        for k, value in figures["recall"].items():
            yield f"  recall@{k:<3} {value:6.1%}"
        yield f"  nDCG@10   {figures['ndcg_at_10']:6.1%}"
        yield f"  MRR       {figures['reciprocal_rank']:6.1%}"
        yield f"  answered  {figures['answered']:6.1%}, from a right memory {figures['answered_right']:.1%}"
        yield from (f"  not in the first 10: {terminal.one_line(question)}" for question in figures["missed"])
    if figures["unanswerable"]:
        yield f"{figures['unanswerable']} questions without an answer in the memory"
        yield f"  answered  {figures['answered_falsely']:6.1%}"


@click.command("reindex", cls=StoreVerb)
@click.option("--embedder", metavar="NAME", help="Whose vectors are wanted [default: WITNESSTREE_EMBEDDER, or local].")
def reindex_command(door: Door, *, embedder: str | None) -> None:
    """Give every memory the vector of another embedder, and fill missing ones. It may be interrupted and run again."""
    with door.open(for_user=False, embedder=embedder) as memory, terminal.Progress("rows done") as progress:
        result = memory.reindex(progress=progress.show)
    model = result.model or "no embedder"
    more = [f"{result.left} memories came in meanwhile and have none yet; run it again"] if result.left else []
    door.tell(result.to_dict(), [f"{result.rows} vectors exchanged; all are of {model} now", *more])
    warn_if_behind(result)
