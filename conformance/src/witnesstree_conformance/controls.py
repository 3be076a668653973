"""Controls: without them a verdict is not earned. A tool that fails a required one gets no verdicts at all."""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from witnesstree_conformance import steps
from witnesstree_conformance.corpus import ENTRIES, OTHER, OTHERS, OWNER, QUESTIONS
from witnesstree_conformance.dump import changes
from witnesstree_conformance.phases import Failure
from witnesstree_conformance.protocol import Entry, Place, Subject
from witnesstree_conformance.runner import Json, Progress, Run
from witnesstree_conformance.verdicts import Reading, is_refusal

KILLS = 6
WRITES_EACH = 5
HONEST = ("update", "erase", "compact", "reindex", "upgrade")


def run_controls(run: Run, only: Sequence[str] = (), progress: Progress = lambda line: None) -> list[Json]:
    """Run every control, or some, on a seeded subject; each says whether it passed, or why it does not apply."""
    results = []
    for id, (required, control) in CONTROLS.items():
        if only and id not in only:
            continue
        progress(f"control {id}")
        run.reset()
        passed, detail = control(run)
        results.append({"control": id, "required": required, "passed": passed, "detail": detail})
    run.reset()
    return results


Checked = tuple[bool | None, str]


def _clean_reload(run: Run) -> Checked:
    """The untouched store is read a second time: nothing fails, and answers are the same."""
    failed = [f"{name}: {reading.failure}" for name, reading in run.clean.items() if reading.failure is not None]
    if failed:
        return False, failed[0]
    again = run.do(steps.read_back, run.ids)
    if again.failure is not None:
        return False, str(again.failure)
    unlike = [name for name, reading in run.clean.items() if again.value[name] != reading]
    return not unlike, f"two clean reads differ in: {', '.join(unlike)}" if unlike else f"{len(run.clean)} reads, equal twice"


def _no_op(run: Run) -> Checked:
    """The way of an edit is gone without an edit: nothing changes, nothing is refused."""
    slots = run.do(steps.touch)
    if slots.failure is not None:
        return (None if slots.failure.is_not_applicable else False), str(slots.failure)
    wanted = len(ENTRIES) + len(OTHERS)
    if slots.value != wanted:
        return False, f"the raw access sees {slots.value} entries of {wanted}"
    moved = changes(run.clean_dump, run.must(steps.dump))
    if moved:
        return False, f"looking changed something: {moved[0]}"
    unlike = _unlike(run, run.do(steps.read_back, run.ids).value or {})
    return not unlike, unlike or f"{slots.value} entries seen, nothing changed"


def _unlike(run: Run, seen: dict[str, Reading]) -> str:
    names = [name for name, reading in run.clean.items() if seen.get(name) != reading]
    return f"reads differ: {', '.join(names)}" if names else ""


def _positive_retrieval(run: Run) -> Checked:
    """All seeded words are served, and a search finds what answers each question."""
    for owner, entries in ((OWNER, ENTRIES), (OTHER, OTHERS)):
        served = _text(run.clean.get(f"list {owner}"))
        missing = [entry.text for entry in entries if entry.text not in served]
        if missing:
            return False, f"not served for {owner}: {missing[0]}"
    searched = [number for number in range(len(QUESTIONS)) if f"search {number}" in run.clean]
    lost = [number for number in searched if ENTRIES[QUESTIONS[number].gold].text not in _text(run.clean[f"search {number}"])]
    if lost:
        return False, f"the search did not find the answer to: {QUESTIONS[lost[0]].text}"
    return True, f"{len(ENTRIES) + len(OTHERS)} entries served, {len(searched)} questions answered"


def _text(reading: Reading | None) -> str:
    import json

    return "" if reading is None else json.dumps(reading.answer, ensure_ascii=False)


def _clean_audit(run: Run) -> Checked:
    if not run.kind.audit_name:
        return None, "the tool has no audit"
    return _audit_is_clean(run)


def _audit_is_clean(run: Run) -> Checked:
    outcome = run.do(steps.audit)
    if outcome.failure is not None:
        return False, str(outcome.failure)
    return (not outcome.value), (outcome.value[0] if outcome.value else f"{run.kind.audit_name} finds nothing")


def _no_alarm(run: Run, held: Sequence[str] = ()) -> Checked:
    """After honest work: every read answers, with what must be there, and the audit finds nothing."""
    outcome = run.do(steps.read_back, run.ids)
    if outcome.failure is not None:
        return False, f"a read died: {outcome.failure}"
    for name, reading in outcome.value.items():
        if name.startswith("get "):
            continue
        if reading.failure is not None:
            word = "false alarm" if is_refusal(reading.failure, run.kind.refusals) else "crash"
            return False, f"{word} in {name}: {reading.failure}"
    served = _text(outcome.value[f"list {OWNER}"])
    lost = [text for text in held if text not in served]
    if lost:
        return False, f"lost: {lost[0]}"
    if run.kind.audit_name:
        passed, detail = _audit_is_clean(run)
        if not passed:
            return False, f"audit: {detail}"
    return True, "no alarm"


