"""Edits of the entries themselves: their words, their number, their order, their owner and what is said about them."""

from __future__ import annotations

from witnesstree_conformance.attacks.attack import Attack, Bench
from witnesstree_conformance.corpus import ALTERED, MARKER


def _tamper(bench: Bench) -> None:
    bench.raw.change_text(bench.slots[3], MARKER, ALTERED)


def _tamper_weak(bench: Bench) -> None:
    bench.raw.change_text(bench.slots[3], MARKER, ALTERED, weak=True)


def _truncate(bench: Bench) -> None:
    bench.raw.remove(bench.slots[-2:])


def _truncate_weak(bench: Bench) -> None:
    bench.raw.remove(bench.slots[-2:], weak=True)


def _delete_middle(bench: Bench) -> None:
    bench.raw.remove([bench.slots[2]])


def _delete_all(bench: Bench) -> None:
    bench.raw.remove(bench.slots)


def _reorder(bench: Bench) -> None:
    slots = bench.slots
    bench.raw.swap(slots[1], slots[2])


def _forge(bench: Bench) -> None:
    bench.raw.forge(bench.slots[-1], MARKER, ALTERED)


def _forge_weak(bench: Bench) -> None:
    bench.raw.forge(bench.slots[-1], MARKER, ALTERED, weak=True)


def _replay_cross_context(bench: Bench) -> None:
    bench.raw.copy_over(bench.other_slots[-1], bench.slots[-1])


def _replay_rollback(bench: Bench) -> None:
    slots = bench.slots
    bench.raw.copy_over(slots[0], slots[-1])


def _duplicate(bench: Bench) -> None:
    bench.raw.duplicate(bench.slots[1])


def _delete_reinsert(bench: Bench) -> None:
    bench.raw.reinsert(bench.slots[2])


def _move_owner(bench: Bench) -> None:
    bench.raw.move(bench.slots[-1], bench.other)


def _time(bench: Bench) -> None:
    bench.raw.set_time(bench.slots[3])


def _author(bench: Bench) -> None:
    bench.raw.set_author(bench.slots[3])


def _trust(bench: Bench) -> None:
    bench.raw.set_trust(bench.slots[3])


def _conceal(bench: Bench) -> None:
    bench.raw.hide(bench.slots[3])


def _sweep(bench: Bench) -> None:
    raise AssertionError("the runner edits field by field")


ATTACKS = (
    Attack("tamper", "Tamper", "The words of one entry are replaced by as many others, in every copy of them.", _tamper),
    Attack("tamper_weak", "Tamper, main row only", "As tamper, but copies in indexes and parts stay.", _tamper_weak, weak=True),
    Attack("truncate", "Truncate", "The two newest entries are deleted with all that belongs to them.", _truncate, removes=True),
    Attack(
        "truncate_weak",
        "Truncate, main rows only",
        "As truncate, but parts stay behind.",
        _truncate_weak,
        removes=True,
        weak=True,
    ),
    Attack("delete_middle", "Delete from the middle", "The third entry is deleted.", _delete_middle, removes=True),
    Attack("delete_all", "Delete all of an owner", "Every entry of one owner is deleted.", _delete_all, removes=True),
    Attack("reorder", "Reorder", "The second and the third entry change places.", _reorder),
    Attack("forge", "Forge", "An entry that nobody wrote is inserted as the newest.", _forge),
    Attack("forge_weak", "Forge, main row only", "As forge, but nothing is added to indexes.", _forge_weak, weak=True),
    Attack(
        "replay_cross_context",
        "Replay another owner's entry",
        "The genuine bytes of another owner's entry are put into this owner's newest slot.",
        _replay_cross_context,
    ),
    Attack(
        "replay_rollback",
        "Replay an older entry",
        "The genuine bytes of the oldest entry are put into the newest slot.",
        _replay_rollback,
    ),
    Attack("duplicate", "Duplicate", "A genuine entry is copied under a fresh id.", _duplicate),
    Attack(
        "delete_reinsert",
        "Delete and insert again",
        "An entry is deleted and inserted with the same values.",
        _delete_reinsert,
        same_values=True,
    ),
    Attack("move_owner", "Move to another owner", "The newest entry is given to another owner.", _move_owner, removes=True),
    Attack("metadata_time", "Change a time", "An entry is said at another time.", _time),
    Attack("metadata_author", "Change an author", "Author, source or role of an entry is changed.", _author),
    Attack("metadata_trust", "Raise trust", "Authority, trust or importance of an entry is changed.", _trust),
    Attack("conceal_status", "Hide by status", "An entry is archived, expired or quarantined.", _conceal, removes=True),
    Attack(
        "field_sweep",
        "Every stored field",
        "Each stored field is changed to another value of its type, one at a time.",
        _sweep,
        removes=True,
        sweeps=True,
    ),
)
