"""Prove and repair: the full check of everything, an offline proof for one memory, and rebuilding what is derived."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TypeVar

from witnesstree.errors import IntegrityError
from witnesstree.flow.head import TrustedHead, verify_head
from witnesstree.flow.recall import current_version, fetch_record, parse_id
from witnesstree.flow.transaction import Transaction
from witnesstree.flow.verified import VerifiedStore
from witnesstree.flow.view import AuditFacts, audit_facts, read_tombstone
from witnesstree.proof.checkpoint import origin_of, verifier_key
from witnesstree.proof.digest import MODULUS, decode_leaf, element
from witnesstree.proof.encoding import ENTRY, ENTRY_FORMAT, row_entry
from witnesstree.proof.keys import MasterKey, StoreKeys
from witnesstree.proof.merkle import inclusion_proof, leaf_hash, tree_root
from witnesstree.proof.ownermap import EMPTY, update_map
from witnesstree.proof.receipt import make_proof
from witnesstree.proof.seal import make_seal, verify_seal
from witnesstree.stores.base import Snapshot
from witnesstree.types.principal import SYSTEM_PARTITION, Principal
from witnesstree.types.record import Record, SealedRecord
from witnesstree.types.result import AuditReport, Problem
from witnesstree.types.trust import Authority, Kind, Op, Role, Status, Trust
from witnesstree.types.wire import decode, encode

T = TypeVar("T")
MAX_PROBLEMS = 1000
_REPAIRABLE = frozenset({"derived_damaged", "map_altered", "owner_incomplete", "owner_unknown", "row_planted", "row_resurrected"})
"""Findings behind which nothing that was written is lost: log and content give all of it again."""
OWNER_BYTES = 16
_OP_AT = 17
"""Where an encoded log entry holds its operation."""
Progress = Callable[[int, int], None]


@dataclass
class _Tally:
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
        self.reasons.add(reason)
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(Problem(reason, where, message))


def audit(store: VerifiedStore, progress: Progress | None = None) -> AuditReport:
    """Check everything there is and report every finding instead of stopping at the first.

    Args:
        store: what to check.
        progress: called with (rows done, rows in all).

    Raises:
        StoreError: the store can't be read at all.
    """
    return _examine(store, progress)[0]


def _examine(store: VerifiedStore, progress: Progress | None = None) -> tuple[AuditReport, _Tally]:
    """Return the report of a full check, and everything it is made of."""
    tally = _Tally()
    size, root = 0, b""
    for text in _guarded(tally, lambda: list(store.store.problems(deep=True))) or ():
        tally.add("derived_damaged", "store", text)
    try:
        remembered = None if store.anchor is None or store.store.is_backup else store.anchor.read()
        with store.store.read() as snapshot:
            trusted = _guarded(tally, lambda: verify_head(store.keys, snapshot, (remembered,)))
            if trusted is not None:
                size, root = trusted.size, trusted.state.root
            entries = _guarded(tally, lambda: _check_log(snapshot, trusted, tally)) or {}
            _guarded(tally, lambda: _check_rows(store, snapshot, entries, tally, progress))
            _check_coverage(entries, tally)
            if trusted is not None:
                _guarded(tally, lambda: _check_map(store, snapshot, trusted, tally))
    except IntegrityError as error:
        tally.add(error.reason, "store", str(error))
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


def _guarded(tally: _Tally, run: Callable[[], T]) -> T | None:
    try:
        return run()
    except IntegrityError as error:
        tally.add(error.reason, "store", str(error))
        return None


def _check_log(snapshot: Snapshot, trusted: TrustedHead | None, tally: _Tally) -> dict[int, bytes]:
    """Check the whole log against the signed root; return the entries by position."""
    stored = snapshot.log_positions()
    size = trusted.size if trusted is not None else stored
    entries: dict[int, bytes] = {}
    expected = 0
    for data in snapshot.entries(0, max(size, stored) + 1):
        seq = int.from_bytes(data[1:9], "big") if len(data) == ENTRY.size else -1
        if seq < expected or data[:1] != bytes([ENTRY_FORMAT]):
            tally.add("log_altered", f"entry {expected}", "a log entry is in a wrong place or of an unknown format")
            expected += 1
            continue
        if seq > expected:
            tally.add("log_cut", f"entry {expected}", "a log entry is missing; restore a backup")
        entries[seq] = data
        expected = seq + 1
    if stored != size or len(entries) != size:
        tally.add("log_cut", "log", f"the log has {len(entries)} good entries of {stored} stored; {size} were signed")
    elif trusted is not None and tree_root([leaf_hash(entries[i]) for i in range(size)]) != trusted.state.root:
        tally.add("log_altered", "log", "a log entry was altered: the entries do not give the signed root")
    return entries


def _check_rows(
    store: VerifiedStore, snapshot: Snapshot, entries: dict[int, bytes], tally: _Tally, progress: Progress | None
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


def _check_seal(store: VerifiedStore, row: SealedRecord, tally: _Tally) -> AuditFacts | None:
    """Return what the row says if its seal is genuine, and count it in."""
    seq, owner, content, seal = row
    if not owner or not content or not seal or make_seal(store.keys, owner, seq, content) != seal:
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


def _check_coverage(entries: dict[int, bytes], tally: _Tally) -> None:
    """Every entry but a commit has its row, or a tombstone says that it was erased; no row stands where none was written."""
    for first, last in tally.erased:
        tally.gone.update(range(first, last + 1))
    for seq in sorted(tally.forged):
        entry = entries.get(seq)
        if entry is None or entry[_OP_AT] == Op.COMMIT or seq in tally.gone:
            tally.add("row_planted", f"row {seq}", "a forged row stands where none was written; run 'wtree repair'")
        else:
            tally.add("row_altered", f"row {seq}", "this row is not what was written there; restore it from a backup")
    for seq, entry in entries.items():
        if entry[_OP_AT] != Op.COMMIT and seq not in tally.at and seq not in tally.gone and seq not in tally.forged:
            tally.add("row_missing", f"row {seq}", "the row that the log speaks of is missing; restore it from a backup")
    for seq in sorted(tally.at & tally.gone):
        tally.add("row_resurrected", f"row {seq}", "a row that was erased is back; run 'wtree repair'")


def _check_map(store: VerifiedStore, snapshot: Snapshot, trusted: TrustedHead, tally: _Tally) -> None:
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
        total = tally.sums.pop(owner, 0) % MODULUS
        if leaf.owner != owner or leaf.count != tally.counts.get(owner, 0) or leaf.digest != total:
            tally.add("owner_incomplete", f"owner {owner.hex()}", "this owner's rows are not the ones that were signed")
    for owner in tally.sums:
        tally.add("owner_unknown", f"owner {owner.hex()}", "rows of an owner whom the map does not know; run 'wtree repair'")


def prove(store: VerifiedStore, memory_id: object, principal: Principal) -> str:
    """Return a c2sp tlog-proof for the current version of a memory, checkable offline with ``verifier_key_of``.

    Raises:
        NotFoundError: no such memory. IntegrityError: it can't be proven since it does not verify.
    """
    wanted = parse_id(memory_id)
    with store.reading() as reading:
        view = reading.view(principal.partition)
        facts = current_version(view, wanted)
        record = fetch_record(reading, view, facts)
        entries = list(reading.snapshot.entries(0, reading.trusted.size))
        hashes = [leaf_hash(entry) for entry in entries]
        if len(entries) != reading.trusted.size or tree_root(hashes) != reading.trusted.state.root:
            raise IntegrityError("the log does not give its signed root; run 'wtree audit'", reason="log_altered")
        path = inclusion_proof(hashes, facts.seq)
        return make_proof(entries[facts.seq], encode(record), facts.seq, path, reading.trusted.head.note)


def verifier_key_of(store: VerifiedStore) -> str:
    """Return the key that checks this store's checkpoints, proofs and receipts (C2SP verifier key)."""
    return verifier_key(origin_of(store.keys.store_id), store.master.public_key)


