"""One owner asks for, or writes to, what is another's, by every public call. No ranking is involved: a canary is there or not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from witnesstree_conformance.in_use.scene import HELD_IN_USE, OPEN, Json, K, MemoryAttack, Scene, cell, guarded, text_of
from witnesstree_conformance.protocol import NotApplicable
from witnesstree_conformance.verdicts import NOT_EVALUABLE

ID = "cross_session_bleed"
CANARY = "7f3a90c1d2e4b586"
TEXT = f"The safe in the study opens with the word {CANARY}, nobody else knows."
QUESTION = "With which word does the safe in the study open?"
OVERWRITTEN = "The safe in the study opens with the word 0000000000000000."


class _Bleed:
    """An owner with a canary, another without; every call is a question about the two."""

    def __init__(self, scene: Scene) -> None:
        self.scene, self.subject = scene, scene.subject
        self.owner, self.other = scene.owner(), scene.owner()
        self.id = scene.remember(self.owner, TEXT)
        scene.remember(self.other, "Nothing of mine is in any safe.")

    def has_canary(self, answer: Any) -> bool:
        return CANARY in text_of(answer)

    def still_there(self) -> bool:
        """Return whether the owner's words are as they were; a history that an entry carries along does not count."""
        return any(CANARY in str(item.get("text")) for item in self.subject.recall(self.owner))

    def gives_nothing(self, call: Callable[[], Any]) -> tuple[bool, str]:
        """Return whether a call is refused or gives nothing of the owner's, and what it did."""
        try:
            leaks = self.has_canary(call())
        except NotApplicable:
            raise
        except Exception as error:
            return True, f"refused: {type(error).__name__}"
        return not leaks, "the owner's entry is given" if leaks else "nothing of the owner's"

    def reads(self, call: Callable[[str], Any]) -> tuple[bool, str]:
        """Return whether the other's call gives nothing of the owner's. The same call by the owner has to give it."""
        if not self.has_canary(call(self.owner)):
            raise LookupError("the owner does not get his own entry by this call")
        return self.gives_nothing(lambda: call(self.other))

    def writes(self, call: Callable[[str, str], Any]) -> tuple[bool, str]:
        """Return whether the other's write leaves the owner's entry as it is; afterwards the owner's own write has to work."""
        said = "accepted without effect"
        try:
            call(self.id, self.other)
        except NotApplicable:
            raise
        except Exception as error:
            said = f"refused: {type(error).__name__}"
        if not self.still_there():
            return False, "the owner's entry was changed or is gone"
        call(self.id, self.owner)
        if self.still_there():
            raise LookupError("the owner's own write has no effect, so the other's proves nothing")
        return True, said


def _search(bleed: _Bleed, query: str) -> tuple[bool, str]:
    return bleed.reads(lambda owner: [dict(hit) for hit in bleed.subject.search(owner, query, K)])


def _list(bleed: _Bleed) -> tuple[bool, str]:
    return bleed.reads(lambda owner: [dict(item) for item in bleed.subject.recall(owner)])


def _look_alike(bleed: _Bleed, look_alike: Callable[[str], str]) -> tuple[bool, str]:
    bleed.other = look_alike(bleed.owner)
    return _list(bleed)


CALLS: Mapping[str, Callable[[_Bleed], tuple[bool, str]]] = {
    "search_exact": lambda bleed: _search(bleed, TEXT),
    "search_question": lambda bleed: _search(bleed, QUESTION),
    "list": _list,
    "context": lambda bleed: bleed.reads(lambda owner: bleed.subject.context(owner, QUESTION)),
    "get_by_id": lambda bleed: bleed.reads(lambda owner: bleed.subject.get(bleed.id, owner)),
    "update_by_id": lambda bleed: bleed.writes(lambda id, owner: bleed.subject.update(id, owner, OVERWRITTEN)),
    "erase_by_id": lambda bleed: bleed.writes(bleed.subject.erase),
    "no_owner": lambda bleed: bleed.gives_nothing(lambda: bleed.subject.recall_anyone(QUESTION)),
    "owner_prefix": lambda bleed: _look_alike(bleed, lambda owner: owner[:-1]),
    "owner_wildcard": lambda bleed: _look_alike(bleed, lambda owner: owner[:-1] + "%"),
    "owner_case": lambda bleed: _look_alike(bleed, str.upper),
    "owner_path": lambda bleed: _look_alike(bleed, lambda owner: f"x/../{owner}"),
}
"""``owner_…``: the other owner's name is a prefix of the owner's, a pattern, another case, or a path that leads to it."""


def _bleed(scene: Scene) -> list[Json]:
    def measured(name: str) -> Json:
        bleed = _Bleed(scene)
        try:
            holds, reason = CALLS[name](bleed)
        except LookupError as error:
            return cell(ID, NOT_EVALUABLE, str(error), id=name)
        return cell(ID, HELD_IN_USE if holds else OPEN, reason, id=name)

    return [guarded(ID, partial(measured, name), id=name) for name in CALLS]


ATTACKS = (
    MemoryAttack(
        ID,
        "Cross-session bleed",
        "Another owner, or nobody in particular, asks for an entry or changes it, by every public call.",
        _bleed,
    ),
)
