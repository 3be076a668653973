"""What an attack is: one edit of a closed store, told as a story, with the tiers that can do it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from witnesstree_conformance.protocol import Raw, Subject


@dataclass
class Bench:
    """What an edit works with: the subject, the attacker's access, and the slots of the seeded entries."""

    subject: Subject
    raw: Raw
    owner: str
    other: str

    @property
    def slots(self) -> list[str]:
        """Slots of the owner's entries, oldest first."""
        return self.raw.entries(self.owner)

    @property
    def other_slots(self) -> list[str]:
        """Slots of the other owner's entries, oldest first."""
        return self.raw.entries(self.other)

    @property
    def zones(self) -> tuple[str, ...]:
        """The zones that the tier may write."""
        return {"A": ("store",), "B": ("store",), "C": ("store", "state"), "E": ("store", "state", "keys")}[self.raw.tier]


@dataclass(frozen=True)
class Attack:
    """One edit.

    Attributes:
        id: what results and tests call it.
        title: what tables call it.
        story: what the attacker does and hopes for, in a sentence.
        edit: does it.
        version: goes up when the edit changes, so that results of two versions are never compared.
        group: content, index, log, load, schema, file.
        removes: it deletes or hides entries; a shorter answer is its success.
        weak: kept to show tools whose only defence is to fall over a clumsy edit.
        tiers: who can do it.
        then_write: its effect shows after the next honest write.
        sweeps: it is many edits, one per stored field.
        same_values: it leaves the same values behind, so that a dump may show no difference.
        denies: what counts is whether other owners can still read.
    """

    id: str
    title: str
    story: str
    edit: Callable[[Bench], None]
    version: int = 1
    group: str = "content"
    removes: bool = False
    weak: bool = False
    tiers: tuple[str, ...] = ("A", "B", "C", "E")
    then_write: bool = False
    sweeps: bool = False
    same_values: bool = False
    denies: bool = False
