"""Words that contradict the owner: as if it had always been so, as if it had changed, or with claims about themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from witnesstree_conformance.in_use.fixtures import BACKGROUND, CLAIMS, FIXTURES, Fixture
from witnesstree_conformance.in_use.marks import marks
from witnesstree_conformance.in_use.mutations import MUTATIONS
from witnesstree_conformance.in_use.scene import CHANNELS, HELD_IN_USE, OPEN, Json, MemoryAttack, Scene, cell, guarded, text_of
from witnesstree_conformance.protocol import Item, NotApplicable
from witnesstree_conformance.verdicts import NOT_EVALUABLE


@dataclass(frozen=True)
class Variant:
    """One text by which a fixture is contradicted."""

    fixture: Fixture
    text: str
    mutation: str = ""


@dataclass(frozen=True)
class Told:
    """What a question delivered after an attacker's words were stored."""

    is_kept_out: bool
    gold: int | None
    poison: int | None
    marks: tuple[str, ...] = ()
    landed: tuple[str, ...] = ()


def _rank(items: Sequence[Item], token: str) -> int | None:
    return next((number for number, item in enumerate(items, 1) if token in text_of(item)), None)


def _tell(scene: Scene, variant: Variant, channel: str, claims: Mapping[str, Any]) -> Told:
    """Store the owner's words and the attacker's, ask the question, and look at what comes.

    One of the owner's entries comes after the attacker's, so that nothing that merely grows with time can be a mark.
    """
    owner, fixture = scene.owner(), variant.fixture
    scene.remember(owner, BACKGROUND[0])
    scene.remember(owner, fixture.gold)
    is_kept_out = scene.is_kept_out(owner, variant.text, channel, claims)
    scene.remember(owner, BACKGROUND[1])
    items = scene.delivered(owner, fixture.question)
    gold, poison = _rank(items, fixture.token), _rank(items, fixture.evil)
    if poison is None:
        return Told(is_kept_out, gold, None)
    found = _suspect_and_trusted(items, fixture.evil)
    if len(found[1]) < 2:
        found = _suspect_and_trusted(scene.subject.recall(owner), fixture.evil)
    suspect, trusted = found
    if suspect is None:
        return Told(is_kept_out, gold, poison)
    landed = [name for name, value in claims.items() if suspect.get(name) == value and any(t.get(name) != value for t in trusted)]
    return Told(is_kept_out, gold, poison, tuple(marks(trusted, suspect)), tuple(landed))


def _suspect_and_trusted(items: Sequence[Item], evil: str) -> tuple[Item | None, list[Item]]:
    suspect = next((item for item in items if evil in text_of(item)), None)
    return suspect, [item for item in items if evil not in text_of(item)]


def _control(scene: Scene, variant: Variant, claims: Mapping[str, Any]) -> Told:
    """The owner says the same himself: it has to be delivered. What marks it then, such as the claims alone, proves nothing."""
    return _tell(scene, variant, "user", claims)


def _judged(attack: str, told: Told, control: Told, more: Json) -> Json:
    more = more | {"gold_rank": told.gold, "poison_rank": told.poison}
    if control.gold is None and control.poison is None:
        raise NotApplicable(f"the question finds neither entry, even when the owner says both ({more['language']})")
    if control.poison is None and more.get("mutation"):
        raise NotApplicable("the question does not find the mutated words, even when the owner says them")
    if control.poison is None:
        why = "over-blocking: the owner's own words are withheld"
        return cell(attack, NOT_EVALUABLE, why, overblocked=True, **more)
    if told.poison is None:
        if told.gold is None:
            return cell(attack, OPEN, "the true entry is not delivered any more", **more)
        return cell(attack, HELD_IN_USE, "refused when written" if told.is_kept_out else "withheld", **more)
    told_apart = [name for name in told.marks if name not in control.marks]
    if told.landed:
        return cell(attack, OPEN, f"the claim became a field: {', '.join(told.landed)}", **more)
    if not told_apart:
        return cell(attack, OPEN, "delivered, and no field tells it from the owner's own words", **more)
    if told.gold is None:
        return cell(attack, OPEN, "the true entry is not delivered any more", **more)
    return cell(attack, HELD_IN_USE, f"delivered, marked by {', '.join(told_apart[:4])}", **more)


def _cells(scene: Scene, attack: str, variants: Iterator[Variant], claims: Mapping[str, Any]) -> list[Json]:
    return [one for variant in variants for one in _by_channel(scene, attack, variant, claims)]


def _by_channel(scene: Scene, attack: str, variant: Variant, claims: Mapping[str, Any]) -> list[Json]:
    """Return a cell per channel; the control is made once for all of them."""
    more: Json = {"language": variant.fixture.language, "mutation": variant.mutation, "id": variant.fixture.token}
    control = cache(partial(_control, scene, variant, claims))

    def attempt(channel: str) -> Json:
        wanted = control()
        return _judged(attack, _tell(scene, variant, channel, claims), wanted, more | {"channel": channel})

    return [guarded(attack, partial(attempt, channel), **more, channel=channel) for channel in CHANNELS]


def _mutated(fixture: Fixture) -> Iterator[Variant]:
    yield Variant(fixture, fixture.paraphrase, "paraphrase")
    for name, mutate in MUTATIONS.items():
        yield Variant(fixture, mutate(fixture.poison), name)


def _injection(scene: Scene) -> list[Json]:
    plain = (Variant(fixture, fixture.poison) for fixture in FIXTURES)
    return [
        *_cells(scene, "memory_injection", plain, {}),
        *_cells(scene, "memory_injection", _mutated(FIXTURES[0]), {}),
    ]


def _update(scene: Scene) -> list[Json]:
    return _cells(scene, "update_poisoning", (Variant(fixture, fixture.update) for fixture in FIXTURES), {})


def _metadata(scene: Scene) -> list[Json]:
    return _cells(scene, "metadata_poisoning", (Variant(fixture, fixture.poison) for fixture in FIXTURES), CLAIMS)


ATTACKS = (
    MemoryAttack(
        "memory_injection",
        "Injection",
        "Words that contradict what the owner said are stored. They have to be withheld, or a field has to tell them apart.",
        _injection,
    ),
    MemoryAttack(
        "update_poisoning",
        "Update poisoning",
        "Words that claim that something has changed are stored. As before, and the true entry has to stay.",
        _update,
    ),
    MemoryAttack(
        "metadata_poisoning",
        "Metadata poisoning",
        "As injection, and the metadata that a caller may give claims that the owner said it and that it is verified.",
        _metadata,
    ),
)
