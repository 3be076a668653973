"""The user's state folder: which place holds which store, and marks of what was erased. Both live outside every store."""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from witnesstree.errors import StoreError


class StateFolder:
    """Files under the state folder; the folder is made private when it is made."""

    def __init__(self, folder: Path) -> None:
        """Use ``folder``, making it if needed.

        Raises:
            StoreError: it can't be made or is open to other users.
        """
        self.folder = folder
        for name in ("", "keys", "anchors", "places", "tombstones"):
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

    def places(self) -> list[tuple[str, str]]:
        """Return (place, store id in hex) of every pin."""
        found = []
        for path in sorted((self.folder / "places").iterdir()):
            if path.suffix == "":
                store_id, _, place = path.read_text("utf-8", "surrogateescape").partition("\n")
                found.append((place.rstrip("\n"), store_id))
        return found

    def _marks_path(self, store_id: bytes) -> Path:
        return self.folder / "tombstones" / f"{store_id.hex()}.marks"

    def add_marks(self, store_id: bytes, marks: Iterable[bytes]) -> None:
        """Append 16-byte keyed marks of what is being erased, durably, before the erasure is committed."""
        descriptor = os.open(self._marks_path(store_id), os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
        try:
            os.write(descriptor, b"".join(marks))
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def marks(self) -> set[bytes]:
        """Return every mark of every store of this home."""
        found: set[bytes] = set()
        for path in (self.folder / "tombstones").glob("*.marks"):
            data = path.read_bytes()
            found.update(data[i : i + 16] for i in range(0, len(data) - 15, 16))
        return found

    @contextmanager
    def locked(self, name: str) -> Iterator[None]:
        """Hold a lock that processes of this home share (creating a store or a key happens under it)."""
        descriptor = os.open(self.folder / f"{name}.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


def make_private_folder(folder: Path) -> None:
    """Make a folder that only its user can enter.

    Raises:
        StoreError: it can't be made.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"the folder {folder} can't be made: {error.strerror}", reason="state_failed") from error


def write_private(path: Path, data: bytes) -> None:
    """Write a 0600 file whole or not at all, durably."""
    draft = path.with_name(f"{path.name}.{os.getpid()}.new")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        try:
            os.write(descriptor, data)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(draft, path)
        folder = os.open(path.parent, os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)
    except OSError as error:
        raise StoreError(f"{path} can't be written: {error.strerror}", reason="state_failed") from error
