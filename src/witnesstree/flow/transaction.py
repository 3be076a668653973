"""One verb, one transaction: rows, log entries, owner map and signed head are built together and appended together."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from witnesstree.anchors.base import AnchorState
from witnesstree.errors import LogError, UnsupportedError
from witnesstree.flow.head import TrustedHead
from witnesstree.proof.checkpoint import sign_checkpoint
from witnesstree.proof.digest import LEAF_FORMAT, Leaf, decode_leaf, element
from witnesstree.proof.encoding import commit_entry, row_entry
from witnesstree.proof.keys import Signer, StoreKeys
from witnesstree.proof.merkle import EMPTY_ROOT, extend, frontier_root
from witnesstree.proof.ownermap import EMPTY, find_slot, leaf_slot, update_map
from witnesstree.proof.seal import seal_row
from witnesstree.types.batch import Batch, Head
from witnesstree.types.principal import SYSTEM_PARTITION
from witnesstree.types.record import Record, SealedRecord
from witnesstree.types.wire import encode


@dataclass
class _OwnerChange:
    leaf: Leaf
    added: list[int]
    removed: list[int]
    last_seq: int
    new_epoch: bool = False


class MapReader(Protocol):
    """The part of a store's snapshot that holds the owner map."""

    def node(self, path: bytes) -> bytes | None:
        """Return one node."""

    def leaf(self, owner: bytes) -> bytes | None:
        """Return an encoded leaf."""


def read_leaf(keys: StoreKeys, snapshot: MapReader, map_root: bytes, owner: bytes) -> Leaf:
    """Return an owner's leaf, proven to be the signed one; an owner without rows has an empty leaf.

    Raises:
        LogError: the path to it, or the leaf itself, is not what was signed.
    """
    slot = find_slot(map_root, owner, snapshot.node)
    stored = snapshot.leaf(owner)
    if slot is None:
        return Leaf(owner, 0, 0, 0, bytes(16), bytes(16))
    if stored is None or leaf_slot(owner, stored) != slot:
        raise LogError("an owner's leaf is not the signed one; run 'wtree audit'", reason="map_altered")
    if stored[:1] > bytes([LEAF_FORMAT]):
        raise UnsupportedError("the store was written by a newer version; upgrade this program", reason="newer_format")
    return decode_leaf(keys, stored)


