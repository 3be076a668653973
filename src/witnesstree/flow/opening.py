"""Open or create a store at a place: keys, pins, anchor and head are checked before the first verb."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from witnesstree.anchors.base import Anchor
from witnesstree.errors import ConflictError, InputError, IntegrityError, LogError, NotFoundError
from witnesstree.flow.audit import system_record
from witnesstree.flow.cache import ViewCache
from witnesstree.flow.forget import settle_cut_off
from witnesstree.flow.head import TrustedHead
from witnesstree.flow.home import Home
from witnesstree.flow.transaction import genesis
from witnesstree.flow.verified import Clock, VerifiedStore
from witnesstree.proof.keys import MasterKey, StoreKeys
from witnesstree.providers.base import Embedder
from witnesstree.stores import create_store, open_store, place_exists, place_of
from witnesstree.stores.base import Store
from witnesstree.types.batch import Batch
from witnesstree.types.instant import present
from witnesstree.types.trust import Op


def utc_now() -> datetime:
    """Return the present instant."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Terms:
    """How a store is opened.

    Args:
        quarantine: withhold rows that do not verify instead of raising.
        use_anchor: remember the head outside the store; without it a rollback can't be seen.
        create: make the store if nothing is at an unpinned place.
        clock: gives the present instant.
        examine: open also what does not verify, so that it can be audited and repaired; every other verb still refuses.
        embedder: turns texts into vectors, if there is one.
    """

    quarantine: bool = False
    use_anchor: bool = True
    create: bool = True
    clock: Clock = utc_now
    examine: bool = False
    embedder: Embedder | None = None


def open_verified(url: str, home: Home, terms: Terms) -> VerifiedStore:
    """Open the store at a place, or make it where nothing is and nothing was.

    Raises:
        LogError: the place holds another store, or none any more (``store_replaced``), or its head does not verify.
        InputError: foreign file. NotFoundError: no key, or no store and ``create`` is off.
    """
    place = place_of(url)
    _refuse_keys_beside(place, home)
    pinned = home.pinned(place)
    if not place_exists(url):
        if pinned is not None:
            raise LogError(
                f"the store at {place} is gone; put it back, 'wtree restore' a backup there, or run"
                " 'wtree doctor --forget-place' if it was removed on purpose",
                reason="store_replaced",
            )
        if not terms.create:
            raise NotFoundError(f"there is no store at {place}", reason="no_store")
        with home.state.locked("create"):
            if not place_exists(url):
                _create(url, home, terms.clock)
    return _open_existing(url, place, home, terms)


def _refuse_keys_beside(place: str, home: Home) -> None:
    folder = Path(place).parent
    if folder in (home.keyring.path_of().parent, home.state.folder, home.state.folder.parent):
        raise InputError(
            f"the keys lie in the store's own folder {Path(place).parent}; set WITNESSTREE_HOME to another folder",
            field="key",
        )


def _create(url: str, home: Home, clock: Clock) -> None:
    home.keyring.ensure()
    store_id = secrets.token_bytes(16)
    batch, head = first_batch(home.keyring.load(), store_id, Op.INIT, b"", clock)
    try:
        create_store(url, batch)
    except ConflictError:
        return
    settle(url, home, store_id, head)


def settle(url: str, home: Home, store_id: bytes, head: TrustedHead) -> None:
    """Remember a new store: first its head in an anchor, then its id at its place."""
    anchor = home.open_anchor(StoreKeys.derive(home.keyring.load(), store_id))
    anchor.advance(head.state)
    anchor.close()
    home.pin(place_of(url), store_id)


def first_batch(master: MasterKey, store_id: bytes, op: Op, payload: bytes, clock: Clock) -> tuple[Batch, TrustedHead]:
    """Return the first batch of a new store, which says how it came to be, and the head after it.

    Raises:
        AccessError: there is no signing key. InputError: the clock shows no instant.
    """
    signer = master.require_signer()
    record = system_record(op, payload, at=present(clock))
    return genesis(StoreKeys.derive(master, store_id), signer, record)


def _open_existing(url: str, place: str, home: Home, terms: Terms) -> VerifiedStore:
    pinned = home.pinned(place)
    try:
        store = open_store(url)
    except InputError as error:
        if pinned is None:
            raise
        raise LogError(f"{place} no longer holds the store that belongs there: {error}", reason="store_replaced") from error
    try:
        return wrap(store, home, terms, pinned=pinned)
    except BaseException:
        store.close()
        raise


