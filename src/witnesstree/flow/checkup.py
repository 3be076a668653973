"""The operator's look at a home and a store: what is in order, what is not, what to do; and the two acts that need a person.

A checkup never stops at the first finding, and it opens the store without its anchor, so that it can speak about stores that no
verb would open.
"""

from __future__ import annotations

import json
import stat
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from witnesstree.errors import Error, InputError, LogError
from witnesstree.flow.audit import system_record
from witnesstree.flow.forget import tombstone
from witnesstree.flow.head import TrustedHead, verify_head
from witnesstree.flow.home import Home
from witnesstree.flow.ingest import mark_of
from witnesstree.flow.opening import Terms, open_verified
from witnesstree.flow.transaction import Transaction
from witnesstree.flow.verified import Clock, Reading, VerifiedStore
from witnesstree.proof.keys import MasterKey, StoreKeys
from witnesstree.proof.seal import verify_seal
from witnesstree.stores import engine_version, open_store, place_exists, place_of
from witnesstree.stores.base import Store
from witnesstree.types.principal import SYSTEM_PARTITION
from witnesstree.types.record import Record
from witnesstree.types.settings import Settings
from witnesstree.types.trust import Kind, Op
from witnesstree.types.wire import decode


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at: whether it is in order, what was found, and what to do if it is not."""

    name: str
    ok: bool
    message: str
    remedy: str = ""

    def to_dict(self) -> dict[str, object]:
        """Return the check in plain JSON types."""
        return asdict(self)


def check_home(settings: Settings) -> Iterator[Check]:
    """Yield what is found about a home's folders, key and libraries."""
    yield _guarded("engine", _check_engine)
    try:
        home = Home.at(settings)
    except Error as error:
        yield Check("home", False, str(error), "make its parent writable, or set WITNESSTREE_HOME to another folder")
        return
    yield _check_folder("state folder", settings.state)
    if settings.cache.exists():
        yield _check_folder("cache folder", settings.cache)
    yield _guarded("key", lambda: _check_key(home))


def _guarded(name: str, look: Callable[[], Check]) -> Check:
    try:
        return look()
    except Error as error:
        return Check(name, False, str(error))


def _check_engine() -> Check:
    version, is_new_enough = engine_version("sqlite:///any")
    return Check("engine", is_new_enough, version, "" if is_new_enough else "upgrade the package 'apsw'")


def _check_folder(name: str, folder: Path) -> Check:
    mode = stat.S_IMODE(folder.stat().st_mode)
    if mode & 0o077:
        return Check(name, False, f"{folder} is open to others (mode {mode:04o})", f"chmod 700 {folder}")
    return Check(name, True, str(folder))


def _check_key(home: Home) -> Check:
    if not home.keyring.has_key():
        path = home.keyring.path_of()
        return Check("key", False, f"there is no key {path}", "wtree init, or wtree init --phrase - with the recovery phrase")
    key = home.keyring.load()
    what = "a reader's key, which can check and not write" if key.signer is None else "a writer's key"
    where = "handed in by the environment" if home.keyring.is_given else str(home.keyring.path_of())
    return Check("key", True, f"{where}, {what}")


def check_store(url: str, home: Home) -> Iterator[Check]:
    """Yield what is found about a store and what its home remembers of it; an unfinished erasure is finished on the way."""
    place = place_of(url)
    pinned = home.pinned(place)
    if not place_exists(url):
        yield Check("place", False, f"there is no store at {place}", "" if pinned is None else _GONE)
        return
    try:
        store = open_store(url)
    except Error as error:
        yield Check("place", False, str(error), "" if pinned is None else _GONE)
        return
    try:
        yield from _check_schema(store)
        with store.read() as snapshot:
            store_id = snapshot.head().store_id
        yield from _check_open_store(store, store_id, home, pinned)
    except Error as error:
        yield Check("store", False, str(error), "wtree audit says more; what wtree repair can't rebuild needs wtree restore")
    finally:
        store.close()


def _check_schema(store: Store) -> Iterator[Check]:
    problems = list(store.problems(deep=False))
    for problem in problems:
        yield Check("schema", False, problem, "wtree audit, then wtree repair; chmod 600 where a mode is meant")
    if not problems:
        yield Check(
            "schema", True, "exactly what this program made (rows are checked by each read, all of them by 'wtree audit')"
        )


_GONE = "put the right file back, or wtree restore a backup; if it was removed on purpose: wtree doctor --forget-place"


def _check_open_store(store: Store, store_id: bytes, home: Home, pinned: bytes | None) -> Iterator[Check]:
    if pinned is not None and pinned != store_id:
        yield Check("place", False, f"{store.place} holds another store than the one that belongs there", _GONE)
    elif pinned is not None and store.is_backup:
        yield Check("place", False, f"a backup lies at {store.place} in the place of the store", _GONE)
    else:
        known = "a backup, read-only" if store.is_backup else "known" if pinned is not None else "not yet known to this home"
        yield Check("place", True, f"{store.place}, {known}")
    master, trusted = None, None
    try:
        master, trusted = _open_head(store, store_id, home)
    except Error as error:
        yield Check("head", False, str(error), "put back the right key, or wtree restore a backup")
    if trusted is None or master is None:
        return
    yield Check("head", True, f"its signature verifies: SIZE {trusted.size} ROOT {trusted.state.root.hex()}")
    if store.is_backup:
        return
    yield _check_anchor(store, home, StoreKeys.derive(master, store_id), trusted, is_pinned=pinned is not None)
    yield _check_scrub(store)


