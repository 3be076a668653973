"""Erase: words, ids, salts and vectors go from every file; a keyed mark and the log's commitments stay; a receipt is signed."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from witnesstree.anchors.state import PendingErasure, StateFolder
from witnesstree.errors import Error, InputError, NotFoundError, StoreError
from witnesstree.flow.audit import system_record
from witnesstree.flow.fetching import fetch_record
from witnesstree.flow.ingest import mark_of
from witnesstree.flow.recall import parse_id
from witnesstree.flow.transaction import Transaction
from witnesstree.flow.verified import Reading, VerifiedStore
from witnesstree.flow.view import View
from witnesstree.proof.merkle import leaf_hash
from witnesstree.proof.receipt import make_receipt
from witnesstree.rules.policy import Where
from witnesstree.types.facts import RowFacts
from witnesstree.types.instant import to_iso
from witnesstree.types.principal import Principal
from witnesstree.types.record import Record
from witnesstree.types.result import ErasureReceipt, memo_fields
from witnesstree.types.tombstone import read_tombstone, write_tombstone
from witnesstree.types.trust import Kind, Op


@dataclass(frozen=True, slots=True)
class Choice:
    """What to erase: exactly one of one memory, a session, what a filter matches, or everything of the user."""

    memory_id: object = None
    session: str | None = None
    where: Where | None = None
    everything: bool = False

    def __post_init__(self) -> None:
        """Refuse an empty or ambiguous choice: nothing is ever erased by default (threat T-I10)."""
        if not isinstance(self.everything, bool):
            raise InputError("everything must be true or false", field="everything")
        given = [self.memory_id is not None, self.session is not None, self.where is not None, self.everything]
        if sum(given) != 1:
            raise InputError("say what to forget: exactly one of id, session, where, everything", field="id")


def forget(
    store: VerifiedStore, state: StateFolder | None, choice: Choice, principal: Principal, *, dry_run: bool
) -> ErasureReceipt:
    """Erase memories with all their versions, in one transaction, and sign a receipt.

    Raises:
        NotFoundError: the one memory that was named does not exist.
    """
    if dry_run:
        with store.reading() as reading:
            rows = _chosen(reading, choice, principal)
            return ErasureReceipt(len({facts.id for facts in rows}), len(rows), None, "dry_run")

    pending: list[PendingErasure] = []

    def build(transaction: Transaction, reading: Reading) -> tuple[list[RowFacts], int, bytes]:
        rows = _chosen(reading, choice, principal)
        if not rows:
            return rows, -1, b""
        view = reading.view(principal.partition)
        owner = store.owner_key(principal.partition)
        marks = [mark_of(store, value) for facts in rows for value in (facts.id, facts.fingerprint)]
        if state is not None:
            pending.append(state.begin_erasure(store.keys.store_id, owner, marks))
            state.note_scrub(store.keys.store_id)
        old = _tombstones(reading, view) if choice.everything else []
        seqs = [facts.seq for facts in rows]
        for facts, payload in old:
            more, ranges = read_tombstone(payload)
            marks += more
            seqs += [seq for first, last in ranges for seq in range(first, last + 1)] + [facts.seq]
        stone = tombstone("" if choice.everything else principal.actor, marks, seqs, at=transaction.at)
        transaction.erase(owner, [(facts.seq, facts.seal) for facts in [*rows, *(facts for facts, _ in old)]])
        position = transaction.put(owner, stone)
        return rows, position, transaction.entry_at(position)

    try:
        (rows, position, entry), written = store.write(build)
    except BaseException:
        # Whether a failing commit reached the disk must be read from the store: now if it can be read, else at the next open.
        for erasure in pending:
            erasure.release()
        if state is not None:
            with suppress(Error):
                settle_cut_off(store, state)
        raise
    for erasure in pending:
        erasure.confirm()
    if not rows:
        return ErasureReceipt(0, 0, None, "done")
    gone = finish_scrub(store, state)
    try:
        store.drop_cache(principal.partition)
    except StoreError:
        gone = False
    return _receipt(store, rows, position, entry, state="done" if gone else "pending", behind=written.anchor_behind)


def _chosen(reading: Reading, choice: Choice, principal: Principal) -> list[RowFacts]:
    """Return every version of every chosen memory; a filter chooses a memory by any of its versions."""
    view = reading.view(principal.partition)
    if choice.memory_id is not None:
        versions = view.versions(parse_id(choice.memory_id))
        if not versions:
            raise NotFoundError("there is no memory with this id", id=str(choice.memory_id)[:64])
        return versions
    chosen = []
    for newest in view.memories():
        if choice.session is not None and newest.session != choice.session:
            continue
        versions = view.versions(newest.id)
        where = choice.where
        if where is not None and not any(where(memo_fields(fetch_record(reading, view, facts))) for facts in versions):
            continue
        chosen += versions
    return chosen


def _tombstones(reading: Reading, view: View) -> list[tuple[RowFacts, bytes]]:
    """Return earlier tombstones of the owner, so that one without any name can take their place."""
    found = list(view.alive(Kind.TOMBSTONE))
    return [(facts, fetch_record(reading, view, facts).payload) for facts in found]


def tombstone(actor: str, marks: Iterable[bytes], seqs: Iterable[int], *, at: int) -> Record:
    """Return the bookkeeping row that takes the place of erased rows: their marks, their positions, and who erased them."""
    stone = system_record(Op.FORGET, write_tombstone(marks, seqs), at=at)
    return stone.with_changes(kind=Kind.TOMBSTONE, actor=actor)


def finish_scrub(store: VerifiedStore, state: StateFolder | None) -> bool:
    """Make erased bytes disappear; return whether they are gone. What can't be done now is done at the next open."""
    try:
        gone = store.scrub()
    except StoreError:
        return False
    if gone and state is not None:
        state.clear_scrub(store.keys.store_id)
    return gone


def settle_cut_off(store: VerifiedStore, state: StateFolder) -> None:
    """Find out which erasures of dead processes were committed; those stay marked, the others never happened."""
    for erasure in state.cut_off_erasures(store.keys.store_id):
        with store.reading() as reading:
            is_done = set(erasure.marks) <= reading.view_of(erasure.owner).marks
        if is_done:
            erasure.confirm()
        else:
            erasure.abandon()
    if state.is_scrub_due(store.keys.store_id):
        finish_scrub(store, state)


def _receipt(
    store: VerifiedStore, rows: list[RowFacts], position: int, entry: bytes, *, state: str, behind: bool
) -> ErasureReceipt:
    memories = len({facts.id for facts in rows})
    note = make_receipt(
        store.keys.store_id,
        store.master.require_signer(),
        {
            "position": str(position),
            "leaf": leaf_hash(entry).hex(),
            "memories": str(memories),
            "versions": str(len(rows)),
            "bytes": "overwritten" if state == "done" else "pending until readers finish",
            "at": str(to_iso(store.now())),
        },
    )
    return ErasureReceipt(memories, len(rows), position, state, note, behind)
