"""The full check of one snapshot: log, head, every row, every owner, the owner map. It finds; others decide what follows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from witnesstree.anchors.base import AnchorState
from witnesstree.errors import IntegrityError, SealError
from witnesstree.flow.head import TrustedHead
from witnesstree.flow.verified import VerifiedStore
from witnesstree.proof.digest import MODULUS, decode_leaf, element
from witnesstree.proof.encoding import ENTRY, ENTRY_FORMAT, OP_AT, row_entry
from witnesstree.proof.merkle import leaf_hash, tree_root
from witnesstree.proof.ownermap import EMPTY, update_map
from witnesstree.proof.seal import make_seal, verify_seal
from witnesstree.stores.base import Snapshot
from witnesstree.types.facts import AuditFacts, audit_facts
from witnesstree.types.record import SealedRecord
from witnesstree.types.result import AuditReport, Problem
from witnesstree.types.tombstone import read_tombstone
from witnesstree.types.trust import Kind, Op
from witnesstree.types.wire import decode

T = TypeVar("T")
MAX_PROBLEMS = 1000
OWNER_BYTES = 16
Progress = Callable[[int, int], None]


@dataclass
class Tally:
    """What the passes of an audit collect."""

    problems: list[Problem] = field(default_factory=list)
    rows: int = 0
    sums: dict[bytes, int] = field(default_factory=dict)
    counts: dict[bytes, int] = field(default_factory=dict)
    at: set[int] = field(default_factory=set)
    forged: set[int] = field(default_factory=set)
    erased: list[tuple[int, int]] = field(default_factory=list)
    gone: set[int] = field(default_factory=set)
    reasons: set[str] = field(default_factory=set)

    def add(self, reason: str, where: str, message: str) -> None:
        """Note a finding."""
        self.reasons.add(reason)
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(Problem(reason, where, message))


def examine(
    store: VerifiedStore,
    snapshot: Snapshot,
    remembered: tuple[AnchorState, ...],
    *,
    tally: Tally | None = None,
    progress: Progress | None = None,
) -> tuple[AuditReport, Tally]:
    """Return the report of a full check of one snapshot, and everything it is made of. It raises for nothing that it finds.

    Args:
        store: whose keys and history it is checked against.
        snapshot: what is checked; whoever acts on the report must act inside the same snapshot.
        remembered: what the anchor remembers.
        tally: findings from elsewhere to begin with.
        progress: called with (rows done, log entries in all).
    """
    tally = tally or Tally()
    size, root = 0, b""
    trusted = guarded(tally, lambda: store.sync(snapshot, remembered))
    if trusted is not None:
        size, root = trusted.size, trusted.state.root
    entries = guarded(tally, lambda: _check_log(snapshot, trusted, tally)) or {}
    guarded(tally, lambda: _check_rows(store, snapshot, entries, tally, progress))
    _check_coverage(entries, tally)
    if trusted is not None:
        guarded(tally, lambda: _check_map(store, snapshot, trusted, tally))
    report = AuditReport(
        ok=not tally.problems,
        store_id=store.keys.store_id.hex(),
        size=size,
        rows=tally.rows,
        owners=len(tally.counts),
        root=root.hex(),
        problems=tuple(tally.problems),
    )
    return report, tally


def guarded(tally: Tally, run: Callable[[], T]) -> T | None:
    """Return what ``run`` returns; note what it raises as a finding and return None."""
    try:
        return run()
    except IntegrityError as error:
        tally.add(error.reason, "store", str(error))
        return None


def _check_log(snapshot: Snapshot, trusted: TrustedHead | None, tally: Tally) -> dict[int, bytes]:
    """Check the whole log against the signed root; return the entries by position."""
    stored = snapshot.log_positions()
    size = trusted.size if trusted is not None else stored
    entries: dict[int, bytes] = {}
    expected = found = 0
    for data in snapshot.entries(0, size):
        found += 1
        seq = int.from_bytes(data[1:9], "big") if len(data) == ENTRY.size else -1
        if seq < expected or data[:1] != bytes([ENTRY_FORMAT]):
            tally.add("log_altered", f"entry {expected}", "a log entry is in a wrong place or of an unknown format")
            expected += 1
            continue
        if seq > expected:
            tally.add("log_cut", f"entry {expected}", "a log entry is missing; restore a backup")
        entries[seq] = data
        expected = seq + 1
    if stored > found:
        extra = stored - found
        tally.add("log_planted", "log", f"{extra} log entries stand where none was signed; run 'wtree repair'")
    if len(entries) != size:
        tally.add("log_cut", "log", f"the log has {len(entries)} good entries; {size} were signed")
    elif trusted is not None and tree_root([leaf_hash(entries[i]) for i in range(size)]) != trusted.state.root:
        tally.add("log_altered", "log", "a log entry was altered: the entries do not give the signed root")
    return entries


def _check_rows(
    store: VerifiedStore, snapshot: Snapshot, entries: dict[int, bytes], tally: Tally, progress: Progress | None
) -> None:
    """Check every row's seal and its log entry, and sum up each owner."""
    places: dict[bytes, int] = {}
    for row in snapshot.all_rows():
        tally.rows += 1
        if progress is not None and tally.rows % 1000 == 0:
            progress(tally.rows, len(entries))
        facts = _check_seal(store, row, tally)
        if facts is None:
            tally.forged.add(row.seq)
            continue
        before = places.get(facts.id) if facts.version > 1 else None
        places[facts.id] = row.seq
        if not _is_logged(snapshot, row, facts, before, entries.get(row.seq)):
            tally.add("row_unlogged", f"row {row.seq}", "the log does not say that this row was written; restore a backup")


