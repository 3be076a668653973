"""What stores in one SQLite file have in common: version, import, journals, raw access."""

from __future__ import annotations

import importlib
from importlib import metadata
from pathlib import Path
from typing import ClassVar

from witnesstree_conformance import __version__
from witnesstree_conformance.protocol import Place, Subject
from witnesstree_conformance.sql_raw import SqliteRaw


class SqliteFile(Subject):
    """A store in one SQLite file. A subclass names the package, if there is one, and says where its entries lie."""

    tiers: ClassVar[tuple[str, ...]] = ("A", "B")
    package: ClassVar[str] = ""
    """The distribution that is measured; empty if the store is the suite's own."""
    module: ClassVar[str] = ""
    """What is imported before phases are forked."""
    file: ClassVar[str]
    """The name of the file in the store's folder."""
    journals: ClassVar[tuple[str, ...]] = ("-journal",)
    """Endings of the files that SQLite keeps beside it."""
    raw_access: ClassVar[type[SqliteRaw]] = SqliteRaw

    @classmethod
    def version(cls) -> str:
        """Return the package's version, or the suite's for a store of its own."""
        return metadata.version(cls.package) if cls.package else __version__

    @classmethod
    def load(cls) -> None:
        """Import the package."""
        if cls.module:
            importlib.import_module(cls.module)

    @classmethod
    def database(cls, place: Place) -> Path:
        """Return the store's file."""
        return place.store / cls.file

    @classmethod
    def sidecars(cls, place: Place) -> list[Path]:
        """Return the journals."""
        return [Path(f"{cls.database(place)}{ending}") for ending in cls.journals]

    def raw(self, place: Place, tier: str) -> SqliteRaw:
        """Return the attacker's access."""
        raw = self.raw_access(place, tier, self.database(place))
        raw.spared = self.sidecars(place) if tier == "A" else []
        return raw
