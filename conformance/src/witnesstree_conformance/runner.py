"""Measures one subject: seed, controls, every attack in every tier. Gives plain JSON values; reports and pins read those."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from witnesstree_conformance import __version__, steps
from witnesstree_conformance.attacks import AT_REST
from witnesstree_conformance.attacks.attack import Attack
from witnesstree_conformance.attacks.files import EARLIER
from witnesstree_conformance.corpus import BEFORE_SNAPSHOT, ENTRIES, FOREIGN, LATER, OTHERS
from witnesstree_conformance.dump import changes
from witnesstree_conformance.in_use import IN_USE
from witnesstree_conformance.in_use.scene import cell as in_use_cell
from witnesstree_conformance.in_use.scene import summary
from witnesstree_conformance.phases import Outcome, Phases
from witnesstree_conformance.protocol import Place, Subject
from witnesstree_conformance.snapshots import make_zones
from witnesstree_conformance.verdicts import (
    CRASHED,
    DENIED,
    EXECUTED,
    HELD,
    NOT_APPLICABLE,
    NOT_EVALUABLE,
    REPORTED,
    Judgement,
    Reading,
    is_refusal,
    judge,
    words_alone,
    worst,
)

BASE, EDITED = "base", "edited"
Json = dict[str, Any]
Progress = Callable[[str], None]


@dataclass
class Run:
    """One subject at one place, seeded, with what its clean store answers."""

    kind: type[Subject]
    place: Place
    phases: Phases
    ids: list[str] = field(default_factory=list)
    clean: dict[str, Reading] = field(default_factory=dict)
    clean_after_write: dict[str, Reading] = field(default_factory=dict)
    clean_log: set[str] = field(default_factory=set)
    clean_dump: dict[str, str] = field(default_factory=dict)

    def do(self, step: Callable[..., Any], *arguments: Any) -> Outcome:
        """Run a step in a fresh process."""
        return self.phases.run(step, self.kind, self.place, *arguments)

    def must(self, step: Callable[..., Any], *arguments: Any) -> Any:
        """Run a step that has to succeed for anything to be measured.

        Raises:
            MeasuringError: it failed.
        """
        outcome = self.do(step, *arguments)
        if outcome.failure is not None:
            raise MeasuringError(f"{step.__name__} failed: {outcome.failure}")
        return outcome.value

    def reset(self) -> None:
        """Put the clean store back."""
        self.must(steps.restore, BASE)


class MeasuringError(Exception):
    """The subject could not even be seeded or read; nothing about it was measured."""


def measure(
    kind: type[Subject],
    folder: Path,
    *,
    name: str = "",
    tiers: Sequence[str] = (),
    attacks: Sequence[str] = (),
    controls: Sequence[str] = (),
    in_use: bool = True,
    costs: bool = False,
    progress: Progress = lambda line: None,
) -> Json:
    """Measure a subject; return its results (schema: ``report/schema.json``).

    Args:
        kind: the adapter.
        folder: an empty folder to work in.
        name: what results call the subject.
        tiers: only these; all that the subject has by default.
        attacks: only these ids; all by default.
        controls: only these; all by default. Whoever leaves one out gets no level.
        in_use: also do the attacks on a memory in use.
        costs: also measure what writing, reading and verifying cost.
        progress: gets a line now and then.
    """
    from witnesstree_conformance.controls import run_controls
    from witnesstree_conformance.costs import measure_costs
    from witnesstree_conformance.levels import rate

    started = time.monotonic()
    place = Place(folder / "run")
    make_zones(place)
    run = Run(kind, place, Phases(folder / "noise.txt", kind.forks))
    result: Json = {"name": name or kind.__name__, "python": platform.python_version(), "suite": __version__}
    rows: list[Json] = []
    try:
        kind.load()
        kind.start(place)
        result |= describe(kind)
        progress("seed")
        _seed(run)
        result["controls"] = run_controls(run, controls, progress)
        earned = all(control["passed"] is not False for control in result["controls"] if control["required"])
        for tier in [tier for tier in kind.tiers if not tiers or tier in tiers]:
            cells = []
            for attack in [AT_REST[id] for id in (attacks or AT_REST)]:
                progress(f"{tier} {attack.id}")
                cells.append(measure_cell(run, attack, tier, earned=earned))
            rows.append({"tier": tier, "cells": cells})
        if in_use:
            result["in_use"] = measure_in_use(run, earned=earned, progress=progress)
        if costs:
            result["costs"] = measure_costs(run, progress)
    except MeasuringError as error:
        result |= describe(kind) | {"error": str(error)}
        result.setdefault("controls", [])
    finally:
        kind.stop(place)
    result |= {"rows": rows, "seconds": round(time.monotonic() - started, 1)}
    result["rating"] = rate(result)
    if "in_use" in result:
        result["rating"]["in_use"] = summary(result["in_use"])
    return result


def describe(kind: type[Subject]) -> Json:
    """Return what a subject says about itself."""
    return {
        "title": kind.title or kind.__name__,
        "kind": kind.kind,
        "version": kind.version(),
        "config": kind.config,
        "audit_name": kind.audit_name,
        "refusals": list(kind.refusals),
    }


def _seed(run: Run) -> None:
    """Fill another store and the store itself; keep an older copy on the way; read the clean store."""
    foreign = run.phases.run(_remember_elsewhere, run.kind, run.place, FOREIGN)
    if foreign.failure is not None:
        raise MeasuringError(f"seeding another store failed: {foreign.failure}")
    run.must(steps.save_foreign)
    first = _interleaved(ENTRIES[:BEFORE_SNAPSHOT], OTHERS)
    ids = dict(zip([entry.text for entry in first], run.must(steps.remember, first), strict=True))
    run.must(steps.save, EARLIER)
    rest = ENTRIES[BEFORE_SNAPSHOT:]
    ids |= dict(zip([entry.text for entry in rest], run.must(steps.remember, rest), strict=True))
    run.ids = [ids[entry.text] for entry in ENTRIES]
    run.must(steps.save, BASE)
    run.clean_dump = run.must(steps.dump)
    clean = run.do(steps.read_back, run.ids)
    run.clean, run.clean_log = _readings(clean), set(clean.logged)
    run.reset()
    if run.kind.tiers:
        run.must(steps.remember, [LATER])
        run.clean_after_write = _readings(run.do(steps.read_back, run.ids))
        run.reset()


def _remember_elsewhere(kind: type[Subject], place: Place, entries: Sequence[Any]) -> list[str]:
    place.other().store.mkdir(parents=True, exist_ok=True)
    return steps.remember(kind, place.other(), entries)


def _interleaved(first: Sequence[Any], second: Sequence[Any]) -> list[Any]:
    return sorted([*first, *second], key=lambda entry: entry.at)


def _readings(outcome: Outcome) -> dict[str, Reading]:
    if outcome.failure is not None:
        return {"open": Reading(failure=outcome.failure)}
    return dict(outcome.value)


def measure_in_use(run: Run, *, earned: bool = True, progress: Progress = lambda line: None) -> list[Json]:
    """Do every memory attack, each in its own phase on a fresh copy of the seeded store."""
    cells: list[Json] = []
    for id, attack in IN_USE.items():
        progress(f"in use {id}")
        run.reset()
        done = run.do(steps.attack_in_use, id)
        found = done.value if done.failure is None else [in_use_cell(id, NOT_EVALUABLE, str(done.failure))]
        cells += [one | {"version": attack.version} for one in found]
    return cells if earned else [_unearned(one) for one in cells]


def _unearned(cell: Json) -> Json:
    """Return a cell of a subject that failed a required control: what is not applicable stays so, nothing else was earned."""
    if cell["verdict"] == NOT_APPLICABLE:
        return cell
    return cell | {"verdict": NOT_EVALUABLE, "measured": cell["verdict"], "reason": "a required control failed"}


# --- one cell -----------------------------------------------------------------------------------------------
def measure_cell(run: Run, attack: Attack, tier: str, *, earned: bool = True) -> Json:
    """Do one attack on a fresh copy of the store and judge it."""
    started = time.monotonic()
    cell: Json = {"attack": attack.id, "version": attack.version}
    if tier not in attack.tiers:
        cell |= {"verdict": NOT_APPLICABLE, "reason": f"needs tier {attack.tiers[0]}"}
    elif attack.sweeps:
        cell |= _sweep(run, attack, tier)
    else:
        cell |= _attempt(run, attack, tier)
    if not earned:
        cell = _unearned(cell)
    return cell | {"seconds": round(time.monotonic() - started, 3)}


def _sweep(run: Run, attack: Attack, tier: str) -> Json:
    run.reset()
    named = run.do(steps.fields, tier)
    if named.failure is not None:
        return _failed_edit(named)
    found = []
    for name in named.value:
        cell = _attempt(run, attack, tier, name)
        found.append({"field": name} | {key: cell[key] for key in ("verdict", "reason", "audit", "edit") if key in cell})
    judged = [cell["verdict"] for cell in found if cell["verdict"] not in {NOT_APPLICABLE, NOT_EVALUABLE}]
    if not judged:
        return {"verdict": NOT_EVALUABLE, "reason": "no field could be changed", "fields": found}
    verdict = worst(judged)
    bad = [cell["field"] for cell in found if cell["verdict"] == verdict]
    reason = "" if verdict in HELD else f"{len(bad)} of {len(judged)} fields: {', '.join(bad[:6])}"
    return {"verdict": verdict, "reason": reason, "effect": any(cell["verdict"] not in HELD for cell in found), "fields": found}


def _attempt(run: Run, attack: Attack, tier: str, name: str = "") -> Json:
    run.reset()
    done = run.do(steps.edit, attack.id, tier, name)
    if done.failure is not None:
        return _failed_edit(done)
    run.place.canary.unlink(missing_ok=True)
    landed = changes(run.clean_dump, run.must(steps.dump))
    cell: Json = {"edit": done.value, "landed": landed[:12]}
    if not landed and not (attack.same_values and done.value):
        return cell | {"verdict": NOT_EVALUABLE, "reason": "the edit did not land: nothing stored is different"}
    if run.kind.audit_name:
        run.must(steps.save, EDITED)
    judgement = _read(run, attack)
    cell |= {"read": judgement.verdict, "reason": judgement.reason, "effect": judgement.has_effect}
    cell["channels"] = dict(judgement.channels)
    verdict = judgement.verdict
    if run.kind.audit_name:
        run.must(steps.restore, EDITED)
        cell |= _audit(run)
        if cell["audit"] == REPORTED and verdict not in HELD | {EXECUTED, DENIED}:
            verdict = REPORTED
    if run.place.canary.exists():
        verdict = EXECUTED
        run.place.canary.unlink()
    return cell | {"verdict": verdict}


def _failed_edit(done: Outcome) -> Json:
    assert done.failure is not None
    if done.failure.is_not_applicable:
        return {"verdict": NOT_APPLICABLE, "reason": done.failure.message}
    return {"verdict": NOT_EVALUABLE, "reason": f"the edit failed: {done.failure}"}


def _read(run: Run, attack: Attack) -> Judgement:
    clean = run.clean
    if attack.then_write:
        clean = run.clean_after_write
        written = run.do(steps.remember, [LATER])
        if written.failure is not None:
            word = "refused" if is_refusal(written.failure, run.kind.refusals) else CRASHED
            return Judgement(word, str(written.failure), {"write": word})
    outcome = run.do(steps.read_back, run.ids)
    if run.place.canary.exists():
        return Judgement(EXECUTED, "the payload ran while the store was read")
    if outcome.failure is not None:
        return Judgement(CRASHED, str(outcome.failure))
    logged = [line for line in outcome.logged if line not in run.clean_log]
    seen = outcome.value
    if attack.then_write:
        clean, seen = words_alone(clean), words_alone(seen)
    if attack.denies:
        others = [name for name in clean if name.startswith("list ") and name != f"list {ENTRIES[0].owner}"]
        failed = [name for name in others if seen[name].failure is not None]
        if failed:
            return Judgement(DENIED, f"{failed[0]}: {seen[failed[0]].failure}", dict.fromkeys(failed, DENIED))
    return judge(clean, seen, run.kind.refusals, removes=attack.removes, logged=logged)


def _audit(run: Run) -> Json:
    outcome = run.do(steps.audit)
    if outcome.failure is not None:
        if is_refusal(outcome.failure, run.kind.refusals):
            return {"audit": REPORTED, "findings": [str(outcome.failure)]}
        return {"audit": CRASHED, "findings": [str(outcome.failure)]}
    findings = outcome.value
    return {"audit": REPORTED if findings else "clean", "findings": findings[:5]}