def _check_seal(store: VerifiedStore, row: SealedRecord, tally: Tally) -> AuditFacts | None:
    """Return what the row says if its seal is genuine, and count it in."""
    seq, owner, content, seal, vector = row
    if not owner or not content or not seal or make_seal(store.keys, owner, seq, content, vector) != seal:
        return None
    tally.sums[owner] = tally.sums.get(owner, 0) + element(store.keys, seal)
    tally.counts[owner] = tally.counts.get(owner, 0) + 1
    tally.at.add(seq)
    facts = audit_facts(content)
    if facts.kind == Kind.TOMBSTONE:
        tally.erased += read_tombstone(decode(content).payload)[1]
    return facts


def _is_logged(snapshot: Snapshot, row: SealedRecord, facts: AuditFacts, before: int | None, entry: bytes | None) -> bool:
    """Return whether the log entry at the row's place is the one that this row gives."""
    previous = None if before is None else next(iter(snapshot.rows([before])), None)
    return entry == row_entry(
        row.seq,
        facts.op,
        at=facts.recorded_at,
        salt=facts.salt,
        actor=facts.actor,
        target=facts.id + facts.version.to_bytes(4, "big"),
        owner=row.owner,
        before=None if previous is None else previous.content,
        content=row.content,
    )


def _check_coverage(entries: dict[int, bytes], tally: Tally) -> None:
    """Every entry but a commit has its row, or a tombstone says that it was erased; no row stands where none was written."""
    for first, last in tally.erased:
        tally.gone.update(range(first, last + 1))
    for seq in sorted(tally.forged):
        entry = entries.get(seq)
        if entry is None or entry[OP_AT] == Op.COMMIT or seq in tally.gone:
            tally.add("row_planted", f"row {seq}", "a forged row stands where none was written; run 'wtree repair'")
        else:
            tally.add("row_altered", f"row {seq}", "this row is not what was written there; restore it from a backup")
    for seq, entry in entries.items():
        if entry[OP_AT] != Op.COMMIT and seq not in tally.at and seq not in tally.gone and seq not in tally.forged:
            tally.add("row_missing", f"row {seq}", "the row that the log speaks of is missing; restore it from a backup")
    for seq in sorted(tally.at & tally.gone):
        tally.add("row_resurrected", f"row {seq}", "a row that was erased is back; run 'wtree repair'")


def _check_map(store: VerifiedStore, snapshot: Snapshot, trusted: TrustedHead, tally: Tally) -> None:
    """Rebuild the owner map from the leaves, compare it with nodes and root, and close each owner's count and digest."""
    stored = dict(snapshot.leaves())
    leaves = {owner: leaf for owner, leaf in stored.items() if len(owner or b"") == OWNER_BYTES}
    if len(leaves) != len(stored):
        tally.add("map_altered", "owner map", "there is a leaf under a malformed owner key; run 'wtree repair'")
    root, nodes = update_map(EMPTY, leaves, lambda path: None)
    if root != trusted.map_root:
        tally.add("map_altered", "owner map", "the owners' leaves do not give the signed root; run 'wtree repair'")
    if nodes != dict(snapshot.nodes()):
        tally.add(
            "map_altered",
            "owner map",
            "nodes of the owner map are not what follows from its leaves; run 'wtree repair'",
        )
    for owner, data in leaves.items():
        leaf = decode_leaf(store.keys, data)
        total = tally.sums.get(owner, 0) % MODULUS
        if leaf.owner != owner or leaf.count != tally.counts.get(owner, 0) or leaf.digest != total:
            tally.add("owner_incomplete", f"owner {owner.hex()}", "this owner's rows are not the ones that were signed")
    for owner in tally.sums.keys() - leaves.keys():
        tally.add("owner_unknown", f"owner {owner.hex()}", "rows of an owner whom the map does not know; run 'wtree repair'")


def rows_again(store: VerifiedStore, snapshot: Snapshot, tally: Tally) -> Iterator[SealedRecord]:
    """Yield the rows that a full check of the same snapshot counted, without those it found planted or erased.

    A file can be edited under an open snapshot by somebody who ignores its locks, so this pass is closed like the first one:
    every row's seal is checked, and at the end the rows must be exactly the ones that were counted.

    Raises:
        SealError: they are not.
    """
    sums: dict[bytes, int] = {}
    for row in snapshot.all_rows():
        if row.seq in tally.forged:
            continue
        seal = verify_seal(store.keys, row.owner, row).seal
        sums[row.owner] = sums.get(row.owner, 0) + element(store.keys, seal)
        if row.seq not in tally.gone:
            yield row
    if sums != tally.sums:
        raise SealError("the store was edited while it was being copied; nothing was written", reason="rows_changed")
