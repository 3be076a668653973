"""Measures several subjects side by side, each in its own process and environment."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from witnesstree_conformance import __version__
from witnesstree_conformance.environments import InstallError, import_path, prepare
from witnesstree_conformance.levels import rate
from witnesstree_conformance.subjects import Known, file_name

Json = dict[str, Any]
Watch = Callable[[str, str], None]
"""Gets the name of a subject and what is being done with it."""
PASSED_ON = ("PATH", "LANG", "LC_ALL", "TZ", "TMPDIR", "SSL_CERT_FILE", "SYSTEMROOT")
"""What a subject sees of the environment of whoever runs the suite: no keys, no settings, no proxies."""


@dataclass(frozen=True)
class Selection:
    """What to measure; empty means everything."""

    tiers: tuple[str, ...] = ()
    attacks: tuple[str, ...] = ()
    pass_env: tuple[str, ...] = ()
    """Names of further environment variables that a subject may see."""
    allow_hosts: tuple[str, ...] = ()
    """Hosts, beside this machine, on which a live server may be measured."""
    in_use: bool = True
    costs: bool = False

    def arguments(self) -> list[str]:
        """Return it for the child's command line."""
        switches = ["--in-use" if self.in_use else "--no-in-use", *(["--costs"] if self.costs else [])]
        return [
            *_each("--tier", self.tiers),
            *_each("--attack", self.attacks),
            *_each("--allow-host", self.allow_hosts),
            *switches,
        ]


def _each(option: str, values: Iterable[str]) -> list[str]:
    return [word for value in values for word in (option, value)]


def measure_all(
    subjects: Sequence[Known],
    selection: Selection,
    *,
    jobs: int = 2,
    keep: Path | None = None,
    watch: Watch = lambda name, line: None,
) -> Iterator[Json]:
    """Measure subjects, ``jobs`` at a time; yield each result when it is there. What fails is a result too, with ``error``.

    Args:
        subjects: which.
        selection: which tiers and attacks.
        jobs: how many at a time.
        keep: a folder in which what a run leaves behind is kept, one folder per subject.
        watch: is told how far each is; called from several threads.
    """
    children: list[subprocess.Popen[str]] = []
    with ThreadPoolExecutor(max_workers=max(1, jobs)) as pool:
        running = [pool.submit(measure_one, known, selection, keep, watch, children.append) for known in subjects]
        try:
            for future in as_completed(running):
                yield future.result()
        finally:
            for future in running:
                future.cancel()
            for child in children:
                child.terminate()


def measure_one(
    known: Known,
    selection: Selection,
    keep: Path | None = None,
    watch: Watch = lambda name, line: None,
    started: Callable[[subprocess.Popen[str]], None] = lambda child: None,
) -> Json:
    """Measure one subject in a process of its own; ``started`` is given the process."""
    folder = Path(tempfile.mkdtemp(prefix="wtc-"))
    try:
        environment = prepare(known, lambda line: watch(known.name, line))
        variables = {name: os.environ[name] for name in (*PASSED_ON, *selection.pass_env) if name in os.environ}
        variables |= {"PYTHONPATH": import_path(known, folder), "PYTHONDONTWRITEBYTECODE": "1", **environment.variables}
        result = folder / "result.json"
        command = [str(environment.python), "-m", "witnesstree_conformance.child", known.name, str(folder / "f"), str(result)]
        with (folder / "errors.txt").open("w+") as errors:
            child = subprocess.Popen(
                [*command, *selection.arguments()], stdout=subprocess.PIPE, stderr=errors, text=True, env=variables
            )
            started(child)
            try:
                for line in child.stdout or ():
                    watch(known.name, line.strip())
                code = child.wait()
            finally:
                child.kill()
            if code == 0 and result.exists():
                measured: Json = json.loads(result.read_text())
                return measured
            errors.seek(0)
            return _not_measured(known, _last_line(errors.read()) or f"the process ended with code {code}")
    except InstallError as error:
        return _not_measured(known, str(error))
    finally:
        if keep is not None:
            shutil.copytree(folder, keep / file_name(known.name), symlinks=True, dirs_exist_ok=True)
        shutil.rmtree(folder, ignore_errors=True)


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1].removeprefix("error: ")[:500] if lines else ""


def _not_measured(known: Known, why: str) -> Json:
    """Return a result that says that there is none."""
    result: Json = {"name": known.name, "title": known.name, "suite": __version__, "error": why, "controls": [], "rows": []}
    return result | {"seconds": 0.0, "rating": rate(result)}
