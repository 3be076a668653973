"""Keys of a home, in files (made once, 0600, outside every store) or the system's keyring; and their recovery phrase."""

from __future__ import annotations

import json
import os
import secrets
import stat
from pathlib import Path

from witnesstree.anchors.state import StateFolder, write_private
from witnesstree.errors import AccessError, ConflictError, InputError, NotFoundError
from witnesstree.flow.os_keyring import SCHEME, OsKeyring, entry_name
from witnesstree.proof.keys import MasterKey
from witnesstree.types.paths import expand

MASTER = "master.key"


class KeyRing:
    """The keys of one home: a master key for every store, or a key of its own for a store whose key was rotated."""

    def __init__(self, state: StateFolder, given: str = "") -> None:
        """Use the key files under ``state``, or the key that was handed in.

        Args:
            state: the home's state folder.
            given: 64 hex digits, a recovery phrase, a path to a key file, ``keyring`` or ``keyring:NAME``, or empty.
        """
        self._state = state
        self._given = given
        name = entry_name(given)
        self._entry = None if name is None else OsKeyring(name)
        self._is_path = bool(given) and name is None and (os.path.sep in given or os.path.exists(given))

    @property
    def is_given(self) -> bool:
        """Whether the key itself, and not the name of its file or keyring entry, was handed in."""
        return bool(self._given) and not self._is_path and self._entry is None

    def path_of(self, store_id: bytes | None = None) -> Path:
        """Return the key file of a store (its own one if there is one), or the master key file; ``keyring:NAME`` for an entry."""
        if self._is_path:
            return Path(expand(self._given))
        folder = self._state.folder / "keys"
        own = folder / f"{store_id.hex()}.key" if store_id else folder / MASTER
        master = folder / MASTER if self._entry is None else Path(f"{SCHEME}:{self._entry.name}")
        return own if store_id and own.exists() else master

    def has_key(self) -> bool:
        """Return whether this home has a key already."""
        if self._entry is not None:
            return self._entry.read() is not None
        return bool(self._given) or self.path_of().exists()

    def load(self, store_id: bytes | None = None) -> MasterKey:
        """Return the key of a store.

        Raises:
            NotFoundError: there is none; the message names the file.
            AccessError: the file can be read by others.
            InputError: it is not a key.
            UnsupportedError, StoreError: the system's keyring can't be used.
        """
        path = self.path_of(store_id)
        if self._given and not self._is_path:
            own = self._state.folder / "keys" / f"{store_id.hex()}.key" if store_id else None
            if own is None or not own.exists():
                return MasterKey.from_entropy(parse_entropy(self._given) if self._entry is None else self._entry_entropy())
            path = own
        return read_key_file(path)

    def candidates(self, store_id: bytes) -> list[MasterKey]:
        """Return the store's key, and the one of a rotation that lies between commit and renaming.

        That one is read first: if it is renamed meanwhile, it is found under its new name.
        """
        try:
            following = [read_key_file(self.next_path(store_id))]
        except NotFoundError:
            following = []
        return [self.load(store_id), *following]

    def next_path(self, store_id: bytes) -> Path:
        """Return where the key of a rotation lies until the rotation is committed."""
        return self._state.folder / "keys" / f"{store_id.hex()}.key.next"

    def adopt(self, store_id: bytes, key: MasterKey) -> None:
        """Make the key of a rotation that was cut off after its commit the store's key; one that is going on does it itself."""
        with self._state.locked_now("rotation") as is_mine:
            if is_mine:
                self.promote(store_id, key)

    def promote(self, store_id: bytes, key: MasterKey) -> None:
        """Make the key of a committed rotation the store's key; the caller holds the lock ``rotation``."""
        path = self.next_path(store_id)
        if path.exists() and read_key_file(path).root == key.root:
            os.replace(path, path.with_suffix(""))

    def ensure(self) -> bool:
        """Make a master key if the home has none; return whether one was made."""
        if self.has_key():
            return False
        with self._state.locked("keys"):
            if self.has_key():
                return False
            self._write_master(secrets.token_bytes(32))
            return True

    def _write_master(self, entropy: bytes) -> None:
        if self._entry is not None:
            self._entry.write(entropy.hex())
        else:
            self.write(entropy, None, self._state.folder / "keys" / MASTER)

    def _entry_entropy(self) -> bytes:
        found = self._entry.read() if self._entry is not None else None
        if found is None:
            raise NotFoundError(
                f"the system's keyring has no entry for {self.path_of()}; put it back, or run 'wtree init --phrase -'",
                reason="key_missing",
            )
        return parse_entropy(found)

    def write(self, entropy: bytes, naming: bytes | None, path: Path) -> None:
        """Write a writer's key file."""
        about = {"format": 1, "entropy": entropy.hex()} | ({"naming": naming.hex()} if naming else {})
        write_private(path, json.dumps(about).encode())

    def restore(self, phrase: str) -> None:
        """Write the master key that a recovery phrase spells.

        Raises:
            ConflictError: the home has a key already. InputError: not a phrase.
        """
        entropy = parse_entropy(phrase)
        with self._state.locked("keys"):
            if self.has_key():
                raise ConflictError(f"{self.path_of()} exists already; move it away first", reason="key_exists")
            self._write_master(entropy)

    def phrase(self) -> str:
        """Return the 24-word recovery phrase (BIP-39 word list) of the master key.

        Raises:
            AccessError: this home holds a reader's key, which has none.
        """
        about = _read_json(self.path_of()) if self._entry is None else {"entropy": self._entry_entropy().hex()}
        if "entropy" not in about:
            raise AccessError("this home holds a reader's key; only a writer's key has a recovery phrase", reason="reader_key")
        from mnemonic import Mnemonic

        return str(Mnemonic("english").to_mnemonic(bytes.fromhex(about["entropy"])))

    def reader_key(self, store_id: bytes) -> bytes:
        """Return the key file for somebody who may check and read this home's stores and never sign."""
        key = self.load(store_id)
        about = {"format": 1, "root": key.root.hex(), "naming": key.naming.hex(), "public_key": key.public_key.hex()}
        return json.dumps(about).encode()


