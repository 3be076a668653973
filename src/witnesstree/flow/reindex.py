"""Give every row the vector of another embedder: made piece by piece, kept if interrupted, put in place in one transaction."""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

from witnesstree.errors import IntegrityError
from witnesstree.flow.audit import rewrite
from witnesstree.flow.examine import examine
from witnesstree.flow.transaction import Transaction, read_leaf
from witnesstree.flow.vectors import dim_of, model_of
from witnesstree.flow.verified import Reading, VerifiedStore
from witnesstree.proof.digest import Leaf, decode_leaf
from witnesstree.proof.seal import verify_seal
from witnesstree.providers.base import is_remote
from witnesstree.types.facts import audit_facts
from witnesstree.types.record import SealedRecord
from witnesstree.types.result import Reindexed
from witnesstree.types.trust import MEMORY_KINDS, Op
from witnesstree.types.wire import decode

PIECE: Final = 1000
"""Rows whose vectors are made, and kept, at a time."""
_MAGIC: Final = b"WTV1"
_ITEM: Final = struct.Struct(">qI")
Progress = Callable[[int, int], None]
Made = dict[int, bytes]


def reindex(store: VerifiedStore, progress: Progress | None = None) -> Reindexed:
    """Let every vector be of the embedder that the store was opened with (none: drop them); fill those that are missing.

    What was computed before an interruption is found in sealed cache files and not computed again. Until the last step nothing
    changes for any reader; then all changes at once.

    Args:
        store: opened with the embedder that is wanted.
        progress: called with (rows done, rows in all).

    Raises:
        IntegrityError: the store does not verify; nothing is changed. AccessError: this home can't sign.
        ProviderError: the embedder gives no vectors; run it again later.
    """
    store.master.require_signer()
    target = _Target.of(store)
    model = target.model
    owners, total = _owners(store)
    made: Made = {}
    done = 0
    for owner in owners:
        for count, part in _pieces(store, owner, target):
            made |= part
            done += count
            if progress is not None:
                progress(done, max(done, total))
    if not made:
        return Reindexed(model, 0)
    (changed, left), written = store.write(_writer(store, target, made))
    _drop(store, owners)
    store.scrub()
    return Reindexed(model, changed, left, written.anchor_behind)


@dataclass(frozen=True, slots=True)
class _Target:
    """What every vector is to be: of which model, and with how many components."""

    model: str
    dim: int

    @classmethod
    def of(cls, store: VerifiedStore) -> _Target:
        """Return what the store's embedder makes; one that does not know its dimension yet is asked."""
        embedder = store.embedder
        if embedder is None:
            return cls("", 0)
        return cls(embedder.id, embedder.dim or len(embedder.embed_query("dimension")))

    def is_to_change(self, row: SealedRecord) -> bool:
        """Return whether a row is a memory whose vector is missing, or of another model or dimension."""
        is_other = model_of(row.vector) != self.model or dim_of(row.vector) not in (0, self.dim)
        return is_other and audit_facts(row.content).kind in MEMORY_KINDS


def _owners(store: VerifiedStore) -> tuple[list[bytes], int]:
    """Return the owner keys of a store and the number of its rows."""
    with store.reading() as reading:
        leaves = [decode_leaf(store.keys, data) for _, data in reading.snapshot.leaves()]
    return [leaf.owner for leaf in leaves], sum(leaf.count for leaf in leaves)


def _pieces(store: VerifiedStore, owner: bytes, target: _Target) -> Iterator[tuple[int, Made]]:
    """Yield, piece by piece, how many rows of an owner were looked at and the vectors that some of them are to have."""
    after = -1
    while True:
        with store.reading() as reading:
            leaf = read_leaf(store.keys, reading.snapshot, reading.trusted.map_root, owner)
            rows = list(islice(reading.snapshot.owner_rows(owner, after), PIECE))
        if not rows:
            return
        yield len(rows), _made(store, leaf, [verify_seal(store.keys, owner, row) for row in rows], target)
        after = rows[-1].seq


def _made(store: VerifiedStore, leaf: Leaf, rows: list[SealedRecord], target: _Target) -> Made:
    """Return the vectors of these rows that are to be exchanged, from a kept piece or from the embedder."""
    wanted, model = [row for row in rows if target.is_to_change(row)], target.model
    if not model or not wanted:
        return {row.seq: b"" for row in wanted}
    files = None if store.cache is None else store.cache.files
    suffix = f"{hashlib.sha256(f'{model}/{target.dim}'.encode()).hexdigest()[:16]}.{rows[0].seq}.vectors"
    kept = {} if files is None else _read_piece(files.read(leaf, _MAGIC, suffix), model)
    missing = [row for row in wanted if row.seq not in kept]
    if missing:
        kept |= dict(zip((row.seq for row in missing), _embedded(store, missing), strict=True))
        if files is not None:
            files.write(leaf, _MAGIC, suffix, _write_piece(kept, model))
    return {row.seq: kept[row.seq] for row in wanted}


def _embedded(store: VerifiedStore, rows: list[SealedRecord]) -> list[bytes]:
    return store.vectors_of([decode(row.content).text for row in rows])


def _write_piece(made: Made, model: str) -> bytes:
    items = (_ITEM.pack(seq, len(vector)) + vector for seq, vector in made.items())
    return bytes([len(model)]) + model.encode("ascii") + b"".join(items)


def _read_piece(data: bytes | None, model: str) -> Made:
    """Return the vectors of a kept piece; nothing if it is of another model."""
    head = bytes([len(model)]) + model.encode("ascii")
    if data is None or not data.startswith(head):
        return {}
    made: Made = {}
    at = len(head)
    while at < len(data):
        seq, size = _ITEM.unpack_from(data, at)
        at += _ITEM.size + size
        made[seq] = data[at - size : at]
    return made


def _writer(store: VerifiedStore, target: _Target, made: Made) -> Callable[[Transaction, Reading], tuple[int, int]]:
    """Return what puts the vectors in place: a full check, then every row sealed anew.

    Rows that were written meanwhile are embedded then; not by a remote embedder, which nobody waits for in a transaction.
    """

    def build(transaction: Transaction, reading: Reading) -> tuple[int, int]:
        report, tally = examine(store, reading.snapshot, ())
        if not report.ok:
            raise IntegrityError("the store does not verify and was left as it is; run 'wtree audit'", reason="audit_failed")
        changed = left = 0

        def vector_of(row: SealedRecord) -> bytes:
            nonlocal changed, left
            if not target.is_to_change(row):
                return row.vector
            vector = made.get(row.seq)
            if vector is None and is_remote(store.embedder):
                left += 1
                return b""
            changed += 1
            return _embedded(store, [row])[0] if vector is None else vector

        about = json.dumps({"model": target.model}, sort_keys=True).encode()
        rewrite(transaction, reading, tally, Op.REINDEX, about, vector_of=vector_of)
        return changed, left

    return build


def _drop(store: VerifiedStore, owners: list[bytes]) -> None:
    if store.cache is not None:
        for owner in owners:
            store.cache.files.drop(owner, "*.vectors")