class Transaction:
    """Collects what one verb writes on top of a verified head."""

    def __init__(
        self,
        keys: StoreKeys,
        signer: Signer,
        snapshot: MapReader,
        trusted: TrustedHead,
        *,
        at: int,
        known: Callable[[bytes], Leaf | None] = lambda owner: None,
    ) -> None:
        """Begin on top of a verified head.

        Args:
            keys: the store's keys.
            signer: signs the new head.
            snapshot: reads the owner map inside the same store transaction.
            trusted: the head that the batch builds on and the store must still have.
            at: instant of the transaction, microseconds UTC.
            known: gives an owner's leaf if it was verified at this head already.
        """
        self.at = at
        self.leaves_after: dict[bytes, Leaf] = {}
        self._known = known
        self._keys = keys
        self._signer = signer
        self._snapshot = snapshot
        self._trusted = trusted
        self._map_root = trusted.map_root
        self._entries: list[tuple[int, bytes]] = []
        self._rows: list[SealedRecord] = []
        self._erased: list[int] = []
        self._owners: dict[bytes, _OwnerChange] = {}
        self._reset = False

    def rewrite(self) -> None:
        """Drop every stored row, leaf and node first: what follows is the whole new content (rotation, repair)."""
        self._reset = True
        self._map_root = EMPTY
        self._snapshot = EmptyMap()
        self._known = lambda owner: None

    @property
    def next_seq(self) -> int:
        """The log position that the next row will have."""
        return self._trusted.size + len(self._entries)

    def _owner(self, owner: bytes) -> _OwnerChange:
        change = self._owners.get(owner)
        if change is None:
            leaf = self._known(owner) or read_leaf(self._keys, self._snapshot, self._map_root, owner)
            change = self._owners[owner] = _OwnerChange(leaf, [], [], leaf.last_seq)
        return change

    def put(self, owner: bytes, record: Record, before: bytes | None = None, *, vector: bytes = b"") -> int:
        """Add a row with its log entry; return its log position.

        Args:
            owner: 16-byte owner key.
            record: what the row says.
            before: content of the version it follows.
            vector: what the embedder made of its text.
        """
        seq = self.next_seq
        content = encode(record)
        entry = row_entry(
            seq,
            record.op,
            at=record.recorded_at,
            salt=record.salt,
            actor=record.actor,
            target=record.id + record.version.to_bytes(4, "big"),
            owner=owner,
            before=before,
            content=content,
        )
        self._entries.append((seq, entry))
        self.keep(owner, seq, content, vector)
        change = self._owners[owner]
        change.last_seq = max(change.last_seq, seq)
        return seq

    def keep(self, owner: bytes, seq: int, content: bytes, vector: bytes) -> None:
        """Store a row (again) under an entry that exists already; only after ``rewrite``."""
        row = seal_row(self._keys, owner, seq, content, vector)
        change = self._owner(owner)
        self._rows.append(row)
        change.added.append(element(self._keys, row.seal))
        change.last_seq = max(change.last_seq, seq)

    def erase(self, owner: bytes, rows: Iterable[tuple[int, bytes]]) -> None:
        """Remove rows, given as (log position, seal), and give the owner a new erase epoch."""
        change = self._owner(owner)
        change.new_epoch = True
        for seq, seal in rows:
            self._erased.append(seq)
            change.removed.append(element(self._keys, seal))

    def entry_at(self, seq: int) -> bytes:
        """Return the encoded log entry of a row that this transaction added."""
        return self._entries[seq - self._trusted.size][1]

    @property
    def is_empty(self) -> bool:
        """Whether nothing was written."""
        return not self._entries

    def batch(self) -> tuple[Batch, TrustedHead]:
        """Return the finished batch and the head after it."""
        leaves = {}
        for owner, change in self._owners.items():
            epoch = secrets.token_bytes(16) if change.new_epoch or not change.leaf.last_seq else b""
            moved = change.leaf.moved(
                added=change.added,
                removed=change.removed,
                last_seq=change.last_seq,
                nonce=secrets.token_bytes(16),
                epoch=epoch,
            )
            self.leaves_after[owner] = moved
            leaves[owner] = moved.encode(self._keys)
        root, nodes = update_map(self._map_root, leaves, self._snapshot.node)
        commit_seq = self.next_seq
        commit = commit_entry(commit_seq, self.at, before=self._trusted.map_root, after=root)
        state = self._trusted.state
        inner, size = extend(state.frontier, state.size, (entry for _, entry in self._entries))
        peaks, size = extend(inner, size, [commit])
        log_root = frontier_root(peaks)
        note = sign_checkpoint(self._keys.store_id, size, log_root, self._signer)
        head = Head(self._keys.store_id, note, b"".join(inner))
        batch = Batch(
            expected=self._trusted.head,
            head=head,
            entries=[*self._entries, (commit_seq, commit)],
            rows=self._rows,
            erased=self._erased,
            leaves=leaves,
            nodes=nodes,
            reset=self._reset,
        )
        return batch, TrustedHead(head, AnchorState(size, log_root, tuple(peaks)), root)


def genesis(keys: StoreKeys, signer: Signer, first: Record) -> tuple[Batch, TrustedHead]:
    """Return the first batch of a new store: one system row that says how it came to be."""
    transaction = Transaction(keys, signer, EmptyMap(), beginning(keys.store_id), at=first.recorded_at)
    transaction.put(keys.owner_key(SYSTEM_PARTITION), first)
    return transaction.batch()


def beginning(store_id: bytes) -> TrustedHead:
    """Return the head of a store that does not exist yet."""
    return TrustedHead(Head(store_id, b"", b""), AnchorState(0, EMPTY_ROOT, ()), EMPTY)


class EmptyMap:
    """The owner map of a store that does not exist yet."""

    def node(self, path: bytes) -> bytes | None:
        """There is no node."""
        return None

    def leaf(self, owner: bytes) -> bytes | None:
        """There is no leaf."""
        return None
