"""One entry in the operating system's keyring, through the package ``keyring``, which is imported only where this is used."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from witnesstree.errors import InputError, StoreError, UnsupportedError

SCHEME: Final = "keyring"
SERVICE: Final = "witnesstree"
DEFAULT_NAME: Final = "master"


def entry_name(given: str) -> str | None:
    """Return the name of the keyring entry that a key argument means, or None if it means something else.

    Raises:
        InputError: ``keyring:`` without a name.
    """
    if given == SCHEME:
        return DEFAULT_NAME
    scheme, separator, name = given.partition(":")
    if scheme != SCHEME or not separator:
        return None
    if not name or name.strip() != name or not name.isprintable():
        raise InputError("write keyring, or keyring:NAME with the name of an entry", field="key")
    return name


class OsKeyring:
    """The entry of one name under the service ``witnesstree``."""

    def __init__(self, name: str) -> None:
        """Name the entry; nothing is read yet."""
        self.name = name
        self._found: str | None = None

    def read(self) -> str | None:
        """Return what the entry holds, or None if there is none; what was found once is not asked for again.

        Raises:
            UnsupportedError: the package is missing. StoreError: the keyring fails, is locked, or there is none.
        """
        if self._found is None:
            with self._driver() as driver:
                self._found = driver.get_password(SERVICE, self.name)
        return self._found

    def write(self, text: str) -> None:
        """Keep ``text`` in the entry, and see that it is there.

        Raises:
            UnsupportedError, StoreError: as for ``read``; also if the keyring forgets what it was given.
        """
        with self._driver() as driver:
            driver.set_password(SERVICE, self.name, text)
            kept = driver.get_password(SERVICE, self.name)
        if kept != text:
            raise StoreError("the system's keyring does not keep what it is given; use a key file", reason="keyring_failed")
        self._found = text

    @contextmanager
    def _driver(self) -> Iterator[Any]:
        try:
            driver: Any = importlib.import_module("keyring")
            errors: Any = importlib.import_module("keyring.errors")
        except ImportError:
            raise UnsupportedError(
                "keys in the system's keyring need the package 'keyring'; run: pip install 'witnesstree[keyring]'",
                reason="package_missing",
            ) from None
        try:
            yield driver
        except errors.NoKeyringError:
            raise StoreError(
                "this machine has no keyring that can be used; set one up, or use a key file", reason="keyring_failed"
            ) from None
        except Exception as error:  # a backend may raise anything; its text may span lines or hold the secret
            raise StoreError(
                f"the system's keyring failed ({type(error).__name__}); unlock it and try again, or use a key file",
                reason="keyring_failed",
            ) from None
