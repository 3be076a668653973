"""Folders outside every store: which place holds which store, where its head is remembered, and marks of what was erased."""

from __future__ import annotations

import fcntl
import hashlib
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from witnesstree.errors import StoreError

MARK_BYTES: Final = 16


class AnchorFolder:
    """Pins (which store belongs at a place) and anchors (its last head). A second one may lie on another disk or machine."""

    def __init__(self, folder: Path) -> None:
        """Use ``folder``, making what belongs in it.

        Raises:
            StoreError: it can't be made or is open to other users.
        """
        self.folder = folder
        for name in ("anchors", "places"):
            make_private_folder(folder / name)

    def anchor_path(self, store_id: bytes) -> Path:
        """Return where the anchor of a store lies."""
        return self.folder / "anchors" / f"{store_id.hex()}.anchor"

    def _pin_path(self, place: str) -> Path:
        return self.folder / "places" / hashlib.sha256(place.encode(errors="surrogateescape")).hexdigest()[:32]

    def pinned(self, place: str) -> bytes | None:
        """Return the store id that belongs at a place."""
        try:
            text = self._pin_path(place).read_text("utf-8", "surrogateescape")
        except FileNotFoundError:
            return None
        return bytes.fromhex(text.partition("\n")[0])

    def pin(self, place: str, store_id: bytes) -> None:
        """Remember which store belongs at a place."""
        write_private(self._pin_path(place), f"{store_id.hex()}\n{place}\n".encode(errors="surrogateescape"))

    def unpin(self, place: str) -> None:
        """Forget which store belongs at a place (an operator's act)."""
        self._pin_path(place).unlink(missing_ok=True)


