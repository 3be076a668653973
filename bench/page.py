"""The results as one page: pictures in SVG, every figure in a table, no script, nothing fetched. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape

from bench.figures import Figure, number
from bench.tables import Results, cells, figures_of, peer_cells

OURS = "Witnesstree"
LABEL, WIDE, ROW = 360, 400, 26
STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #fff; --soft: #57606a; --rule: #d0d7de; --ours: #1a7f5a;
  --other: #8896a5; --bad: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --paper: #0d1117; --soft: #9aa4af; --rule: #30363d;
  --ours: #3fb98a; --other: #6b7785; --bad: #ff8a80; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 62rem; margin: 2rem auto;
  padding: 0 1rem; }
h1, h2, h3 { line-height: 1.25; } p, figcaption { color: var(--soft); max-width: 48rem; }
figure { margin: 1.5rem 0; overflow-x: auto; } svg { max-width: 100%; height: auto; min-width: 30rem; }
svg text { font: 13px system-ui, sans-serif; fill: var(--ink); } svg .ours { fill: var(--ours); }
svg .other { fill: var(--other); } svg text.own { font-weight: 600; fill: var(--ink); } svg line { stroke: var(--rule); }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-size: .875rem; }
caption { text-align: left; color: var(--soft); }
th, td { border-bottom: 1px solid var(--rule); padding: .3rem .6rem; text-align: left; vertical-align: top; }
td.missed { color: var(--bad); font-weight: 600; } tr.own th { color: var(--ours); }
"""


@dataclass(frozen=True)
class Bar:
    """One bar of a picture."""

    label: str
    value: float
    text: str

    @property
    def is_ours(self) -> bool:
        """Whether it stands for this project."""
        return self.label.startswith(OURS)


def picture(title: str, caption: str, bars: list[Bar]) -> str:
    """Return horizontal bars, longest value as wide as the picture; the same numbers stand beside them."""
    if not bars:
        return ""
    most = max(bar.value for bar in bars) or 1.0
    height = ROW * len(bars) + 6
    name = "picture-" + "".join(letter if letter.isalnum() else "-" for letter in title.lower())
    drawn = []
    for place, bar in enumerate(bars):
        top, long = place * ROW + 4, max(1.0, WIDE * bar.value / most)
        kind, weight = ("ours", "own") if bar.is_ours else ("other", "")
        drawn.append(f'<text class="{weight}" x="{LABEL - 8}" y="{top + 15}" text-anchor="end">{escape(bar.label)}</text>')
        drawn.append(f'<rect class="{kind}" x="{LABEL}" y="{top}" width="{long:.1f}" height="{ROW - 6}" rx="2"/>')
        drawn.append(f'<text class="{weight}" x="{LABEL + long + 6:.1f}" y="{top + 15}">{escape(bar.text)}</text>')
    told = "; ".join(f"{bar.label}: {bar.text}" for bar in bars)
    return (
        f'<figure><h3 id="{name}">{escape(title)}</h3>'
        f'<svg viewBox="0 0 {LABEL + WIDE + 110} {height}" width="{LABEL + WIDE + 110}" role="img" aria-labelledby="{name}">'
        f'<desc>{escape(told)}</desc><line x1="{LABEL}" x2="{LABEL}" y1="0" y2="{height}"/>{"".join(drawn)}</svg>'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
    )


def bars_of(results: Results, module: str, name: str) -> list[Bar]:
    """Return one bar a system for the figure of this name."""
    figures = figures_of(results[module]) if module in results else []
    return [
        Bar(figure.system, figure.value, f"{number(figure.value)} {figure.unit}")
        for figure in figures
        if figure.system and figure.name == name
    ]


def scale_bars(results: Results) -> list[Bar]:
    """Return one bar an owner: how long a warm search takes, by rows of the owner and of the store."""
    figures = figures_of(results["scale"]) if "scale" in results else []
    begin, end = "search p50, ", ", CPU"
    found = []
    for figure in figures:
        if figure.name.startswith(begin) and figure.name.endswith(end):
            label = figure.name.removeprefix(begin).removesuffix(end)
            found.append(Bar(label, figure.value, f"{number(figure.value)} {figure.unit}"))
    return found


