"""Backup, restore, fork, key rotation: the acts that copy a store or change its keys, each after a full check."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterator

from witnesstree.errors import InputError, IntegrityError
from witnesstree.flow.audit import audit, rewrite, system_record
from witnesstree.flow.head import TrustedHead, verify_head
from witnesstree.flow.ingest import mark_of
from witnesstree.flow.opening import Home, Terms, open_verified, settle
from witnesstree.flow.transaction import EmptyMap, Transaction, beginning
from witnesstree.flow.verified import VerifiedStore
from witnesstree.flow.view import read_tombstone, write_tombstone
from witnesstree.proof.keys import MasterKey, StoreKeys
from witnesstree.stores import create_store, open_store, place_exists, place_of
from witnesstree.types.batch import Batch
from witnesstree.types.principal import SYSTEM_PARTITION
from witnesstree.types.record import Record
from witnesstree.types.result import AuditReport
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
    if place_exists(target):
        raise InputError(f"{place_of(target)} exists already; move it away first", reason="exists")
    if not place_exists(source):
        raise InputError(f"there is no backup at {place_of(source)}", reason="no_store")
    return _copy(source, target, home, terms, op=Op.RESTORE)


def fork(source: VerifiedStore, target: str, home: Home, terms: Terms) -> AuditReport:
    """Make a new store at ``target`` that begins with this one's memory and knows where it came from.

    Raises:
        InputError: something is at the target already. IntegrityError: this store does not verify.
    """
    if place_exists(target):
        raise InputError(f"{place_of(target)} exists already; choose another path", reason="exists")
    return _copy(source.store.place, target, home, terms, op=Op.FORK)


def _copy(source: str, target: str, home: Home, terms: Terms, *, op: Op) -> AuditReport:
    store = open_store(source)
    try:
        with store.read() as snapshot:
            old_id = snapshot.head().store_id
            master = home.keyring.load(old_id)
            unanchored = VerifiedStore(
                store, master, store_id=old_id, anchor=None, cache=None, clock=terms.clock, quarantine=False
            )
        report = audit(unanchored)
        if not report.ok:
            raise IntegrityError(
                f"{source} does not verify and was not used: {report.problems[0].message} ({report.problems[0].where})",
                reason=report.problems[0].reason,
            )
        with store.read() as snapshot:
            trusted = verify_head(unanchored.keys, snapshot, ())
            contents = [(row.seq, row.owner, row.content) for row in snapshot.all_rows()]
        batch, head, store_id = _resealed(unanchored, trusted, contents, home, op=op, at=unanchored.now())
    finally:
        store.close()
    create_store(target, batch)
    settle(target, home, store_id, head)
    copied = open_verified(target, home, terms)
    try:
        return audit(copied)
    finally:
        copied.close()


def _resealed(
    old: VerifiedStore, trusted: TrustedHead, contents: list[tuple[int, bytes, bytes]], home: Home, *, op: Op, at: int
) -> tuple[Batch, TrustedHead, bytes]:
    """Return the first batch of a new store with every row under a new store id, keys and log."""
    store_id = secrets.token_bytes(16)
    master = home.keyring.load()
    keys = StoreKeys.derive(master, store_id)
    transaction = Transaction(keys, master.require_signer(), EmptyMap(), beginning(store_id), at=at)
    about = {"from": old.keys.store_id.hex(), "size": trusted.size, "root": trusted.state.root.hex()}
    payload = json.dumps(about, sort_keys=True).encode()
    transaction.put(keys.owner_key(SYSTEM_PARTITION), system_record(op, payload, at=at))
    before: dict[bytes, bytes] = {}
    for owner, record in _kept(old, contents, home.state.marks()):
        transaction.put(owner, record, before=before.get(record.id))
        before[record.id] = encode(record)
    batch, head = transaction.batch()
    return batch, head, store_id


def _kept(old: VerifiedStore, contents: list[tuple[int, bytes, bytes]], marks: set[bytes]) -> Iterator[tuple[bytes, Record]]:
    """Yield what goes into a copy: all but what the home remembers as erased; tombstones keep their marks only."""
    for _, owner, content in contents:
        record = decode(content)
        if record.kind is Kind.TOMBSTONE:
            known, _ = read_tombstone(record.payload)
            yield owner, record.with_changes(payload=write_tombstone(known, ()))
        elif mark_of(old, record.id) not in marks and mark_of(old, record.fingerprint) not in marks:
            yield owner, record


def rotate(store: VerifiedStore, home: Home) -> AuditReport:
    """Replace root secret and signer of a store: full check, everything sealed anew in one transaction, old seals die at once.

    Raises:
        IntegrityError: the store does not verify; nothing is changed. AccessError: this home can't sign.
    """
    with home.state.locked("rotation"):
        with store.reading():
            store.master.require_signer()
        report = audit(store)
        if not report.ok:
            raise IntegrityError("the store does not verify; run 'wtree audit' before a key is rotated", reason="audit_failed")
        # The new key is on disk before the commit. One left there by a cut-off rotation was never used: the head just verified.
        store_id, naming = store.keys.store_id, store.master.naming
        entropy = os.urandom(32)
        home.keyring.write(entropy, naming, home.keyring.next_path(store_id))
        master = MasterKey.from_entropy(entropy, naming)
        rewrite(store, Op.REKEY, store.master.public_key, master=master)
        store.use_keys(master)
        home.keyring.promote(store_id, master)
    return audit(store)
