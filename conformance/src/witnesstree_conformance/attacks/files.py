"""Edits of whole stores: an older copy put back, the store deleted, or swapped for another genuine one."""

from __future__ import annotations

from witnesstree_conformance.attacks.attack import Attack, Bench

EARLIER, FOREIGN = "earlier", "foreign"
"""Names under which the runner keeps the copies."""


def _put_back(bench: Bench, name: str, what: str) -> None:
    main_only = bench.raw.tier == "A"
    bench.subject.restore(bench.raw.place, name, bench.zones, main_only=main_only)
    bench.raw.note(f"{what}: {', '.join(bench.zones)}{' (main files only)' if main_only else ''}")


def _rollback(bench: Bench) -> None:
    _put_back(bench, EARLIER, "put back as saved before the two newest entries")


def _deleted(bench: Bench) -> None:
    main_only = bench.raw.tier == "A"
    bench.subject.destroy(bench.raw.place, bench.zones, main_only=main_only)
    bench.raw.note(f"deleted: everything in {', '.join(bench.zones)}{' (main files only)' if main_only else ''}")


def _swapped(bench: Bench) -> None:
    _put_back(bench, FOREIGN, "replaced by another genuine store of the same client")


ATTACKS = (
    Attack(
        "snapshot_rollback",
        "Older copy put back",
        "A complete older copy of the store is put back.",
        _rollback,
        group="file",
        removes=True,
    ),
    Attack("store_deleted", "Store deleted", "The store's files are deleted.", _deleted, group="file", removes=True),
    Attack(
        "store_swapped",
        "Store swapped",
        "Another genuine store of the same client takes its place.",
        _swapped,
        group="file",
        removes=True,
    ),
)
