"""The one store contract over every engine."""

from __future__ import annotations

from pathlib import Path

import pytest

from witnesstree.stores.base import Store
from witnesstree.stores.ram import RamStore
from witnesstree.stores.sqlite import SqliteStore
from witnesstree.testing.store_contract import StoreContract
from witnesstree.types.batch import Batch


class TestRamStore(StoreContract):
    """The reference."""

    def create(self, genesis: Batch) -> Store:
        """In this process."""
        return RamStore("ram:", genesis)

    def reopen(self, store: Store) -> Store:
        """It can't be left."""
        return store

    def another(self, store: Store) -> Store:
        """It is shared as it is."""
        return store


class TestSqliteStore(StoreContract):
    """The embedded default."""

    @pytest.fixture(autouse=True)
    def folder(self, tmp_path: Path) -> None:
        """Keep the file in this test's folder."""
        self.path = str(tmp_path / "contract.db")

    def create(self, genesis: Batch) -> Store:
        """A new file."""
        SqliteStore.create(self.path, genesis)
        return SqliteStore(self.path)

    def reopen(self, store: Store) -> Store:
        """The same file again."""
        store.close()
        return SqliteStore(self.path)

    def another(self, store: Store) -> Store:
        """A second pair of connections."""
        return SqliteStore(self.path)
