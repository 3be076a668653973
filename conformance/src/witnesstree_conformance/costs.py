"""What a store costs: writing against a plain insert in the same run, reading and verifying at two sizes, false alarms.

Times are medians on one machine; only figures of one run may be compared.
"""

from __future__ import annotations

import sqlite3
import statistics
import time
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from functools import partial
from typing import Any

from witnesstree_conformance import steps
from witnesstree_conformance.corpus import OWNER
from witnesstree_conformance.phases import Failure
from witnesstree_conformance.protocol import Entry, NotApplicable, Place, Subject
from witnesstree_conformance.runner import Json, MeasuringError, Progress, Run
from witnesstree_conformance.verdicts import is_refusal

SIZES = (1_000, 10_000)
WRITES = 60
READS = 3
BUDGET_S = 60.0
"""Filling a store ends after so long, and is not begun if it would take longer; the report says so."""
HONEST_OPERATIONS = 100
WRITER = "costs"


def measure_costs(run: Run, progress: Progress = lambda line: None, sizes: Sequence[int] = SIZES) -> Json:
    """Return the cost columns of a seeded subject: milliseconds, bytes, alarms."""
    progress("costs of writing")
    run.reset()
    taken, plain = run.must(_timed_writes, WRITES)
    write = statistics.median(taken)
    plainly = statistics.median(plain)
    sizes_measured: list[Json] = []
    held = WRITES
    for size in sizes:
        progress(f"costs at {size} entries")
        expected = write * (size - held)
        if expected > BUDGET_S:
            sizes_measured.append({"entries": size, "not_measured": f"writing them would take {expected:.0f} s"})
            continue
        filled = run.do(_fill, held, size)
        try:
            if filled.failure is not None:
                raise MeasuringError(f"filling it ended: {filled.failure.message}")
            sizes_measured.append({"entries": size} | _at_size(run, size))
        except MeasuringError as error:
            sizes_measured.append({"entries": size, "not_measured": str(error)})
            break
        held = size
    progress("honest operations")
    run.reset()
    return {
        "write": {"median_ms": _ms(write), "plain_ms": _ms(plainly), "overhead_ms": _ms(write - plainly)},
        "sizes": sizes_measured,
        "honest_operations": _honest(run),
    }


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 3)


def _entry(number: int) -> Entry:
    words = f"Note {number}: the delivery number {number * 7919 % 10_007} went to the warehouse in bay {number % 97}."
    return Entry(WRITER, words, 1_710_000_000 + number)


def _timed_writes(kind: type[Subject], place: Place, count: int) -> tuple[list[float], list[float]]:
    """Write in turns into the store and into a plain table, so that both see the same machine; return seconds of each."""
    subject = kind()
    subject.open(place)
    taken: list[float] = []
    plain: list[float] = []
    with closing(sqlite3.connect(place.root / "plain.db", isolation_level=None)) as table:
        table.execute("CREATE TABLE IF NOT EXISTS plain (owner TEXT, text TEXT, at INTEGER)")
        for number in range(count):
            entry = _entry(number)
            started = time.perf_counter()
            subject.remember(entry)
            between = time.perf_counter()
            table.execute("INSERT INTO plain VALUES (?, ?, ?)", (entry.owner, entry.text, entry.at))
            taken.append(between - started)
            plain.append(time.perf_counter() - between)
    subject.close()
    return taken, plain


def _fill(kind: type[Subject], place: Place, first: int, end: int) -> None:
    """Write entries.

    Raises:
        TimeoutError: it takes longer than the budget, since the tool gets slower as it fills.
    """
    subject = kind()
    subject.open(place)
    ends = time.monotonic() + BUDGET_S
    for number in range(first, end):
        subject.remember(_entry(number))
        if time.monotonic() > ends:
            raise TimeoutError(f"after {BUDGET_S:.0f} s there were {number + 1} entries")
    subject.close()


def _at_size(run: Run, size: int) -> Json:
    figures: Json = {"read_ms": _ms(_median(run, _timed_read, size)), "bytes_per_entry": round(run.must(_size) / size, 1)}
    if run.kind.audit_name:
        figures["audit_ms"] = _ms(_median(run, _timed_audit))
    return figures


def _median(run: Run, step: Callable[..., float], *arguments: Any) -> float:
    return float(statistics.median(run.must(step, *arguments) for _ in range(READS)))


def _timed_read(kind: type[Subject], place: Place, size: int) -> float:
    """Open and read everything of one owner.

    Raises:
        ValueError: not everything came.
    """
    subject = kind()
    started = time.perf_counter()
    subject.open(place)
    found = len(subject.recall(WRITER))
    spent = time.perf_counter() - started
    with suppress(Exception):
        subject.close()
    if found != size:
        raise ValueError(f"{found} of {size} entries were read")
    return spent


def _timed_audit(kind: type[Subject], place: Place) -> float:
    subject = kind()
    started = time.perf_counter()
    subject.open(place)
    findings = subject.audit()
    spent = time.perf_counter() - started
    with suppress(Exception):
        subject.close()
    if findings:
        raise ValueError(f"the audit of an untouched store finds {findings[0]}")
    return spent


def _size(kind: type[Subject], place: Place) -> int:
    return kind().size(place)


def _honest(run: Run) -> Json:
    """Do honest operations of every kind that the tool has; count what it calls tampering."""
    done = run.do(_operations, HONEST_OPERATIONS, run.kind.refusals)
    if done.failure is not None:
        return {"done": 0, "alarms": [f"the operations could not be done: {done.failure}"]}
    alarms = list(done.value)
    read = run.do(steps.read_back, run.ids)
    if read.failure is not None:
        alarms.append(str(read.failure))
    for name, reading in (read.value or {}).items():
        if reading.failure is not None and is_refusal(reading.failure, run.kind.refusals) and not name.startswith("get "):
            alarms.append(f"{name}: {reading.failure}")
    if run.kind.audit_name:
        audited = run.do(steps.audit)
        alarms += [str(audited.failure)] if audited.failure is not None else [str(finding) for finding in audited.value]
    return {"done": HONEST_OPERATIONS, "alarms": [alarm[:200] for alarm in alarms]}


def _operations(kind: type[Subject], place: Place, count: int, refusals: Sequence[str]) -> list[str]:
    """Write, correct, erase, compact, re-index and read in turns; return what was refused as tampering."""
    subject = kind()
    subject.open(place)
    ids = [subject.remember(Entry(OWNER, f"Honest words {number}.", 1_720_000_000 + number)) for number in range(2)]
    alarms: list[str] = []
    for number in range(count):
        entry = Entry(OWNER, f"More honest words {number}.", 1_720_001_000 + number)
        operations: tuple[Callable[[], Any], ...] = (
            partial(_remember_also, subject, ids, entry),
            partial(subject.update, ids[-1], OWNER, f"Corrected words {number}."),
            partial(subject.recall, OWNER),
            partial(_erase_one, subject, ids),
            subject.compact,
            subject.reindex,
            subject.upgrade,
        )
        try:
            operations[number % len(operations)]()
        except NotApplicable:
            _remember_also(subject, ids, entry)
        except Exception as error:
            if not is_refusal(Failure.of(error), refusals):
                raise
            alarms.append(f"operation {number}: {error}")
    subject.close()
    return alarms


def _remember_also(subject: Subject, ids: list[str], entry: Entry) -> None:
    ids.append(subject.remember(entry))


def _erase_one(subject: Subject, ids: list[str]) -> None:
    if len(ids) > 2:
        subject.erase(ids[-1], OWNER)
        ids.pop()