class StateFolder(AnchorFolder):
    """Files under the state folder; the folder is made private when it is made."""

    def __init__(self, folder: Path) -> None:
        """Use ``folder``, making it if needed.

        Raises:
            StoreError: it can't be made or is open to other users.
        """
        make_private_folder(folder)
        super().__init__(folder)
        for name in ("keys", "tombstones"):
            make_private_folder(folder / name)

    def places(self) -> list[tuple[str, str]]:
        """Return (place, store id in hex) of every pin."""
        found = []
        for path in sorted((self.folder / "places").iterdir()):
            if path.suffix == "":
                store_id, _, place = path.read_text("utf-8", "surrogateescape").partition("\n")
                found.append((place.rstrip("\n"), store_id))
        return found

    def _second_path(self, store_id: bytes) -> Path:
        return self.folder / "anchors" / f"{store_id.hex()}.second"

    def has_second(self, store_id: bytes) -> bool:
        """Return whether a second anchor was ever used for a store: it must be there whenever one is asked for again."""
        return self._second_path(store_id).exists()

    def note_second(self, store_id: bytes, folder: Path) -> None:
        """Remember that a second anchor is used, and where."""
        write_private(self._second_path(store_id), os.fsencode(folder) + b"\n")

    def _marks_path(self, store_id: bytes) -> Path:
        return self.folder / "tombstones" / f"{store_id.hex()}.marks"

    def begin_erasure(self, store_id: bytes, owner: bytes, marks: list[bytes]) -> PendingErasure:
        """Remember, durably and before the erasure is committed, the 16-byte keyed marks of what is being erased."""
        path = self.folder / "tombstones" / f"{store_id.hex()}.{secrets.token_hex(8)}.pending"
        draft = path.with_suffix(".new")
        descriptor = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        try:
            # It gets its name when it is locked and whole: nobody takes it for one of a dead process.
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            write_all(descriptor, owner + b"".join(marks))
            os.fsync(descriptor)
            os.rename(draft, path)
        except OSError as error:
            os.close(descriptor)
            draft.unlink(missing_ok=True)
            raise StoreError(f"{path} can't be written: {error.strerror}", reason="state_failed") from error
        return PendingErasure(path, self._marks_path(store_id), descriptor, owner, marks)

    def cut_off_erasures(self, store_id: bytes) -> Iterator[PendingErasure]:
        """Yield erasures whose process died before it could say whether they were committed."""
        for path in (self.folder / "tombstones").glob(f"{store_id.hex()}.*.pending"):
            try:
                descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
            except FileNotFoundError:
                continue
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                os.close(descriptor)
                continue
            data = os.pread(descriptor, os.fstat(descriptor).st_size, 0)
            erasure = PendingErasure(path, self._marks_path(store_id), descriptor, data[:16], _split_marks(data[16:]))
            if erasure.marks:
                yield erasure
            else:
                erasure.abandon()

    def marks(self) -> set[bytes]:
        """Return every mark of every store of this home; an erasure that was begun counts."""
        found: set[bytes] = set()
        folder = self.folder / "tombstones"
        for path in folder.glob("*.pending"):
            # One that vanishes meanwhile was confirmed first: its marks are in the file that is read below.
            with suppress(FileNotFoundError):
                found.update(_split_marks(path.read_bytes()[16:]))
        for path in folder.glob("*.marks"):
            found.update(_split_marks(path.read_bytes()))
        return found

    def _scrub_path(self, store_id: bytes) -> Path:
        return self.folder / "tombstones" / f"{store_id.hex()}.scrub"

    def note_scrub(self, store_id: bytes) -> None:
        """Remember that erased bytes may still lie in the store's files."""
        write_private(self._scrub_path(store_id), b"")

    def is_scrub_due(self, store_id: bytes) -> bool:
        """Return whether erased bytes may still lie in the store's files."""
        return self._scrub_path(store_id).exists()

    def clear_scrub(self, store_id: bytes) -> None:
        """The bytes are gone."""
        self._scrub_path(store_id).unlink(missing_ok=True)

    @contextmanager
    def locked(self, name: str) -> Iterator[None]:
        """Hold a lock that processes of this home share (creating a store or a key happens under it)."""
        descriptor = os.open(self.folder / f"{name}.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    @contextmanager
    def locked_now(self, name: str) -> Iterator[bool]:
        """Hold such a lock if nobody else does; give whether it is held."""
        descriptor = os.open(self.folder / f"{name}.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                is_mine = True
            except BlockingIOError:
                is_mine = False
            yield is_mine
        finally:
            os.close(descriptor)


@dataclass(frozen=True, slots=True)
class PendingErasure:
    """An erasure between "is to be" and "is": its file is locked while its process lives."""

    path: Path
    marks_path: Path
    descriptor: int
    owner: bytes
    marks: list[bytes]

    def confirm(self) -> None:
        """The erasure is committed: its marks stay for good."""
        target = os.open(self.marks_path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(target, fcntl.LOCK_EX)
            whole = os.fstat(target).st_size // MARK_BYTES * MARK_BYTES  # what a torn append left behind is written over
            os.lseek(target, whole, os.SEEK_SET)
            write_all(target, b"".join(self.marks))
            os.ftruncate(target, whole + MARK_BYTES * len(self.marks))
            os.fsync(target)
        finally:
            os.close(target)
        self.abandon()

    def abandon(self) -> None:
        """Forget about it: it was not committed, or it is remembered elsewhere by now."""
        self.path.unlink(missing_ok=True)
        os.close(self.descriptor)

    def release(self) -> None:
        """Leave it for whoever opens the store next: it is not known whether it was committed."""
        os.close(self.descriptor)


def write_all(descriptor: int, data: bytes) -> None:
    """Write every byte, however many the system takes at a time."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _split_marks(data: bytes) -> list[bytes]:
    return [data[i : i + MARK_BYTES] for i in range(0, len(data) - MARK_BYTES + 1, MARK_BYTES)]


def make_private_folder(folder: Path) -> None:
    """Make a folder that only its user can enter.

    Raises:
        StoreError: it can't be made.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        mode = stat.S_IMODE(folder.stat().st_mode)
    except OSError as error:
        raise StoreError(f"the folder {folder} can't be made: {error.strerror}", reason="state_failed") from error
    if mode & 0o022:
        raise StoreError(f"the folder {folder} can be written by others; run chmod 700 on it", reason="state_exposed")


def write_private(path: Path, data: bytes) -> None:
    """Write a 0600 file whole or not at all, durably."""
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}.new")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        try:
            write_all(descriptor, data)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(draft, path)
        folder = os.open(path.parent, os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)
    except OSError as error:
        raise StoreError(f"{path} can't be written: {error.strerror}", reason="state_failed") from error