def wrap(store: Store, home: Home, terms: Terms, *, pinned: bytes | None) -> VerifiedStore:
    """Put an open store behind its checks and verify its head once.

    Raises:
        LogError: another store than the pinned one, a backup in its place, or a head that does not verify.
    """
    store_id = _id_of(store, pinned=pinned, examine=terms.examine)
    if len(store_id) != 16 or (pinned is not None and pinned != store_id):
        raise LogError(
            f"{store.place} holds another store than the one that belongs there; put the right one back,"
            " or run 'wtree doctor --forget-place' if that was on purpose",
            reason="store_replaced",
        )
    if pinned is not None and store.is_backup:
        raise LogError(f"a backup lies at {store.place} in the place of the store; use 'wtree restore'", reason="store_replaced")
    if not home.keyring.has_key():
        raise NotFoundError(
            f"the key {home.keyring.path_of()} is missing; put it back, or run 'wtree init --phrase'",
            reason="key_missing",
        )
    master = home.keyring.load(store_id)
    anchor = _anchor(home, store, master, store_id, is_pinned=pinned is not None) if terms.use_anchor else None
    try:
        return _settled(
            _verified(store, master, anchor, home, terms, store_id=store_id), home, terms, is_pinned=pinned is not None
        )
    except BaseException:
        if anchor is not None:
            anchor.close()
        raise


def _verified(
    store: Store, master: MasterKey, anchor: Anchor | None, home: Home, terms: Terms, *, store_id: bytes
) -> VerifiedStore:
    return VerifiedStore(
        store,
        master,
        store_id=store_id,
        anchor=anchor,
        cache=partial(ViewCache, home.settings.cache),
        clock=terms.clock,
        quarantine=terms.quarantine,
        embedder=terms.embedder,
        rotated=partial(home.keyring.candidates, store_id),
        adopt=partial(home.keyring.adopt, store_id),
    )


def _settled(verified: VerifiedStore, home: Home, terms: Terms, *, is_pinned: bool) -> VerifiedStore:
    """Verify the head once, finish what a dead process left open, and remember the place."""
    if terms.examine:
        return verified
    with verified.reading() as reading:
        state = reading.trusted.state
    if not verified.store.is_backup:
        settle_cut_off(verified, home.state)
        if home.second is not None and verified.anchor is not None:
            verified.anchor.advance(state)  # a second anchor that is new, or was away, catches up
        if not is_pinned or home.second is not None:
            home.pin(verified.store.place, verified.keys.store_id)
    return verified


def _id_of(store: Store, *, pinned: bytes | None, examine: bool) -> bytes:
    """Return the id that the store shows; the pinned one if it is to be examined and can't show any."""
    try:
        with store.read() as snapshot:
            shown = snapshot.head().store_id
        return pinned if examine and pinned is not None else shown
    except IntegrityError:
        if not examine or pinned is None:
            raise
        return pinned


def _anchor(home: Home, store: Store, master: MasterKey, store_id: bytes, *, is_pinned: bool) -> Anchor | None:
    if store.is_backup:
        return None
    missing = home.missing_anchor(store_id) if is_pinned else None
    if missing is not None:
        raise LogError(
            f"the anchor {missing} is missing, so a rollback could not be seen; put it back or run 'wtree doctor'",
            reason="anchor_missing",
        )
    anchor = home.open_anchor(StoreKeys.derive(master, store_id))
    if is_pinned and not anchor.heads():
        anchor.close()
        path = home.state.anchor_path(store_id)
        raise LogError(
            f"the anchor {path} is empty, so a rollback could not be seen; run 'wtree doctor'", reason="anchor_missing"
        )
    return anchor


def memory_store(make: Callable[[str, Batch], Store], terms: Terms) -> VerifiedStore:
    """Return a store in memory with keys of its own that die with it."""
    master = MasterKey.from_entropy(os.urandom(32))
    store_id = secrets.token_bytes(16)
    store = make("ram:", first_batch(master, store_id, Op.INIT, b"", terms.clock)[0])
    return VerifiedStore(
        store,
        master,
        store_id=store_id,
        anchor=None,
        cache=None,
        clock=terms.clock,
        quarantine=terms.quarantine,
        embedder=terms.embedder,
    )
