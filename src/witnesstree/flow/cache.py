"""Sealed view caches in the user's cache folder: a warm start without trusting the folder.

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

MAGIC: Final = b"WTC1"
CACHE_MIN_CHANGE: Final = 1000


class ViewCache:
    """The cache files of one store."""

    def __init__(self, folder: Path, keys: StoreKeys) -> None:
        """Use ``folder``; it is made when the first file is written."""
        self._folder = folder / keys.store_id.hex()
        self._keys = keys

    def _path(self, owner: bytes) -> Path:
        return self._folder / f"{hmac_sha256(self._keys.cache, owner)[:16].hex()}.view"

    def _key(self, epoch: bytes) -> bytes:
        return hmac_sha256(self._keys.cache, b"epoch" + epoch)

    def load(self, leaf: Leaf, *, quarantine: bool) -> View | None:
        """Return the cached view of an owner, or None if there is none that can be opened under the leaf's epoch."""
        try:
            data = self._path(leaf.owner).read_bytes()
        except OSError:
            return None
        epoch_hash = hashlib.sha256(leaf.epoch).digest()
        header, nonce, sealed = data[:52], data[52:64], memoryview(data)[64:]
        if header != MAGIC + leaf.owner + epoch_hash or len(nonce) != 12:
            return None
        try:
            opened = AESGCM(self._key(leaf.epoch)).decrypt(nonce, sealed, header)
        except InvalidTag:
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
        header = MAGIC + view.owner + hashlib.sha256(view.leaf.epoch).digest()
        nonce = secrets.token_bytes(12)
        sealed = AESGCM(self._key(view.leaf.epoch)).encrypt(nonce, len(head).to_bytes(4, "big") + head + arrays, header)
        path = self._path(view.owner)
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
            return
        view.saved_rows = count

    def drop(self, owner: bytes) -> None:
        """Remove an owner's cache file.

        Raises:
            StoreError: it is there and can't be removed.
        """
        try:
            self._path(owner).unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(f"the cache file {self._path(owner)} can't be removed", reason="cache_failed") from error
