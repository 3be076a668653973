"""The default anchor: a small file in the user's state folder, two slots, monotone under a lock (``docs/spec/checkpoint.md``)."""

from __future__ import annotations

import fcntl
import hmac
import os
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from witnesstree.anchors.base import AnchorState
from witnesstree.errors import LogError, StoreError

MAGIC: Final = b"WTA1"
SLOT_BYTES: Final = 2048
SYNC_EVERY_S: Final = 1.0
_HEADER: Final = struct.Struct(">4s16sQ32sB")


class FileAnchor:
    """The head of one store, in one file that all processes of the user share.

    Two slots of 2 KiB each: a writer overwrites the older one, so that a torn write leaves the other.
    """

    def __init__(self, path: Path, mac: Callable[[bytes], bytes], store_id: bytes) -> None:
        """Open or make the file.

        Args:
            path: the file.
            mac: gives the 32-byte MAC of a slot; the key stays with the caller.
            store_id: 16 bytes.

        Raises:
            StoreError: it can't be opened.
        """
        self.path = path
        self._mac = mac
        self._store_id = store_id
        self._dirty = False
        self._timer: threading.Timer | None = None
        self._heads: tuple[AnchorState, ...] = ()
        self._threads = threading.Lock()
        self._seen: tuple[bytes, list[AnchorState | None], AnchorState | None] = (b"", [None, None], None)
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            try:
                self._file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
            except OSError:
                raise StoreError(f"the anchor {path} can't be opened: {error.strerror}", reason="anchor_failed") from error
        with suppress(OSError):
            if os.fstat(self._file).st_size < 2 * SLOT_BYTES:
                os.ftruncate(self._file, 2 * SLOT_BYTES)

    def heads(self) -> tuple[AnchorState, ...]:
        """Return the newest good slot, if there is one."""
        state = self.read()
        if not self._heads or self._heads[0] is not state:
            self._heads = () if state is None else (state,)
        return self._heads

    def read(self) -> AnchorState | None:
        """Return the newest good slot."""
        try:
            data = os.pread(self._file, 2 * SLOT_BYTES, 0)
            seen, _, newest = self._seen
            return newest if data == seen else self._taken_in(data)
        except OSError as error:
            raise StoreError(f"the anchor {self.path} can't be read: {error.strerror}", reason="anchor_failed") from error

    def _taken_in(self, data: bytes) -> AnchorState | None:
        """Decode both slots from bytes that were not seen before, and return the newest."""
        slots = [self._decode(data[:SLOT_BYTES]), self._decode(data[SLOT_BYTES:])]
        if data.strip(b"\x00") and slots == [None, None]:
            raise LogError(f"the anchor {self.path} is damaged; run 'wtree doctor'", reason="anchor_invalid")
        return self._remember(data, slots)

    def _remember(self, data: bytes, slots: list[AnchorState | None]) -> AnchorState | None:
        first, second = slots
        newest = first if second is None or (first is not None and first.size >= second.size) else second
        self._seen = (data, slots, newest)
        return newest

    def _decode(self, slot: bytes) -> AnchorState | None:
        try:
            magic, store_id, size, root, count = _HEADER.unpack_from(slot)
        except struct.error:
            return None
        end = _HEADER.size + 32 * count
        body, mac = slot[:end], slot[end : end + 32]
        if magic != MAGIC or store_id != self._store_id:
            return None
        if not hmac.compare_digest(mac, self._mac(body)):
            return None
        peaks = tuple(body[i : i + 32] for i in range(_HEADER.size, end, 32))
        return AnchorState(size, root, peaks)

    def _encode(self, state: AnchorState) -> bytes:
        head = _HEADER.pack(MAGIC, self._store_id, state.size, state.root, len(state.frontier))
        body = head + b"".join(state.frontier)
        return (body + self._mac(body)).ljust(SLOT_BYTES, b"\x00")

    @contextmanager
    def _locked(self) -> Iterator[None]:
        try:
            with self._threads:
                if self._file < 0:
                    raise StoreError(f"the anchor {self.path} is closed", reason="anchor_failed")
                fcntl.flock(self._file, fcntl.LOCK_EX)
                try:
                    yield
                finally:
                    fcntl.flock(self._file, fcntl.LOCK_UN)
        except OSError as error:
            raise StoreError(f"the anchor {self.path} can't be written: {error.strerror}", reason="anchor_failed") from error

    def advance(self, state: AnchorState) -> None:
        """Remember a later head in the older slot; sync at most once a second."""
        with self._locked():
            current = self.read()
            if current is not None and current.size >= state.size:
                if current.size == state.size and current.root != state.root:
                    raise LogError("the anchor remembers another history of the same length", reason="fork")
                return
            older = 1 if current is not None and self._seen[1][0] is current else 0
            self._put(older, state)
            if current is None:
                self._sync()
            elif self._timer is None:
                self._timer = threading.Timer(SYNC_EVERY_S, self._sync_later)
                self._timer.daemon = True
                self._timer.start()

    def _put(self, slot: int, state: AnchorState) -> None:
        """Overwrite one slot and remember what both hold now."""
        data, slots, _ = self._seen
        fresh = self._encode(state)
        os.pwrite(self._file, fresh, slot * SLOT_BYTES)
        whole = data.ljust(slot * SLOT_BYTES, b"\x00")
        whole = whole[: slot * SLOT_BYTES] + fresh + whole[(slot + 1) * SLOT_BYTES :]
        self._remember(whole, [state if number == slot else slots[number] for number in (0, 1)])
        self._dirty = True

    def replace(self, state: AnchorState) -> None:
        """Remember this head in both slots."""
        with self._locked():
            self._remember(b"\x00" * 2 * SLOT_BYTES, [None, None])
            for slot in (0, 1):
                self._put(slot, state)
            self._sync()

    def _sync(self) -> None:
        os.fsync(self._file)
        self._dirty = False

    def _sync_later(self) -> None:
        """Make durable what was written within the last second (runs in a timer's thread)."""
        with self._threads:
            self._timer = None
            if self._file >= 0 and self._dirty:
                with suppress(OSError):
                    self._sync()

    def close(self) -> None:
        """Sync and close the file."""
        with self._threads:
            if self._timer is not None:
                self._timer.cancel()
            if self._file < 0:
                return
            if self._dirty:
                self._sync()
            os.close(self._file)
            self._file = -1