def checkpoint(store: VerifiedStore) -> str:
    """Return the verified signed head."""
    with store.reading() as reading:
        return reading.trusted.head.note.decode()


def system_record(op: Op, payload: bytes, *, at: int) -> Record:
    """Return a bookkeeping row that says what was done to the store as a whole."""
    return Record(
        id=secrets.token_bytes(16),
        version=1,
        kind=Kind.SYSTEM,
        role=Role.NONE,
        authority=Authority.NONE,
        trust=Trust.CANDIDATE,
        status=Status.ACTIVE,
        op=op,
        recorded_at=at,
        salt=secrets.token_bytes(16),
        actor="operator",
        payload=payload,
    )


def repair(store: VerifiedStore) -> tuple[Problem, ...]:
    """Rebuild indexes and owner map from rows that verify, log it, and return what can't be rebuilt.

    Rows that were planted, or erased and put back, go. Nothing is rebuilt while a row is altered, missing or unlogged, or the
    log is: that needs a backup, and the returned problems say so.

    Raises:
        AccessError: this home can't sign. IntegrityError: the head itself does not verify.
    """
    store.master.require_signer()
    store.store.rebuild()
    report, tally = _examine(store)
    if report.ok or tally.reasons - _REPAIRABLE:
        return report.problems
    rewrite(store, Op.REPAIR, b"", skip=tally.gone | tally.forged)
    return audit(store).problems


def rewrite(store: VerifiedStore, op: Op, payload: bytes, *, skip: Iterable[int] = (), master: MasterKey | None = None) -> None:
    """Seal every row anew in one transaction: the same rows and log, new seals, leaves and nodes (repair, key rotation).

    Args:
        store: whose rows; they were audited before.
        op: what the log says about it.
        payload: details for the bookkeeping row.
        skip: positions of rows to leave out.
        master: the key to seal and sign with from now on; the present one if None.

    Raises:
        IntegrityError: the head does not verify. AccessError: there is no signing key.
    """
    key = master or store.master
    keys = StoreKeys.derive(key, store.keys.store_id)
    left_out = set(skip)
    with store.store.write() as snapshot:
        trusted = verify_head(store.keys, snapshot, (None if store.anchor is None else store.anchor.read(),))
        transaction = Transaction(keys, key.require_signer(), snapshot, trusted, at=store.now())
        transaction.rewrite()
        for row in snapshot.all_rows():
            if row.seq not in left_out:
                verify_seal(store.keys, row.owner, row)
                transaction.keep(row.owner, row.seq, row.content)
        transaction.put(keys.owner_key(SYSTEM_PARTITION), system_record(op, payload, at=transaction.at))
        batch, after = transaction.batch()
        snapshot.append(batch)
    if store.anchor is not None:
        store.anchor.advance(after.state)
    store.scrub()