def _open_head(store: Store, store_id: bytes, home: Home) -> tuple[MasterKey, TrustedHead]:
    """Return the key under which the store's own head verifies, and the head; the anchor plays no part."""
    refused: LogError | None = None
    for master in home.keyring.candidates(store_id):
        with store.read() as snapshot:
            try:
                return master, verify_head(StoreKeys.derive(master, store_id), snapshot, ())
            except LogError as error:
                refused = refused or error
    raise refused or LogError("no key is left to check the head with", reason="head_invalid")


def _check_anchor(store: Store, home: Home, keys: StoreKeys, trusted: TrustedHead, *, is_pinned: bool) -> Check:
    accept = (
        "find out why; put the newest copy back. Only if this state is the one you want:"
        f" wtree doctor --store {store.place} --accept-head {trusted.size} {trusted.state.root.hex()}"
    )
    missing = home.missing_anchor(keys.store_id)
    if missing is not None:
        if not is_pinned:
            return Check("anchor", True, "none yet; it is made when the store is used first")
        return Check("anchor", False, f"the anchor {missing} is missing, so a rollback could not be seen", accept)
    try:
        anchor = home.open_anchor(keys)
        try:
            known = anchor.heads()
        finally:
            anchor.close()
        with store.read() as snapshot:
            verify_head(keys, snapshot, known)
    except Error as error:
        return Check("anchor", False, str(error), accept)
    behind = trusted.size - min((head.size for head in known), default=0)
    return Check("anchor", True, "agrees" if not behind else f"{behind} entries behind the store; it follows at the next use")


def _check_scrub(store: Store) -> Check:
    if store.read_only:
        return Check("erasure", True, "the store is read-only")
    if store.scrub():
        return Check("erasure", True, "no bytes of erased memories are waiting to be overwritten")
    return Check(
        "erasure", False, "a reader still holds bytes of erased memories", "close other programs, run wtree doctor again"
    )


def forget_place(url: str, home: Home, typed: str) -> str:
    """Forget which store belongs at a place, after the operator typed the place.

    Raises:
        InputError: something else was typed, or nothing is known about the place.
    """
    place = place_of(url)
    if home.pinned(place) is None:
        raise InputError(f"no store is remembered at {place}", field="store")
    if typed != place:
        raise InputError(f"to forget the place, type it exactly: {place}", field="place")
    home.unpin(place)
    return place


@dataclass(frozen=True, slots=True)
class Accepted:
    """What the operator accepted: the head after it was logged, and how many erased memories were taken out again."""

    size: int
    root: str
    erased_again: int


def accept_head(url: str, home: Home, *, size: int, root: str, clock: Clock) -> Accepted:
    """Take the store's present head for the right one, log that, and let the anchor remember it.

    What this home remembers as erased is erased again, since an older copy brings it back.

    Args:
        url: the store.
        home: keys and anchor.
        size: number of log entries, as the operator typed it.
        root: root of the log in hex, as the operator typed it.
        clock: gives the present instant.

    Raises:
        InputError: the store has another head. IntegrityError: its head or a row does not verify.
        AccessError: this home can't sign.
    """
    store = open_verified(url, home, Terms(use_anchor=False, create=False, clock=clock))
    try:
        marks = home.state.marks()

        def build(transaction: Transaction, reading: Reading) -> int:
            state = reading.trusted.state
            if (size, root.lower()) != (state.size, state.root.hex()):
                raise InputError(
                    "the store has another head than the one typed; take SIZE and ROOT from 'wtree doctor'", field="accept_head"
                )
            about = json.dumps({"size": size, "root": root.lower()}, sort_keys=True).encode()
            note = system_record(Op.ACCEPT_HEAD, about, at=transaction.at)
            transaction.put(store.owner_key(SYSTEM_PARTITION), note)
            return _erase_again(store, transaction, reading, marks)

        erased, _ = store.write(build)
        with store.reading() as reading:
            state = reading.trusted.state
        anchor = home.open_anchor(store.keys)
        anchor.replace(state)
        anchor.close()
        if erased:
            store.scrub()
        return Accepted(state.size, state.root.hex(), erased)
    finally:
        store.close()


def _erase_again(store: VerifiedStore, transaction: Transaction, reading: Reading, marks: set[bytes]) -> int:
    """Erase every row that this home remembers as erased; return how many memories that were."""
    found: dict[bytes, list[tuple[int, bytes, Record]]] = {}
    for row in reading.snapshot.all_rows() if marks else ():
        verify_seal(store.keys, row.owner, row)
        record = decode(row.content)
        if record.kind not in (Kind.TOMBSTONE, Kind.SYSTEM) and mark_of(store, record.id) in marks:
            found.setdefault(row.owner, []).append((row.seq, row.seal, record))
    for owner, rows in found.items():
        again = {mark_of(store, value) for _, _, record in rows for value in (record.id, record.fingerprint)}
        transaction.erase(owner, [(seq, seal) for seq, seal, _ in rows])
        stone = tombstone("operator", again, [seq for seq, _, _ in rows], at=transaction.at)
        transaction.put(owner, stone)
        if store.cache is not None:
            store.cache.drop(owner)
    return len({record.id for rows in found.values() for _, _, record in rows})
