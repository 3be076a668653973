"""pytest plugin: ``pytest --conformance SUBJECT`` makes a test of every control, attack and memory attack.

A subject is measured once per session, whoever asks first, also when tests run in several processes. A verdict that a read path
holds against passes; ``n/a`` is skipped with its reason; everything else fails, ``not evaluable`` too.
"""

from __future__ import annotations

import fcntl
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from witnesstree_conformance.attacks import AT_REST
from witnesstree_conformance.batch import Selection, measure_one
from witnesstree_conformance.controls import CONTROLS
from witnesstree_conformance.in_use import IN_USE
from witnesstree_conformance.in_use.scene import OPEN
from witnesstree_conformance.protocol import TIERS
from witnesstree_conformance.subjects import UnknownSubject, file_name, find
from witnesstree_conformance.verdicts import HELD, NOT_APPLICABLE, NOT_EVALUABLE

Json = dict[str, Any]


class NotHeld(Exception):
    """A cell that does not hold; the message is all that is shown."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("conformance", "integrity of a memory store (witnesstree-conformance)")
    group.addoption(
        "--conformance", action="append", default=[], metavar="SUBJECT", help="measure a subject: a name or my.module:MySubject"
    )
    group.addoption(
        "--conformance-tier", action="append", default=[], choices=TIERS, help="what an attacker may write (default: A)"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Refuse a subject that nobody knows."""
    for name in config.getoption("--conformance"):
        try:
            find(name)
        except UnknownSubject as error:
            raise pytest.UsageError(str(error)) from error


def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Add the tests of every subject that was asked for."""
    for name in config.getoption("--conformance"):
        items.extend(_items(session, name, config.getoption("--conformance-tier") or ["A"]))


def _items(session: pytest.Session, name: str, tiers: list[str]) -> Iterator[pytest.Item]:
    def made(kind: type[ConformanceItem], *what: str) -> pytest.Item:
        item: pytest.Item = kind.from_parent(session, name=f"{name}::{'::'.join(what)}", subject=name, tiers=tiers, what=what)
        return item

    for control in CONTROLS:
        yield made(ControlItem, "control", control)
    for tier in tiers:
        for attack in AT_REST:
            yield made(AttackItem, tier, attack)
    for attack in IN_USE:
        yield made(InUseItem, "in use", attack)


class ConformanceItem(pytest.Item):
    """One thing that is measured."""

    def __init__(self, *, subject: str, tiers: list[str], what: tuple[str, ...], **named: Any) -> None:
        """Take the subject, the tiers it is measured in, and what is looked at."""
        super().__init__(**named)
        self.subject = subject
        self.tiers = tiers
        self.what = what

    def runtest(self) -> None:
        """Measure the subject, if nobody has, and look."""
        result = measured(self.config, self.subject, self.tiers)
        if result.get("error"):
            raise NotHeld(f"not measured: {result['error']}")
        self.look(result)

    def look(self, result: Json) -> None:
        """Pass, skip, or raise NotHeld."""
        raise NotImplementedError

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return the message of a cell that does not hold, and the whole story of anything else."""
        return str(excinfo.value) if isinstance(excinfo.value, NotHeld) else super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Return what the test is called."""
        return Path(self.subject), None, self.name


class ControlItem(ConformanceItem):
    """A control: without it no verdict counts."""

    def look(self, result: Json) -> None:
        """Skip a control that does not apply."""
        control = next(one for one in result["controls"] if one["control"] == self.what[1])
        if control["passed"] is None:
            pytest.skip(control["detail"])
        if not control["passed"]:
            raise NotHeld(control["detail"])


class AttackItem(ConformanceItem):
    """An attack on the store at rest."""

    def look(self, result: Json) -> None:
        """Skip a cell that does not apply."""
        tier, attack = self.what
        row = next((row for row in result["rows"] if row["tier"] == tier), None)
        if row is None:
            pytest.skip(f"the store has nothing that only tier {tier} could write")
        cell = next(one for one in row["cells"] if one["attack"] == attack)
        if cell["verdict"] == NOT_APPLICABLE:
            pytest.skip(cell["reason"])
        if cell["verdict"] not in HELD:
            raise NotHeld("\n".join([f"{cell['verdict']}: {cell.get('reason', '')}", *cell.get("edit", ())]))


class InUseItem(ConformanceItem):
    """A memory attack: all its variants."""

    def look(self, result: Json) -> None:
        """Skip an attack of which no variant applies."""
        cells = [cell for cell in result["in_use"] if cell["attack"] == self.what[1]]
        bad = [cell for cell in cells if cell["verdict"] in {OPEN, NOT_EVALUABLE}]
        if bad:
            raise NotHeld("\n".join(f"{_variant(cell)}: {cell['verdict']}: {cell['reason']}" for cell in bad))
        if all(cell["verdict"] == NOT_APPLICABLE for cell in cells):
            pytest.skip(cells[0]["reason"])


def _variant(cell: Json) -> str:
    return "/".join(str(cell[key]) for key in ("id", "channel", "mutation", "language") if cell.get(key))


def measured(config: pytest.Config, name: str, tiers: list[str]) -> Json:
    """Return a subject's result; whoever asks first measures, the others wait."""
    file = _shared(config) / f"{file_name(name)}-{'-'.join(tiers)}.json"
    with Path(f"{file}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not file.exists():
            file.write_text(json.dumps(measure_one(find(name), Selection(tiers=tuple(tiers)))))
        result: Json = json.loads(file.read_text())
        return result


def _shared(config: pytest.Config) -> Path:
    """Return a folder that all processes of this test run share; pytest clears it away some runs later."""
    base: Path = config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
    folder = (base.parent if hasattr(config, "workerinput") else base) / "conformance"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def conformance(request: pytest.FixtureRequest) -> Callable[..., Json]:
    """Return a function: subject and tiers → result, measured once in a session."""

    def result_of(name: str, *tiers: str) -> Json:
        return measured(request.config, name, list(tiers) or ["A"])

    return result_of