def parse_entropy(text: str) -> bytes:
    """Return the 32 bytes that 64 hex digits or a 24-word phrase spell.

    Raises:
        InputError: neither; the text itself is not repeated in the message.
    """
    words = text.split()
    if len(words) == 1 and len(text) == 64:
        try:
            return bytes.fromhex(text)
        except ValueError:
            pass
    if len(words) == 24:
        from mnemonic import Mnemonic

        try:
            return bytes(Mnemonic("english").to_entropy(words))
        except (ValueError, LookupError):
            pass
    raise InputError("the key is neither 64 hex digits nor an intact 24-word recovery phrase", field="key")


def read_key_file(path: Path) -> MasterKey:
    """Return the key in a file.

    Raises:
        NotFoundError, AccessError, InputError: see ``KeyRing.load``.
    """
    about = _read_json(path)
    try:
        naming = bytes.fromhex(about["naming"]) if "naming" in about else None
        if "entropy" in about:
            return MasterKey.from_entropy(bytes.fromhex(about["entropy"]), naming)
        return MasterKey(bytes.fromhex(about["root"]), naming or b"", bytes.fromhex(about["public_key"]), None)
    except (KeyError, ValueError, TypeError):
        raise InputError(f"{path} is not a key file of this program", field="key") from None


def _read_json(path: Path) -> dict[str, str]:
    try:
        if stat.S_IMODE(os.stat(path).st_mode) & 0o077:
            raise AccessError(f"the key {path} can be read by others; run chmod 600 on it", reason="key_exposed")
        about = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise NotFoundError(
            f"the key {path} is missing; put it back, or run 'wtree init --phrase' with the recovery phrase",
            reason="key_missing",
        ) from None
    except (OSError, ValueError):
        raise InputError(f"the key {path} can't be read", field="key") from None
    if not isinstance(about, dict):
        raise InputError(f"{path} is not a key file of this program", field="key")
    return about
