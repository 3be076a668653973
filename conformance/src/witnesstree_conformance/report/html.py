"""The document as one static page: no script, nothing loaded from anywhere, light and dark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from witnesstree_conformance.report import tables
from witnesstree_conformance.report.markdown import TIER_MEANING
from witnesstree_conformance.verdicts import MEANING

Json = Mapping[str, Any]
STYLE = """
:root{color-scheme:light dark;--good:#d9f2dd;--fair:#fff0c2;--bad:#fbd8d5;--line:#8884;--page:#fff}
@media(prefers-color-scheme:dark){:root{--good:#163d20;--fair:#463a0c;--bad:#571f1b;--page:#14161a}}
body{font:15px/1.5 system-ui,sans-serif;margin:0 auto;padding:1rem 1.2rem 4rem;max-width:110rem;background:var(--page)}
h1{font-size:1.6rem;line-height:1.25}h2{margin-top:2.4rem;font-size:1.2rem}
.wide{overflow:auto;max-height:85vh;border:1px solid var(--line);border-radius:6px}
table{border-collapse:collapse;font-size:13px}
th,td{border:1px solid var(--line);padding:.3rem .5rem;text-align:left;vertical-align:top}
thead th{position:sticky;top:0;background:var(--page);z-index:1}
tbody th{position:sticky;left:0;background:var(--page);font-weight:500}
.name{font-family:ui-monospace,monospace;font-size:12px;overflow-wrap:break-word}
.good{background:var(--good)}.fair{background:var(--fair)}.bad{background:var(--bad)}
td a{color:inherit;text-decoration:none}td a:hover,td a:focus{text-decoration:underline}
code{font-size:12px;white-space:pre-wrap;overflow-wrap:anywhere}.small{font-size:13px;opacity:.8}
details{margin:.5rem 0;border:1px solid var(--line);border-radius:6px;padding:.4rem .7rem}summary{cursor:pointer}
td.reason{min-width:14rem;max-width:34rem;overflow-wrap:anywhere}tr:target{outline:2px solid}
"""
GOOD, FAIR = ("refused", "no_effect", "held"), ("reported",)
UNEARNED = ("n/a", "not_evaluable")
POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def html(document: Json) -> str:
    """Return the document as a page."""
    title = "What memory stores say when somebody edits them behind their back"
    body = [
        f"<h1>{title}</h1>",
        f'<p class="small">Measured {escape(document["made"])} by witnesstree-conformance {escape(document["suite"])}.</p>',
        *_summary(document),
        *_matrices(document),
        *_in_use(document),
        *_costs(document),
        *_meaning(document),
        *(line for number, subject in enumerate(document["subjects"]) for line in _subject(subject, number)),
    ]
    head = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        f"<title>{title}</title><style>{STYLE}</style></head><body>"
    )
    return head + "\n".join(body) + "</body></html>\n"


def _kind(verdict: str) -> str:
    """Return the class that colours a verdict; the word itself says the same."""
    if verdict in GOOD:
        return "good"
    return "fair" if verdict in FAIR else "" if verdict in UNEARNED else "bad"


def _table(head: Sequence[str], rows: Sequence[str]) -> Iterator[str]:
    yield '<div class="wide" tabindex="0"><table><thead><tr>'
    yield from (f'<th scope="col">{text}</th>' for text in head)
    yield "</tr></thead><tbody>"
    yield from rows
    yield "</tbody></table></div>"


def _row(first: str, cells: Sequence[str]) -> str:
    return f'<tr><th scope="row">{first}</th>{"".join(cells)}</tr>'


def _name(text: str) -> str:
    return f'<span class="name">{escape(text)}</span>'


def _summary(document: Json) -> Iterator[str]:
    yield "<h2>Summary</h2>"
    yield (
        "<p><em>Held</em> means: refused by plain reads with a documented integrity error, or without any effect on what is"
        " read. A crash, a shorter answer and a line in a log are no detection.</p>"
    )
    found = tables.tiers(document)
    rows = []
    for number, subject in enumerate(document["subjects"]):
        cells = {row["tier"]: tables.counted({c["attack"]: c for c in row["cells"]}) for row in subject["rows"]}
        rating = subject["rating"]
        colour = "good" if rating["conformant"] else "fair" if rating["level"] == "audited" else "bad"
        rows.append(
            _row(
                f'<a href="#s{number}">{_name(subject["name"])}</a>',
                [
                    f"<td>{escape(subject.get('version', ''))}</td>",
                    f'<td class="{colour}">{escape(rating["level"])}</td>',
                    *(f"<td>{escape(cells.get(tier, tables.NOT_RUN))}</td>" for tier in found),
                    f"<td>{escape(subject.get('error') or subject.get('config', ''))}</td>",
                ],
            )
        )
    yield from _table(["subject", "version", "level", *(f"tier {tier}" for tier in found), "configuration"], rows)


def _matrices(document: Json) -> Iterator[str]:
    numbers = {subject["name"]: number for number, subject in enumerate(document["subjects"])}
    for tier in tables.tiers(document):
        columns = tables.columns(document, tier)
        yield f"<h2>At rest, tier {tier}: {escape(TIER_MEANING[tier])}</h2>"
        rows = []
        for attack in tables.attacks(document, "at rest"):
            if tier in attack.get("tiers", ()):
                title = f'<span title="{escape(attack.get("story", ""))}">{escape(attack["title"])}</span>'
                rows.append(_row(title, [_cell(column, attack["id"], numbers[column.subject]) for column in columns]))
        yield from _table(["attack", *(_name(column.subject) for column in columns)], rows)


def _cell(column: tables.Column, attack: str, number: int) -> str:
    cell = column.cells.get(attack)
    if cell is None:
        return f"<td>{tables.NOT_RUN}</td>"
    target = escape(_anchor(number, column.tier, attack))
    return f'<td class="{_kind(cell["verdict"])}"><a href="#{target}">{escape(tables.shown(cell))}</a></td>'


def _anchor(number: int, tier: str, attack: str) -> str:
    return f"s{number}-{tier}-{attack}"


def _in_use(document: Json) -> Iterator[str]:
    groups = tables.in_use_groups(document)
    if not groups:
        return
    subjects = [subject for subject in document["subjects"] if "in_use" in subject["rating"]]
    yield "<h2>In use: cells that held, of those that were earned</h2>"
    rows = [_row(escape(group), [_group(subject, group) for subject in subjects]) for group in groups]
    blocked = [f"<td>{subject['rating']['in_use']['overblocked']}</td>" for subject in subjects]
    yield from _table(
        ["attack / channel", *(_name(subject["name"]) for subject in subjects)], [*rows, _row("honest words withheld", blocked)]
    )


def _group(subject: Json, group: str) -> str:
    counts = subject["rating"]["in_use"]["groups"].get(group, {})
    kind = "bad" if counts.get("open") else "good" if counts.get("held") else ""
    return f'<td class="{kind}">{escape(tables.in_use_shown(subject, group))}</td>'


def _costs(document: Json) -> Iterator[str]:
    rows = [(subject, tables.cost_row(subject)) for subject in document["subjects"]]
    measured = [_row(_name(subject["name"]), [f"<td>{escape(text)}</td>" for text in row]) for subject, row in rows if row]
    if not measured:
        return
    sizes = next(subject["costs"]["sizes"] for subject, row in rows if row)
    yield "<h2>Costs: times in ms, medians of one run on one machine</h2>"
    head = ["subject", "write", "more than plain SQLite", *(f"{size['entries']} entries" for size in sizes), "false alarms"]
    yield from _table(head, measured)


def _meaning(document: Json) -> Iterator[str]:
    yield "<h2>What the words mean</h2>"
    rows = [
        f'<tr><th scope="row" class="{_kind(name)}">{escape(tables.word(name))}</th><td>{escape(text)}</td></tr>'
        for name, text in MEANING.items()
    ]
    yield from _table(["word", "meaning"], rows)
    yield "<details><summary>What each attack does</summary>"
    stories = [
        _row(escape(attack["title"]), [f"<td>{escape(str(attack.get('story', '')))}</td>", f"<td>{attack.get('version')}</td>"])
        for attack in document["attacks"]
    ]
    yield from _table(["attack", "what the attacker does", "version"], stories)
    yield "</details>"


def _subject(subject: Json, number: int) -> Iterator[str]:
    yield f'<h2 id="s{number}">{escape(subject["title"])} {_name(subject["name"])}</h2>'
    if subject.get("error"):
        yield f"<p>Not measured: {escape(subject['error'])}</p>"
        return
    reasons = "".join(f"<li>{escape(reason)}</li>" for reason in subject["rating"]["why"][:8])
    yield f"<ul>{reasons}</ul>" if reasons else "<p>Nothing stands in the way of the next level.</p>"
    answers = {True: ("good", "passed"), False: ("bad", "failed"), None: ("", "n/a")}
    controls = []
    for control in subject["controls"]:
        kind, answer = answers[control["passed"]]
        cells = [f'<td class="{kind}">{answer}</td>', f'<td class="reason">{escape(control["detail"])}</td>']
        controls.append(_row(escape(control["control"]), cells))
    yield from _table(["control", "", "detail"], controls)
    yield "<details><summary>Every cell with its raw edit</summary>"
    rows = []
    for where, attack, verdict, reason, edit in tables.details(subject):
        anchor = f' id="{escape(_anchor(number, where.removeprefix("tier "), attack))}"' if where != "in use" else ""
        lines = "".join(f"<code>{escape(line)}</code><br>" for line in edit)
        texts = "".join(f"<td>{escape(text)}</td>" for text in (where, attack, verdict))
        rows.append(f'<tr{anchor}>{texts}<td class="reason">{escape(reason)}</td><td class="reason">{lines}</td></tr>')
    yield from _table(["where", "attack", "verdict", "reason", "raw edit"], rows)
    yield "</details>"
