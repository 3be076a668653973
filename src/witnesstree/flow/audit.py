"""Prove and repair: the full report, an offline proof for one memory, and rebuilding what is derived."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from operator import attrgetter

from witnesstree.errors import IntegrityError
from witnesstree.flow.examine import Progress, Tally, examine, guarded, rows_again
from witnesstree.flow.fetching import fetch_record
from witnesstree.flow.recall import current_version, parse_id
from witnesstree.flow.transaction import Transaction
from witnesstree.flow.verified import Reading, VerifiedStore
from witnesstree.proof.checkpoint import origin_of, verifier_key
from witnesstree.proof.merkle import inclusion_proof, leaf_hash, tree_root
from witnesstree.proof.receipt import make_proof
from witnesstree.types.principal import SYSTEM_PARTITION, Principal
from witnesstree.types.record import Record, SealedRecord
from witnesstree.types.result import AuditReport, Problem
from witnesstree.types.trust import Authority, Kind, Op, Role, Status, Trust
from witnesstree.types.wire import encode

_REPAIRABLE = frozenset(
    {"derived_damaged", "log_planted", "map_altered", "owner_incomplete", "owner_unknown", "row_planted", "row_resurrected"}
)
"""Findings behind which nothing that was written is lost: log and content give all of it again."""


def audit(store: VerifiedStore, progress: Progress | None = None) -> AuditReport:
    """Check everything there is and report every finding instead of stopping at the first.

    Args:
        store: what to check.
        progress: called with (rows done, rows in all).

    Raises:
        StoreError: the store can't be read at all.
    """
    tally = Tally()
    for text in guarded(tally, lambda: list(store.store.problems(deep=True))) or ():
        tally.add("derived_damaged", "store", text)
    try:
        with store.looking() as (snapshot, remembered):
            return examine(store, snapshot, remembered, tally=tally, progress=progress)[0]
    except IntegrityError as error:
        tally.add(error.reason, "store", str(error))
    return AuditReport(False, store.keys.store_id.hex(), 0, 0, 0, "", tuple(tally.problems))


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

    def build(transaction: Transaction, reading: Reading) -> tuple[Problem, ...]:
        report, tally = examine(store, reading.snapshot, ())
        if report.ok or tally.reasons - _REPAIRABLE:
            return report.problems
        rewrite(transaction, reading, tally, Op.REPAIR, b"")
        return ()

    problems, _ = store.write(build)
    if problems:
        return problems
    store.scrub()
    return audit(store).problems


def rewrite(
    transaction: Transaction,
    reading: Reading,
    tally: Tally,
    op: Op,
    payload: bytes,
    *,
    vector_of: Callable[[SealedRecord], bytes] = attrgetter("vector"),
) -> None:
    """Seal every row anew: the same rows and log, new seals, leaves and nodes (repair, key rotation, other vectors).

    Args:
        transaction: where they go, under its keys.
        reading: the snapshot they come from.
        tally: what a full check of this snapshot found; what it names as planted or erased is left out.
        op: what the log says about it.
        payload: details for the bookkeeping row.
        vector_of: gives the vector that a row is to have.

    Raises:
        SealError: the rows are no longer the ones that were checked.
    """
    transaction.rewrite()
    for row in rows_again(reading.store, reading.snapshot, tally):
        transaction.keep(row.owner, row.seq, row.content, vector_of(row))
    transaction.put(reading.store.owner_key(SYSTEM_PARTITION), system_record(op, payload, at=transaction.at))
