"""Sealed files in the user's cache folder, one owner's data each: view caches give a warm start without trusting the folder.

A file is AES-256-GCM under a key that follows from the owner's erase epoch. The epoch rests only in the store and is replaced at
each erasure, so that older cache files, on any machine, can't be read any more.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from pathlib import Path
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from witnesstree.anchors.state import make_private_folder
from witnesstree.errors import StoreError
from witnesstree.flow.view import View
from witnesstree.proof.digest import Leaf
from witnesstree.proof.keys import StoreKeys
from witnesstree.proof.mac import hmac_sha256
from witnesstree.types.limits import CACHE_MIN_ROWS

VIEW_MAGIC: Final = b"WTC1"
_NONCE_BYTES: Final = 12
CACHE_MIN_CHANGE: Final = 1000


class SealedFiles:
    """The sealed files of one store: what was derived from an owner's rows and is gone once something of them is erased."""

    def __init__(self, folder: Path, keys: StoreKeys) -> None:
        """Use ``folder``; it is made when the first file is written."""
        self._folder = folder / keys.store_id.hex()
        self._keys = keys

    def _path(self, owner: bytes, suffix: str) -> Path:
        return self._folder / f"{hmac_sha256(self._keys.cache, owner)[:16].hex()}.{suffix}"

    def _key(self, epoch: bytes) -> bytes:
        return hmac_sha256(self._keys.cache, b"epoch" + epoch)

    def read(self, leaf: Leaf, magic: bytes, suffix: str) -> bytes | None:
        """Return what was written for an owner, or None if there is nothing that can be opened under the leaf's epoch."""
        try:
            data = self._path(leaf.owner, suffix).read_bytes()
        except OSError:
            return None
        header = magic + leaf.owner + hashlib.sha256(leaf.epoch).digest()
        start = len(header) + _NONCE_BYTES
        if len(data) < start or data[: len(header)] != header:
            return None
        try:
            return AESGCM(self._key(leaf.epoch)).decrypt(data[len(header) : start], memoryview(data)[start:], header)
        except InvalidTag:
            return None

    def write(self, leaf: Leaf, magic: bytes, suffix: str, data: bytes) -> bool:
        """Write a file of an owner, whole or not at all; return whether it was (a full disk is no error here)."""
        header = magic + leaf.owner + hashlib.sha256(leaf.epoch).digest()
        nonce = secrets.token_bytes(_NONCE_BYTES)
        sealed = AESGCM(self._key(leaf.epoch)).encrypt(nonce, data, header)
        path = self._path(leaf.owner, suffix)
        draft = path.with_name(f"{path.name}.{os.getpid()}.new")
        try:
            make_private_folder(self._folder.parent)
            make_private_folder(self._folder)
            descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(header + nonce + sealed)
            os.replace(draft, path)
        except (OSError, StoreError):
            draft.unlink(missing_ok=True)
            return False
        return True

    def drop(self, owner: bytes, suffix: str = "*") -> None:
        """Remove an owner's files.

        Args:
            owner: 16-byte owner key.
            suffix: only files of this suffix; a pattern.

        Raises:
            StoreError: one is there and can't be removed.
        """
        pattern = self._path(owner, suffix)
        try:
            for path in pattern.parent.glob(pattern.name):
                path.unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(f"the cache files {pattern} can't be removed", reason="cache_failed") from error


class ViewCache:
    """The cached views of one store."""

    def __init__(self, folder: Path, keys: StoreKeys) -> None:
        """Use ``folder``; it is made when the first file is written."""
        self.files = SealedFiles(folder, keys)
        self._keys = keys

    def load(self, leaf: Leaf, *, quarantine: bool) -> View | None:
        """Return the cached view of an owner, or None if there is none that can be opened under the leaf's epoch."""
        opened = self.files.read(leaf, VIEW_MAGIC, "view")
        if opened is None:
            return None
        split = 4 + int.from_bytes(opened[:4], "big")
        try:
            return View.load(self._keys, leaf, opened[4:split], memoryview(opened)[split:], quarantine=quarantine)
        except (KeyError, ValueError, TypeError, IndexError):
            return None  # written by another version of this program

    def save(self, view: View) -> None:
        """Write an owner's view if it is large and changed enough to be worth it; a full disk is no error here."""
        count = view.count
        if count < CACHE_MIN_ROWS or view.withheld or abs(count - view.saved_rows) < max(CACHE_MIN_CHANGE, count // 20):
            return
        head, arrays = view.dump()
        if self.files.write(view.leaf, VIEW_MAGIC, "view", len(head).to_bytes(4, "big") + head + arrays):
            view.saved_rows = count

    def drop(self, owner: bytes) -> None:
        """Remove every file of an owner.

        Raises:
            StoreError: one is there and can't be removed.
        """
        self.files.drop(owner)
