"""Backup, restore, fork, key rotation: the acts that copy a store or change its keys, each after a full check."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterator
from functools import partial

from witnesstree.errors import InputError, IntegrityError
from witnesstree.flow.audit import audit, rewrite, system_record
from witnesstree.flow.examine import examine, rows_again
from witnesstree.flow.head import TrustedHead
from witnesstree.flow.home import Home
from witnesstree.flow.ingest import mark_of
from witnesstree.flow.opening import Terms, open_verified, settle
from witnesstree.flow.transaction import EmptyMap, Transaction, beginning
from witnesstree.flow.verified import Reading, VerifiedStore
from witnesstree.proof.keys import MasterKey, StoreKeys
from witnesstree.stores import create_store, open_store, place_exists, place_of
from witnesstree.types.batch import Batch
from witnesstree.types.principal import SYSTEM_PARTITION
from witnesstree.types.record import Record, SealedRecord
from witnesstree.types.result import AuditReport
from witnesstree.types.tombstone import read_tombstone, write_tombstone
from witnesstree.types.trust import Kind, Op
from witnesstree.types.wire import decode, encode


def restore(source: str, target: str, home: Home, terms: Terms) -> AuditReport:
    """Make a new store at ``target`` from a backup (or any copy), after a full check; what was erased since stays erased.

    Args:
        source: the backup file.
        target: where nothing is now.
        home: whose keys seal the new store.
        terms: clock and policy.

    Raises:
        InputError: something is at the target already. IntegrityError: the backup does not verify; nothing is made.
    """
    _refuse_existing(target)
    if not place_exists(source):
        raise InputError(f"there is no backup at {place_of(source)}", reason="no_store")
    store = open_store(source)
    try:
        with store.read() as snapshot:
            old_id = snapshot.head().store_id
        copy = VerifiedStore(
            store,
            home.keyring.load(old_id),
            store_id=old_id,
            anchor=None,
            cache=None,
            clock=terms.clock,
            quarantine=False,
            rotated=partial(home.keyring.candidates, old_id),
        )
        return _copy(copy, target, home, terms, op=Op.RESTORE)
    finally:
        store.close()


def fork(source: VerifiedStore, target: str, home: Home, terms: Terms) -> AuditReport:
    """Make a new store at ``target`` that begins with this one's memory and knows where it came from.

    Raises:
        InputError: something is at the target already. IntegrityError: this store does not verify, or was rolled back.
    """
    _refuse_existing(target)
    return _copy(source, target, home, terms, op=Op.FORK)


def _refuse_existing(target: str) -> None:
    if place_exists(target):
        raise InputError(f"{place_of(target)} exists already; move it away or choose another path", reason="exists")


def _copy(source: VerifiedStore, target: str, home: Home, terms: Terms, *, op: Op) -> AuditReport:
    """Check everything and copy it inside one snapshot, so that nothing can change in between."""
    with source.looking() as (snapshot, remembered):
        report, tally = examine(source, snapshot, remembered)
        if not report.ok:
            problem = report.problems[0]
            raise IntegrityError(
                f"{source.store.place} does not verify and was not used: {problem.message} ({problem.where})",
                reason=problem.reason,
            )
        rows = list(rows_again(source, snapshot, tally))
    batch, head, store_id = _resealed(source, report, rows, home, op=op)
    create_store(target, batch)
    settle(target, home, store_id, head)
    copied = open_verified(target, home, terms)
    try:
        return audit(copied)
    finally:
        copied.close()


def _resealed(
    old: VerifiedStore, report: AuditReport, rows: list[SealedRecord], home: Home, *, op: Op
) -> tuple[Batch, TrustedHead, bytes]:
    """Return the first batch of a new store with every row under a new store id, keys and log."""
    store_id, at = secrets.token_bytes(16), old.now()
    master = home.keyring.load()
    keys = StoreKeys.derive(master, store_id)
    transaction = Transaction(keys, master.require_signer(), EmptyMap(), beginning(store_id), at=at)
    payload = json.dumps({"from": report.store_id, "size": report.size, "root": report.root}, sort_keys=True).encode()
    transaction.put(keys.owner_key(SYSTEM_PARTITION), system_record(op, payload, at=at))
    before: dict[bytes, bytes] = {}
    for owner, record, vector in _kept(old, rows, home.state.marks()):
        transaction.put(owner, record, before=before.get(record.id), vector=vector)
        before[record.id] = encode(record)
    batch, head = transaction.batch()
    return batch, head, store_id


def _kept(old: VerifiedStore, rows: list[SealedRecord], marks: set[bytes]) -> Iterator[tuple[bytes, Record, bytes]]:
    """Yield what goes into a copy: all but what the home remembers as erased; tombstones keep their marks only."""
    for row in rows:
        record = decode(row.content)
        if record.kind is Kind.TOMBSTONE:
            known, _ = read_tombstone(record.payload)
            yield row.owner, record.with_changes(payload=write_tombstone(known, ())), b""
        elif mark_of(old, record.id) not in marks:  # by id alone: the same words may have been said again since
            yield row.owner, record, row.vector


def rotate(store: VerifiedStore, home: Home, *, lost_signer: bool) -> AuditReport:
    """Replace root secret and signer of a store: full check, everything sealed anew in one transaction, old seals die at once.

    Args:
        store: whose keys.
        home: where the new key goes, before the commit.
        lost_signer: allow it with a reader's key, since the signing key is lost; the log says so.

    Raises:
        IntegrityError: the store does not verify; nothing is changed. AccessError: this home can't sign.
    """
    if not lost_signer:
        store.master.require_signer()
    with home.state.locked("rotation"):
        with store.reading():
            pass  # takes up the key that the head is signed with
        store_id, naming, old = store.keys.store_id, store.master.naming, store.master.public_key
        home.keyring.promote(store_id, store.master)  # if a rotation was cut off; another key that is left beside was never used
        entropy = os.urandom(32)
        master = MasterKey.from_entropy(entropy, naming)
        home.keyring.write(entropy, naming, home.keyring.next_path(store_id))

        def build(transaction: Transaction, reading: Reading) -> None:
            report, tally = examine(store, reading.snapshot, ())
            if not report.ok:
                raise IntegrityError(
                    "the store does not verify; run 'wtree audit' before a key is rotated", reason="audit_failed"
                )
            about = {"old": old.hex(), "new": master.public_key.hex(), "lost_signer": lost_signer}
            rewrite(transaction, reading, tally, Op.REKEY, json.dumps(about, sort_keys=True).encode())

        store.write(build, master=master)
        home.keyring.promote(store_id, master)
    store.scrub()
    return audit(store)
