"""What happens inside one phase: functions that open a fresh subject, do one thing and close it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from witnesstree_conformance.attacks import AT_REST
from witnesstree_conformance.attacks.attack import Bench
from witnesstree_conformance.corpus import OTHER, OWNER, QUESTIONS
from witnesstree_conformance.in_use import IN_USE
from witnesstree_conformance.in_use.scene import Scene
from witnesstree_conformance.phases import Failure
from witnesstree_conformance.protocol import Entry, NotApplicable, Place, Subject
from witnesstree_conformance.verdicts import Reading

SubjectClass = type[Subject]
SEARCH_K = 5


def remember(kind: SubjectClass, place: Place, entries: Sequence[Entry]) -> list[str]:
    """Remember entries in one session; return their ids."""
    subject = kind()
    subject.open(place)
    try:
        return [subject.remember(entry) for entry in entries]
    finally:
        subject.close()


def read_back(kind: SubjectClass, place: Place, ids: Sequence[str]) -> dict[str, Reading]:
    """Read everything by every ordinary call. A call that fails is a failed channel; the others go on."""
    subject = kind()
    channels: dict[str, Callable[[], Any]] = {
        f"list {OWNER}": lambda: [dict(item) for item in subject.recall(OWNER)],
        f"list {OTHER}": lambda: [dict(item) for item in subject.recall(OTHER)],
    }
    for number, question in enumerate(QUESTIONS):
        channels[f"search {number}"] = partial(_search, subject, question.text)
    for number, id in enumerate(ids):
        channels[f"get {number}"] = partial(subject.get, id, OWNER)
    readings: dict[str, Reading] = {}
    try:
        subject.open(place)
    except Exception as error:
        return {name: Reading(failure=Failure.of(error)) for name in channels}
    for name, call in channels.items():
        try:
            readings[name] = Reading(_plain(call()))
        except NotApplicable:
            continue
        except Exception as error:
            readings[name] = Reading(failure=Failure.of(error))
    with suppress(Exception):
        subject.close()
    return readings


def _search(subject: Subject, query: str) -> list[dict[str, Any]]:
    return [dict(item) for item in subject.search(OWNER, query, SEARCH_K)]


def _plain(value: Any) -> Any:
    """Return an answer as JSON values."""
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value if value is None or isinstance(value, str | int | float | bool) else repr(value)


def audit(kind: SubjectClass, place: Place) -> list[str]:
    """Run the tool's own audit; return its findings."""
    subject = kind()
    subject.open(place)
    try:
        return [str(finding) for finding in subject.audit()]
    finally:
        with suppress(Exception):
            subject.close()


def edit(kind: SubjectClass, place: Place, attack_id: str, tier: str, field: str = "") -> list[str]:
    """Do one edit, or change one field; return what was done, line by line."""
    subject = kind()
    raw = subject.raw(place, tier)
    try:
        if field:
            raw.flip(field)
        else:
            AT_REST[attack_id].edit(Bench(subject, raw, OWNER, OTHER))
    finally:
        raw.close()
    return raw.trace


def fields(kind: SubjectClass, place: Place, tier: str) -> list[str]:
    """Name the stored fields."""
    raw = kind().raw(place, tier)
    try:
        return raw.fields()
    finally:
        raw.close()


def touch(kind: SubjectClass, place: Place) -> int:
    """Go the way of an edit and change nothing; return how many slots there are."""
    raw = kind().raw(place, "A")
    try:
        return len(raw.entries(OWNER)) + len(raw.entries(OTHER))
    finally:
        raw.close()


def dump(kind: SubjectClass, place: Place) -> dict[str, str]:
    """Return digests of what is stored."""
    return kind().dump(place)


def save(kind: SubjectClass, place: Place, name: str) -> None:
    """Keep a copy."""
    kind().save(place, name)


def save_foreign(kind: SubjectClass, place: Place) -> None:
    """Keep the other store."""
    kind().save_foreign(place)


def restore(kind: SubjectClass, place: Place, name: str) -> None:
    """Put a copy back."""
    kind().restore(place, name)


def attack_in_use(kind: SubjectClass, place: Place, attack_id: str) -> list[dict[str, Any]]:
    """Do one memory attack by the tool's own verbs; return its cells."""
    subject = kind()
    subject.open(place)
    try:
        return IN_USE[attack_id].run(Scene(subject, attack_id))
    finally:
        with suppress(Exception):
            subject.close()
