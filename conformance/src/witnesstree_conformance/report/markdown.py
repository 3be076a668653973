"""The document as Markdown: a summary, a matrix per tier, memory attacks, costs, and every cell with its raw edit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from witnesstree_conformance.report import tables
from witnesstree_conformance.verdicts import MEANING

Json = Mapping[str, Any]
TIER_MEANING = {
    "A": "the attacker writes the store's main files",
    "B": "he writes all of the store, sidecars and journals too",
    "C": "he also writes the client's state",
    "E": "he also holds the client's keys",
}
_SPECIAL = str.maketrans({char: f"\\{char}" for char in "\\`*_{}[]<>#|~!"})


def escaped(text: str) -> str:
    """Return text so that it means nothing but itself in a cell of a table, on one line."""
    return " ".join(text.split()).translate(_SPECIAL)


def code(text: str) -> str:
    """Return text as code in a cell of a table, whatever it holds. A stroke ends a cell even in code, so it is an entity."""
    line = " ".join(text.split())
    if "|" in line:
        return f"<code>{''.join(char if char.isalnum() or char == ' ' else f'&#{ord(char)};' for char in line)}</code>"
    longest = max((len(run) for run in _backticks(line)), default=0)
    fence, space = "`" * (longest + 1), " " if "`" in line or not line.strip() else ""
    return f"{fence}{space}{line}{space}{fence}"


def _backticks(text: str) -> list[str]:
    return ["`" * len(part) for part in "".join(char if char == "`" else " " for char in text).split()]


def markdown(document: Json, *, details: bool = True) -> str:
    """Return the whole document as Markdown; without ``details``, the tables alone."""
    parts = [*_head(document), *_summary(document), *_matrices(document), *_in_use(document), *_costs(document), *_meaning()]
    if details:
        for subject in document["subjects"]:
            parts += _subject(subject)
    return "\n".join(parts).rstrip() + "\n"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"
    yield ""


def _head(document: Json) -> Iterator[str]:
    yield "# What memory stores say when somebody edits them behind their back"
    yield ""
    yield f"Measured {escaped(document['made'])} by witnesstree-conformance {escaped(document['suite'])}."
    yield ""


def _summary(document: Json) -> Iterator[str]:
    yield "## Summary"
    yield ""
    yield "*Held* means: refused by plain reads with a documented integrity error, or without any effect on what is read."
    yield ""
    found = tables.tiers(document)
    rows = []
    for subject in document["subjects"]:
        cells = {row["tier"]: tables.counted({c["attack"]: c for c in row["cells"]}) for row in subject["rows"]}
        rating = subject["rating"]
        rows.append(
            [
                code(subject["name"]),
                escaped(subject.get("version", "")),
                f"**{rating['level']}**" if rating["conformant"] else rating["level"],
                *(cells.get(tier, tables.NOT_RUN) for tier in found),
                escaped(subject["error"]) if subject.get("error") else escaped(subject.get("config", "")),
            ]
        )
    yield from _table(["subject", "version", "level", *(f"tier {tier}" for tier in found), "configuration"], rows)


def _matrices(document: Json) -> Iterator[str]:
    for tier in tables.tiers(document):
        columns = tables.columns(document, tier)
        yield f"## At rest, tier {tier}: {TIER_MEANING[tier]}"
        yield ""
        rows = [
            [escaped(attack["title"]), *(tables.shown(column.cells.get(attack["id"])) for column in columns)]
            for attack in tables.attacks(document, "at rest")
            if tier in attack.get("tiers", ())
        ]
        yield from _table(["attack", *(code(column.subject) for column in columns)], rows)


def _in_use(document: Json) -> Iterator[str]:
    groups = tables.in_use_groups(document)
    if not groups:
        return
    yield "## In use: cells that held, of those that were earned"
    yield ""
    subjects = [subject for subject in document["subjects"] if "in_use" in subject["rating"]]
    rows = [[escaped(group), *(tables.in_use_shown(subject, group) for subject in subjects)] for group in groups]
    rows.append(["honest words withheld", *(str(subject["rating"]["in_use"]["overblocked"]) for subject in subjects)])
    yield from _table(["attack / channel", *(code(subject["name"]) for subject in subjects)], rows)


def _costs(document: Json) -> Iterator[str]:
    rows = [(subject, tables.cost_row(subject)) for subject in document["subjects"]]
    measured = [[code(subject["name"]), *(escaped(text) for text in row)] for subject, row in rows if row]
    if not measured:
        return
    yield "## Costs: times in ms, medians of one run on one machine"
    yield ""
    sizes = next(subject["costs"]["sizes"] for subject, row in rows if row)
    head = ["subject", "write", "more than plain SQLite", *(f"{size['entries']} entries" for size in sizes), "false alarms"]
    yield from _table(head, measured)


def _meaning() -> Iterator[str]:
    yield "## What the words mean"
    yield ""
    yield from _table(["word", "meaning"], [[tables.word(name), escaped(text)] for name, text in MEANING.items()])


def _subject(subject: Json) -> Iterator[str]:
    yield f"## {escaped(subject['title'])} ({code(subject['name'])})"
    yield ""
    if subject.get("error"):
        yield f"Not measured: {escaped(subject['error'])}"
        yield ""
        return
    for reason in subject["rating"]["why"][:8]:
        yield f"- {escaped(reason)}"
    yield ""
    answers = {True: "passed", False: "FAILED", None: "n/a"}
    controls = [[escaped(c["control"]), answers[c["passed"]], escaped(c["detail"])] for c in subject["controls"]]
    yield from _table(["control", "", "detail"], controls)
    rows = [
        [where, escaped(attack), verdict, escaped(reason), "<br>".join(code(line) for line in edit)]
        for where, attack, verdict, reason, edit in tables.details(subject)
    ]
    yield "<details><summary>Every cell with its raw edit</summary>"
    yield ""
    yield from _table(["where", "attack", "verdict", "reason", "raw edit"], rows)
    yield "</details>"
    yield ""
