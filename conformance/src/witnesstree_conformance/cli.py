"""``wtree-conformance``: list, run, report, pin. Tables go to stdout or into files, progress to stderr."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn, ParamSpec, TypeVar

import click

from witnesstree_conformance import __version__, live, pins, report
from witnesstree_conformance.attacks import AT_REST
from witnesstree_conformance.batch import Selection, measure_all
from witnesstree_conformance.environments import is_ready
from witnesstree_conformance.levels import LEVELS, reaches
from witnesstree_conformance.protocol import TIERS
from witnesstree_conformance.report import ReportError
from witnesstree_conformance.status import Status
from witnesstree_conformance.subjects import KNOWN, LIVE, Known, UnknownSubject, find

Json = dict[str, Any]
BELOW, USAGE, NOT_MEASURED, INTERRUPTED = 1, 2, 3, 130
EXIT_CODES = """\b
Exit codes:
  0  everything asked for was measured, and is as required
  1  a subject is below --require, or differs from its pins
  2  the command itself can't be understood
  3  a subject could not be measured"""
P = ParamSpec("P")
T = TypeVar("T")


def fail(message: str, code: int = USAGE) -> NoReturn:
    """Write one line and end."""
    click.echo(f"error: {message}", err=True)
    sys.exit(code)


def _found(read: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
    """Return what is read; what is wrong with what was given is one line and exit code 2."""
    try:
        return read(*arguments, **named)
    except (UnknownSubject, ReportError, live.SettingsError, pins.PinsError, OSError) as error:
        fail(str(error))


@click.group(epilog=EXIT_CODES, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="wtree-conformance")
def main() -> None:
    """Measure what a memory store says when somebody edits it behind its back."""


@main.command("list")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def list_(as_json: bool) -> None:
    """Name the subjects that come with the suite, and its attacks with --json."""
    subjects = [
        {"name": known.name, "what": known.what, "slow": known.is_slow, "installed": is_ready(known)} for known in KNOWN.values()
    ]
    if as_json:
        attacks = report.document([], datetime.now(UTC))["attacks"]
        click.echo(json.dumps({"subjects": subjects, "attacks": attacks}, ensure_ascii=False, indent=1))
        return
    width = max(len(name) for name in KNOWN)
    for subject in subjects:
        notes = [word for word, holds in (("slow", subject["slow"]), ("not installed yet", not subject["installed"])) if holds]
        click.echo(f"{subject['name']:{width}}  {subject['what']}" + (f" ({', '.join(notes)})" if notes else ""))
    click.echo("\nYour own store: 'wtree-conformance run my.module:MySubject'")
    click.echo("A running server: 'wtree-conformance run live:SETTINGS.toml'")


@main.command(epilog=EXIT_CODES)
@click.argument("names", nargs=-1, metavar="SUBJECT…")
@click.option("--all", "everything", is_flag=True, help="Every subject that comes with the suite, but for slow ones.")
@click.option("--slow", is_flag=True, help="With --all: slow ones too.")
@click.option("--tier", "tiers", multiple=True, type=click.Choice(TIERS), help="Only this tier; may be repeated.")
@click.option("--attack", "attacks", multiple=True, type=click.Choice(list(AT_REST)), metavar="ID", help="Only this attack.")
@click.option("--in-use/--no-in-use", default=True, help="Also attack the memory in use (default).")
@click.option("--costs", is_flag=True, help="Also measure what writing, reading and verifying cost.")
@click.option("--json", "json_file", type=click.Path(dir_okay=False, path_type=Path), help="Write the results here.")
@click.option("--html", "html_file", type=click.Path(dir_okay=False, path_type=Path), help="Write a page here.")
@click.option("--require", type=click.Choice(LEVELS[1:]), help="End with 1 if a subject is below this level.")
@click.option("--pins", "pins_folder", type=click.Path(file_okay=False, path_type=Path), help="Compare with these pins.")
@click.option("--jobs", type=click.IntRange(1), default=lambda: os.cpu_count() or 1, show_default="number of cores")
@click.option("--keep", type=click.Path(file_okay=False, path_type=Path), help="Keep the measured stores in this folder.")
@click.option("--allow-host", multiple=True, metavar="HOST", help="A live server on this host may be attacked; its owner agreed.")
@click.option("--pass-env", multiple=True, metavar="NAME", help="Let subjects see this environment variable.")
def run(
    names: Sequence[str],
    everything: bool,
    slow: bool,
    tiers: Sequence[str],
    attacks: Sequence[str],
    in_use: bool,
    costs: bool,
    json_file: Path | None,
    html_file: Path | None,
    require: str | None,
    pins_folder: Path | None,
    jobs: int,
    keep: Path | None,
    allow_host: Sequence[str],
    pass_env: Sequence[str],
) -> None:
    """Measure subjects: built-in names, your own as my.module:MySubject, or a running server as live:SETTINGS.toml."""
    chosen = _chosen(names, everything, slow)
    for known in chosen:
        if known.name.startswith(LIVE):
            _found(live.read, Path(known.name.removeprefix(LIVE)), allow_host)
    for file in (json_file, html_file):
        if file is not None:
            _check_writable(file)
    pinned = {known.name: _found(pins.read, pins_folder, known.name) for known in chosen} if pins_folder else {}
    selection = Selection(tuple(tiers), tuple(attacks), tuple(pass_env), tuple(allow_host), in_use=in_use, costs=costs)
    results: dict[str, Json] = {}

    def documented() -> Json:
        document = report.document([results[known.name] for known in chosen if known.name in results], datetime.now(UTC))
        if json_file is not None:
            _write(json_file, json.dumps(document, ensure_ascii=False, indent=1) + "\n")
        return document

    with Status(len(chosen), sys.stderr) as status:
        try:
            for result in measure_all(chosen, selection, jobs=jobs, keep=keep, watch=status.update):
                results[result["name"]] = result
                documented()  # what is measured is kept, whatever happens to the rest
                status.done(result["name"], _line(result))
        except KeyboardInterrupt:
            fail("stopped; what was measured until then is kept" if json_file else "stopped", INTERRUPTED)
    document = documented()
    if html_file is not None:
        _write(html_file, report.html(document))
    if json_file is None and html_file is None:
        click.echo(report.markdown(document, details=False), nl=False)
    code = _verdict(document["subjects"], require, pinned, is_full=not tiers and not attacks and in_use)
    click.echo(_summary(document["subjects"]), err=True)
    sys.exit(code)


def _check_writable(file: Path) -> None:
    """End before anything is measured if the results could not be written."""
    try:
        with file.open("a"):
            pass
    except OSError as error:
        fail(f"{file} can't be written: {error.strerror}")


def _write(file: Path, text: str) -> None:
    """Write a file whole or not at all, unless it is a device."""
    if file.exists() and not file.is_file():
        file.write_text(text)
        return
    part = file.with_name(f"{file.name}.part")
    part.write_text(text)
    part.replace(file)


def _chosen(names: Sequence[str], everything: bool, slow: bool) -> list[Known]:
    if everything and names:
        fail("give names or --all, not both")
    if not everything and not names:
        fail("name a subject ('wtree-conformance list' shows them), or give --all")
    if everything:
        return [known for known in KNOWN.values() if slow or not known.is_slow]
    return list({name: _found(find, name) for name in names}.values())


def _line(result: Json) -> str:
    """Return what is said about a subject that is done."""
    if result.get("error"):
        return f"{result['name']}: not measured: {result['error']}"
    rating = result["rating"]
    why = f" ({rating['why'][0]})" if rating["why"] else ""
    return f"{result['name']} {result['version']}: {rating['level']} in {result['seconds']:.0f} s{why}"


def _summary(subjects: Sequence[Json]) -> str:
    """Return one line about the whole run."""
    measured = [subject for subject in subjects if not subject.get("error")]
    conformant = sum(subject["rating"]["conformant"] for subject in measured)
    cells = sum(len(row["cells"]) for subject in measured for row in subject["rows"])
    cells += sum(len(subject.get("in_use", ())) for subject in measured)
    return f"{len(measured)} of {len(subjects)} subjects measured, {cells} cells, {conformant} conformant"


def _verdict(subjects: Sequence[Json], require: str | None, pinned: dict[str, Json], *, is_full: bool) -> int:
    """Say what is not as required; return the exit code."""
    code = 0
    for subject in subjects:
        if subject.get("error"):
            code = NOT_MEASURED
    for subject in subjects:
        name, level = subject["name"], subject["rating"]["level"]
        if require and not reaches(level, require):
            click.echo(f"{name}: {level} is below {require}", err=True)
            code = code or BELOW
        if name in pinned:
            lines = pins.differences(pinned[name], subject) + (pins.missing(pinned[name], subject) if is_full else [])
            for line in lines:
                click.echo(f"{name}: {line}", err=True)
            code = code or (BELOW if lines else 0)
    return code


@main.command("report")
@click.argument("results", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--html", "html_file", type=click.Path(dir_okay=False, path_type=Path), help="Write a page here instead.")
@click.option("--details/--no-details", default=False, help="With every cell and its raw edit.")
def report_(results: Path, html_file: Path | None, details: bool) -> None:
    """Show RESULTS (a file of 'run --json') as Markdown or as a page. Levels are computed anew."""
    document = _found(report.load, results)
    if html_file is not None:
        _check_writable(html_file)
        _write(html_file, report.html(document))
        return
    click.echo(report.markdown(document, details=details), nl=False)


@main.command()
def schema() -> None:
    """Print the JSON Schema of results."""
    click.echo(report.SCHEMA.read_text(), nl=False)


@main.command()
@click.argument("results", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--to", "folder", type=click.Path(file_okay=False, path_type=Path), required=True, help="The folder with pins.")
def pin(results: Path, folder: Path) -> None:
    """Pin RESULTS that were looked at: a later run with --pins fails if a verdict is better or worse."""
    for subject in _found(report.load, results)["subjects"]:
        if subject.get("error"):
            fail(f"{subject['name']} was not measured: {subject['error']}", NOT_MEASURED)
        click.echo(f"{_found(pins.write, folder, subject)}")


if __name__ == "__main__":
    main()