def pictures(results: Results) -> str:
    """Return all pictures that the results allow."""
    quality = "Share of the labelled turns among the first ten hits; higher is better."
    speed = "CPU time of one search, median; one owner, the same rows and questions for all, asked in turn; lower is better. "
    speed += "A system that could not be loaded in time is not shown; the table says so."
    return "".join(
        (
            picture("Found among the first ten, LoCoMo", quality, bars_of(results, "peers_quality", "R@10")),
            picture("Search, 10,000 rows", speed, bars_of(results, "peers", "search p50, 10,000 rows, CPU")),
            picture("Search, 50,000 rows", speed, bars_of(results, "peers", "search p50, 50,000 rows, CPU")),
            picture("Search by size of owner and store", "CPU time of one warm search, median.", scale_bars(results)),
        )
    )


def html_table(caption: str, heads: list[str], rows: list[list[str]]) -> str:
    """Return an accessible table: the first column heads its row."""
    top = "".join(f'<th scope="col">{escape(head) or "<span>system</span>"}</th>' for head in heads)
    body = []
    for first, *rest in rows:
        own = ' class="own"' if first.startswith(OURS) else ""
        marks = {"missed": ' class="missed"'}
        tail = "".join(f"<td{marks.get(cell, '')}>{escape(unbroken(cell))}</td>" for cell in rest)
        body.append(f'<tr{own}><th scope="row">{escape(first)}</th>{tail}</tr>')
    head = f"<caption>{escape(caption)}</caption><thead><tr>{top}</tr></thead>"
    return f'<div class="wide" tabindex="0"><table>{head}<tbody>{"".join(body)}</tbody></table></div>'


def unbroken(cell: str) -> str:
    """Return a cell whose number keeps its unit on the same line."""
    return cell.replace(" ", "\u00a0") if cell[:1].isdigit() and cell.count(" ") == 1 else cell


def _rows(figures: list[Figure]) -> list[list[str]]:
    rows = []
    for figure in figures:
        bar, title, measured, limit, met = cells(figure, mark="missed")
        rows.append([title, measured, limit, met, bar])
    return rows


def summary(topics: Mapping[str, Results]) -> str:
    """Return how many bars are met, and a list of those that are not."""
    figures = [figure for results in topics.values() for part in results.values() for figure in figures_of(part)]
    judged = [figure for figure in figures if figure.met is not None]
    missed = [figure for figure in judged if not figure.met]
    lines = "".join(f"<li>{escape(': '.join(filter(None, cells(figure, mark='')[1:3])))}</li>" for figure in missed)
    told = f"{len(judged)} bars: {len(judged) - len(missed)} met, {len(missed)} missed."
    return f"<p><strong>{told}</strong></p>" + (f"<ul>{lines}</ul>" if lines else "")


def page(topics: Mapping[str, Results]) -> str:
    """Return the whole page.

    Args:
        topics: title of each topic and what its results file holds.
    """
    parts = []
    for title, results in topics.items():
        parts.append(f"<h2>{escape(title)}</h2>{pictures(results)}")
        heads, rows = peer_cells(results)
        if rows:
            parts.append("<h3>Peers</h3>" + html_table("A line a system. Times are CPU, median.", heads, rows))
        for module, part in sorted(results.items()):
            about = f"{part['command']}, {part['date']}; " + ", ".join(f"{k} {v}" for k, v in sorted(part["machine"].items()))
            heads = ["figure", "measured", "limit", "verdict", "bar"]
            parts.append(f"<h3>{escape(module)}</h3>{html_table(about, heads, _rows(figures_of(part)))}")
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Witnesstree: results</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<style>{STYLE}</style></head><body><main><h1>Witnesstree: results</h1>"
        "<p>Absolute times depend on the machine and on what else runs on it; ratios are taken inside one run, calls made in "
        f"turn.</p>{summary(topics)}{''.join(parts)}</main></body></html>\n"
    )