def _honest(name: str) -> Callable[[Run], Checked]:
    def control(run: Run) -> Checked:
        done = run.do(_honest_step, name, run.ids)
        if done.failure is not None:
            if done.failure.is_not_applicable:
                return None, done.failure.message
            return False, str(done.failure)
        passed, detail = _no_alarm(run)
        return passed, f"{done.value} honest calls: {detail}"

    return control


NEW_WORDS = "The rent leaves by standing order on the fifth day, reference AAAA-2002."


def _honest_step(kind: type[Subject], place: Place, name: str, ids: Sequence[str]) -> int:
    """Do one kind of honest operation by the tool's own verbs; return the number of calls."""
    subject = kind()
    subject.open(place)
    try:
        if name == "update":
            for _ in range(3):
                subject.update(ids[1], OWNER, NEW_WORDS)
            return 3
        if name == "erase":
            subject.erase(ids[2], OWNER)
            return 1
        getattr(subject, name)()
        return 1
    finally:
        subject.close()


def _crash(run: Run) -> Checked:
    """A process is killed in the middle of writing, several times:

    what was there before stays, and nothing is called tampering.
    """
    if not run.phases.forks:
        return None, "phases of this subject are new interpreters; a kill would hit their start"
    timed = run.do(_timed_writes)
    if timed.failure is not None:
        return False, str(timed.failure)
    started = run.place.root / "writing"
    for number in range(KILLS):
        started.unlink(missing_ok=True)
        process, pipe = run.phases.start(_many_writes, run.kind, run.place, started)
        _wait_for(started, pipe)
        time.sleep(timed.value * (0.3 + 0.37 * number))
        os.kill(process, signal.SIGKILL)
        os.close(pipe)
        os.waitpid(process, 0)
    passed, detail = _no_alarm(run, [entry.text for entry in ENTRIES])
    return passed, f"{KILLS} kills: {detail}"


def _timed_writes(kind: type[Subject], place: Place) -> float:
    subject = kind()
    subject.open(place)
    started = time.monotonic()
    subject.remember(Entry(OWNER, "Timed words."))
    spent = time.monotonic() - started
    subject.close()
    return spent


def _wait_for(file: Path, pipe: int) -> None:
    """Wait until a child has opened its store, or has ended without; if it does neither, the kill hits it anyway."""
    ends = time.monotonic() + 30
    while not file.exists() and time.monotonic() < ends and not select.select([pipe], [], [], 0.001)[0]:
        pass


def _many_writes(kind: type[Subject], place: Place, started: Path) -> None:
    subject = kind()
    subject.open(place)
    started.touch()
    for number in range(5000):
        subject.remember(Entry(OWNER, f"Words {number} before a crash.", 1_700_100_000 + number))


def _two_writers(run: Run) -> Checked:
    """Two processes with the store open at once write in turns; a tool may say that it is locked, but not that it was
    tampered with."""
    if not run.phases.forks:
        return None, "phases of this subject are new interpreters"
    started = [run.phases.start(_some_writes, run.kind, run.place, name) for name in ("first", "second")]
    outcomes = [run.phases.finish(*child) for child in started]
    failures: list[Failure] = [outcome.failure for outcome in outcomes if outcome.failure is not None]
    alarms = [failure for failure in failures if is_refusal(failure, run.kind.refusals)]
    if alarms:
        return False, f"false alarm: {alarms[0]}"
    held = [text for outcome in outcomes if outcome.value for text in outcome.value]
    passed, detail = _no_alarm(run, held)
    locked = f"; one was turned away: {failures[0]}" if failures else ""
    return passed, f"{len(held)} entries by two processes: {detail}{locked}"


def _some_writes(kind: type[Subject], place: Place, name: str) -> list[str]:
    subject = kind()
    subject.open(place)
    texts = [f"The {name} writer's entry number {number}." for number in range(WRITES_EACH)]
    for number, text in enumerate(texts):
        subject.remember(Entry(OWNER, text, 1_700_200_000 + number))
        time.sleep(0.002)
    subject.close()
    return texts


CONTROLS: Mapping[str, tuple[bool, Callable[[Run], Checked]]] = {
    "clean_reload": (True, _clean_reload),
    "no_op": (True, _no_op),
    "positive_retrieval": (True, _positive_retrieval),
    "clean_audit": (True, _clean_audit),
    **{f"honest_{name}": (False, _honest(name)) for name in HONEST},
    "crash_in_the_middle": (False, _crash),
    "two_writers": (False, _two_writers),
}
"""Every control by its id, and whether a verdict counts without it."""
