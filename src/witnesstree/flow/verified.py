"""An open store behind its checks: every read sees a verified head and a verified view, every write builds on them."""

from __future__ import annotations

import gc
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Protocol, TypeVar

from witnesstree.anchors.base import Anchor, AnchorState
from witnesstree.errors import ConflictError, InputError, IntegrityError, LogError, SealError, StoreError
from witnesstree.flow.cache import ViewCache
from witnesstree.flow.head import TrustedHead, verify_head
from witnesstree.flow.quarantine import horizon
from witnesstree.flow.transaction import Transaction, read_leaf
from witnesstree.flow.vectors import dim_of, embedded
from witnesstree.flow.view import View
from witnesstree.proof.digest import Leaf
from witnesstree.proof.keys import MasterKey, StoreKeys
from witnesstree.providers.base import Embedder
from witnesstree.stores.base import Snapshot, Store
from witnesstree.types.batch import Batch
from witnesstree.types.instant import present
from witnesstree.types.limits import MAX_VIEWS

T = TypeVar("T")
CONFLICT_RETRIES = 16
LOOKS = (False, False, True)
"""Looks at a store whose head no key fits; the last one counts."""


@contextmanager
def _uncollected() -> Iterator[None]:
    """Hold the cyclic garbage collector while very many objects are made that will live: it would visit each again and again."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class Clock(Protocol):
    """Gives the present instant as an aware datetime."""

    def __call__(self) -> datetime:
        """Return now."""


@dataclass(frozen=True, slots=True)
class Written:
    """What is known after a write: log size, and whether the anchor could not follow."""

    size: int
    anchor_behind: bool


class Reading:
    """One consistent look at the store: views of owners, and the rows behind hits."""

    def __init__(self, owner: VerifiedStore, snapshot: Snapshot, trusted: TrustedHead, *, for_writing: bool = False) -> None:
        """Read through an open snapshot whose head was verified; a view with withheld rows is no ground to write on."""
        self._for_writing = for_writing
        self.store = owner
        self.snapshot = snapshot
        self.trusted = trusted

    def view(self, partition: str) -> View:
        """Return the caught-up, complete view of a partition.

        Raises:
            SealError, LogError: its rows or its path in the owner map do not verify.
        """
        return self.view_of(self.store.owner_key(partition))

    def view_of(self, owner: bytes) -> View:
        """Return the view of an owner key; see ``view``."""
        view = self.store.view_in(self.snapshot, self.trusted, owner)
        if self._for_writing and view.withheld:
            raise SealError(
                f"{view.withheld} memories are withheld; nothing is written on top of them: repair, or restore a backup",
                reason="withheld",
            )
        return view


class VerifiedStore:
    """A store, its keys, its anchor and the views that this process verified. Safe to use from many threads."""

    def __init__(
        self,
        store: Store,
        master: MasterKey,
        *,
        store_id: bytes,
        anchor: Anchor | None,
        cache: Callable[[StoreKeys], ViewCache] | None,
        clock: Clock,
        quarantine: bool,
        embedder: Embedder | None = None,
        rotated: Callable[[], list[MasterKey]] = list,
        adopt: Callable[[MasterKey], None] = lambda key: None,
    ) -> None:
        """Wrap an open store.

        Args:
            store: where the bytes are.
            master: the store's master key.
            store_id: 16 bytes that the head must carry.
            anchor: where the head is remembered elsewhere, if anywhere.
            cache: makes the view cache for a set of keys, if there is to be one.
            clock: gives the present instant.
            quarantine: withhold bad rows instead of raising.
            embedder: turns texts into vectors, if there is one.
            rotated: returns keys that may have taken the place of ``master`` meanwhile.
            adopt: told which of them proved to be the store's key.
        """
        self.store = store
        self.anchor = anchor
        self.quarantine = quarantine
        self.embedder = embedder
        self.scrub_pending = False
        self._rotated = rotated
        self._adopt = adopt
        self._store_id = store_id
        self._make_cache = cache
        self._clock = clock
        self._lock = threading.RLock()
        self._pid = os.getpid()
        self._is_closed = False
        self._trusted: TrustedHead | None = None
        self._anchored: tuple[AnchorState, ...] = ()
        self._views: OrderedDict[bytes, View] = OrderedDict()
        self.use_keys(master)

    def use_keys(self, master: MasterKey) -> None:
        """Take a key as the store's key; views made under another one are dropped."""
        self.master = master
        self.keys = StoreKeys.derive(master, self._store_id)
        self.cache = None if self._make_cache is None else self._make_cache(self.keys)
        self._views.clear()
        self._owner_keys: dict[str, bytes] = {}

    def embedder_for(self, view: View) -> Embedder | None:
        """Return the embedder, or None if there is none; vectors of two models or dimensions are never compared.

        Raises:
            InputError: the owner's memories carry vectors of another model or dimension.
        """
        embedder = self.embedder
        if embedder is None or not view.vectors.models:
            return embedder
        if view.vectors.models != {embedder.id}:
            raise self._other_vectors(view, embedder.dim)
        self.refuse_dimension(view, embedder.dim)
        return embedder

    def refuse_dimension(self, view: View, dim: int) -> None:
        """Refuse vectors of another number of components than the owner's have; 0 is no vector.

        Raises:
            InputError: they differ.
        """
        if dim and view.vectors.dim and dim != view.vectors.dim:
            raise self._other_vectors(view, dim)

    def refuse_vectors(self, view: View, vectors: Iterable[bytes]) -> None:
        """Refuse to write vectors that could not be compared with those that an owner has.

        Raises:
            InputError: they, or those of the embedder, are of another model or dimension.
        """
        self.embedder_for(view)
        for dim in {dim_of(vector) for vector in vectors}:
            self.refuse_dimension(view, dim)

    def _other_vectors(self, view: View, dim: int) -> InputError:
        there = ", ".join(sorted(view.vectors.models)) + (f" ({view.vectors.dim} numbers)" if view.vectors.dim else "")
        ours = "" if self.embedder is None else self.embedder.id + (f" ({dim} numbers)" if dim else "")
        return InputError(
            f"these memories have vectors of {there}, not of {ours}; "
            "open with that embedder, or run 'wtree reindex' to have vectors of this one",
            field="embedder",
        )

    def vectors_of(self, texts: Sequence[str]) -> list[bytes]:
        """Return the stored vector of each text; nothing without an embedder.

        Raises:
            ProviderError: the embedder gives something else than one vector a text of its dimension.
        """
        if self.embedder is None or not texts:
            return [b""] * len(texts)
        return embedded(self.embedder, texts)

    def now(self) -> int:
        """Return the present instant, microseconds UTC."""
        return present(self._clock)

    @contextmanager
    def reading(self) -> Iterator[Reading]:
        """Open one verified look at the store.

        Raises:
            LogError, SealError, IndexTamperError: the store is not what was written.
        """
        self._refuse_fork()
        with self._lock:
            for is_last in LOOKS:
                remembered = self._read_anchor()
                with self.store.read() as snapshot:
                    trusted = self._synced(snapshot, remembered, is_last=is_last)
                    if trusted is None:
                        continue
                    yield Reading(self, snapshot, trusted)
                self._follow(trusted.state, remembered)
                return

    @contextmanager
    def looking(self) -> Iterator[tuple[Snapshot, tuple[AnchorState, ...]]]:
        """Open one look at the store that refuses nothing yet, with what the anchor remembers (for audits and copies)."""
        self._refuse_fork()
        with self._lock:
            for is_last in LOOKS:
                remembered = self._read_anchor()
                with self.store.read() as snapshot:
                    with suppress(IntegrityError):
                        if self._synced(snapshot, remembered, is_last=is_last) is None:
                            continue
                    yield snapshot, remembered
                return

    def _synced(self, snapshot: Snapshot, remembered: tuple[AnchorState, ...], *, is_last: bool) -> TrustedHead | None:
        """Return the verified head; None if the look may have begun before the keys were changed twice: look again."""
        try:
            return self.sync(snapshot, remembered)
        except LogError as error:
            if is_last or error.reason != "head_invalid":
                raise
            return None

    def _refuse_fork(self) -> None:
        """Refuse in a child process before any lock is touched: a lock may have been held at the fork."""
        if os.getpid() != self._pid:
            raise StoreError("a memory can't be used across a fork; open it again in the child process", reason="forked")
        if self._is_closed:
            raise StoreError("this memory is closed; open it again", reason="closed")

    def _read_anchor(self) -> tuple[AnchorState, ...]:
        return () if self.anchor is None or self.store.is_backup else self.anchor.heads()

    def _follow(self, state: AnchorState, remembered: tuple[AnchorState, ...]) -> bool:
        """Let the anchor follow a verified head; return whether it could not."""
        if self.anchor is None or self.store.is_backup:
            return False
        if remembered and all(head.size >= state.size for head in remembered):
            return False
        try:
            self.anchor.advance(state)
        except (StoreError, LogError):
            return True  # the write itself is done; a fork in the anchor is refused by the next read
        return False

    def sync(self, snapshot: Snapshot, remembered: tuple[AnchorState, ...]) -> TrustedHead:
        """Return the verified head; it is verified again unless it is the one verified last, under the same anchor.

        Raises:
            LogError: it does not verify, or does not extend what was seen before.
        """
        trusted = self._trusted
        is_anchored = remembered == self._anchored or (trusted is not None and all(r == trusted.state for r in remembered))
        if trusted is not None and is_anchored and snapshot.head() == trusted.head:
            return trusted
        known = remembered if trusted is None else (*remembered, trusted.state)
        try:
            fresh = verify_head(self.keys, snapshot, known)
        except LogError as error:
            if error.reason != "head_invalid":
                raise
            found = self._under_rotated_key(snapshot, known)
            if found is None:
                raise
            fresh = found
        self._trusted, self._anchored = fresh, remembered
        return fresh

    def _under_rotated_key(self, snapshot: Snapshot, known: tuple[AnchorState, ...]) -> TrustedHead | None:
        """Return the head verified under a key that another process rotated to, and take that key up."""
        for master in self._rotated():
            if master.root == self.master.root:
                continue
            keys = StoreKeys.derive(master, self._store_id)
            try:
                fresh = verify_head(keys, snapshot, known)
            except LogError:
                continue
            self.use_keys(master)
            self._adopt(master)
            return fresh
        return None

    def owner_key(self, partition: str) -> bytes:
        """Return the 16-byte owner key of a partition."""
        owner = self._owner_keys.get(partition)
        if owner is None:
            if len(self._owner_keys) > 10_000:
                self._owner_keys.clear()
            owner = self._owner_keys[partition] = self.keys.owner_key(partition)
        return owner

    def view_in(self, snapshot: Snapshot, trusted: TrustedHead, owner: bytes) -> View:
        """Return the view of an owner at a verified head, from memory, from the cache file, or from the rows."""
        view = self._views.get(owner)
        if view is not None and view.checked_root == trusted.map_root:
            self._views.move_to_end(owner)
            return view
        leaf = read_leaf(self.keys, snapshot, trusted.map_root, owner)
        if view is None and self.cache is not None and leaf.count:
            with _uncollected():
                view = self.cache.load(leaf, quarantine=self.quarantine)
        if view is not None and view.withheld:
            view = None
        for attempt in (view, None):
            fresh = attempt or View(self.keys, owner, quarantine=self.quarantine)
            try:
                if fresh.leaf != leaf or not fresh.columns.count:
                    after = fresh.leaf.last_seq if fresh.columns.count else -1
                    with _uncollected():
                        fresh.catch_up(snapshot.owner_rows(owner, after), leaf)
                break
            except IntegrityError:
                self._views.pop(owner, None)
                if attempt is None:
                    raise
        if fresh.withheld:
            fresh.hide_before(horizon(self.keys, snapshot, trusted))
        fresh.checked_root = trusted.map_root
        self._views[owner] = fresh
        while len(self._views) > MAX_VIEWS:
            self._save(self._views.popitem(last=False)[1])
        return fresh

    def write(self, build: Callable[[Transaction, Reading], T], *, master: MasterKey | None = None) -> tuple[T, Written]:
        """Run ``build`` inside one store transaction and append what it wrote, all or nothing.

        Args:
            build: writes into the transaction; it may run again after a conflict.
            master: the key to seal and sign with from this write on (a rotation).

        Returns:
            What ``build`` returned, and the state after the write. If nothing was written, nothing is committed.

        Raises:
            ConflictError: other writers were faster again and again. StoreError: busy, full, read-only.
            AccessError: this home can check and not sign.
        """
        self._refuse_fork()
        for attempt in range(CONFLICT_RETRIES):
            try:
                return self._write_once(build, master)
            except ConflictError as error:
                if error.reason != "head_moved" or attempt == CONFLICT_RETRIES - 1:
                    raise
        raise AssertionError("unreachable")

    def _write_once(self, build: Callable[[Transaction, Reading], T], master: MasterKey | None) -> tuple[T, Written]:
        (master or self.master).require_signer()
        remembered = self._read_anchor_locked()
        after: TrustedHead | None = None
        with self.store.write() as snapshot, self._lock:
            trusted = self.sync(snapshot, remembered)
            key = master or self.master
            keys = StoreKeys.derive(master, self._store_id) if master else self.keys
            known = partial(self._known_leaf, trusted.map_root)
            transaction = Transaction(keys, key.require_signer(), snapshot, trusted, at=self.now(), known=known)
            result = build(transaction, Reading(self, snapshot, trusted, for_writing=True))
            if not transaction.is_empty:
                batch, after = transaction.batch()
                snapshot.append(batch)
        if after is None:
            return result, Written(trusted.size, False)
        with self._lock:
            if master is not None:
                self.use_keys(master)
            if batch.reset:
                self._views.clear()
            if self._trusted is trusted:
                self._trusted = after
                self._take_in(batch, transaction.leaves_after, trusted.map_root, after.map_root)
        behind = self._follow(after.state, remembered)
        if self.scrub_pending:
            with suppress(StoreError):
                self.scrub()
        return result, Written(after.size, behind)

    def _known_leaf(self, map_root: bytes, owner: bytes) -> Leaf | None:
        """Return an owner's leaf if its view was verified at this root."""
        view = self._views.get(owner)
        return view.leaf if view is not None and view.checked_root == map_root and view.leaf.count else None

    def _take_in(self, batch: Batch, leaves: dict[bytes, Leaf], before: bytes, after: bytes) -> None:
        """Let the views that stood at the head before follow what this process has just written."""
        for owner, view in list(self._views.items()):
            if view.checked_root != before:
                continue
            leaf = leaves.get(owner)
            if leaf is None:
                view.checked_root = after
            elif view.withheld:
                del self._views[owner]
            else:
                try:
                    view.catch_up((row for row in batch.rows if row.owner == owner), leaf)
                    view.checked_root = after
                except IntegrityError:
                    del self._views[owner]

    def _read_anchor_locked(self) -> tuple[AnchorState, ...]:
        with self._lock:
            return self._read_anchor()

    def scrub(self) -> bool:
        """Let the store make erased bytes disappear; return whether they are gone."""
        self.scrub_pending = not self.store.scrub()
        return not self.scrub_pending

    def drop_cache(self, partition: str) -> None:
        """Remove a partition's cache file (after an erasure; its key is gone too)."""
        if self.cache is not None:
            self.cache.drop(self.owner_key(partition))

    def _save(self, view: View) -> None:
        if self.cache is not None:
            self.cache.save(view)

    def close(self) -> None:
        """Write caches that are worth it, sync the anchor, close the store."""
        if os.getpid() != self._pid:
            return
        with self._lock:
            for view in self._views.values():
                self._save(view)
            self._views.clear()
            self._is_closed = True
        self.store.close()
        if self.anchor is not None:
            self.anchor.close()
