"""Where benchmarks build stores: a temporary folder with a home of its own; a store is built once in a run and shared."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from bench.corpus import EnglishCorpus, parts

BATCH = 5_000
ROOT = Path(__file__).resolve().parent.parent
MIXED = {"user-100": 100, "user-500": 500, "user-2000": 2_000, "user-10000": 10_000, "user-50000": 50_000}
CHAT_ROWS = 50_000
CHAT_TURNS = 100
MANY = {f"user-{number:03d}": 2_000 for number in range(100)}


class Workshop:
    """A temporary folder. ``WITNESSTREE_HOME`` points into it while it is open, so that no real key or anchor is touched."""

    def __init__(self) -> None:
        """Make the folder."""
        self.folder = Path(tempfile.mkdtemp(prefix="witnesstree-bench-"))
        self.corpus = EnglishCorpus()
        self._samples: dict[str, dict[str, list[str]]] = {}
        self._home_before = os.environ.get("WITNESSTREE_HOME")
        os.environ["WITNESSTREE_HOME"] = str(self.folder / "home")

    def __enter__(self) -> Self:
        """Return the workshop itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Remove everything."""
        if self._home_before is None:
            del os.environ["WITNESSTREE_HOME"]
        else:
            os.environ["WITNESSTREE_HOME"] = self._home_before
        shutil.rmtree(self.folder)

    def path(self, name: str) -> str:
        """Return the path of a store."""
        return str(self.folder / f"{name}.db")

    def store(self, name: str, owners: Mapping[str, int]) -> tuple[str, dict[str, list[str]]]:
        """Return path and up to 1,000 texts per owner of a store with these owners, built at first use."""
        from witnesstree import Memory

        if name not in self._samples:
            samples: dict[str, list[str]] = {}
            with Memory.open(self.path(name)) as memory:
                for user, rows in owners.items():
                    for size in parts(rows, BATCH):
                        texts = self.corpus.texts(size)
                        memory.add(texts, user=user)
                        samples[user] = texts[:1000]
            self._samples[name] = samples
        return self.path(name), self._samples[name]

    def mixed(self) -> tuple[str, dict[str, list[str]]]:
        """Return the store whose owners have 100 to 50,000 rows."""
        return self.store("mixed", MIXED)

    def many(self) -> tuple[str, dict[str, list[str]]]:
        """Return the store of 200,000 rows: 100 owners of 2,000."""
        return self.store("many", MANY)

    def chats(self) -> tuple[str, list[str]]:
        """Return path and texts of the store of one owner with 50,000 rows in sessions of 100 turns."""
        from witnesstree import Memory, Message

        texts: list[str] = []
        with Memory.open(self.path("chats"), user="one") as memory:
            for size in parts(CHAT_ROWS, BATCH):
                turns = self.corpus.texts(size)
                memory.add([Message(turn, session=f"chat {(len(texts) + n) // CHAT_TURNS}") for n, turn in enumerate(turns)])
                texts += turns
        return self.path("chats"), texts

    def drop_caches(self) -> None:
        """Remove every view cache."""
        shutil.rmtree(self.folder / "home" / "cache", ignore_errors=True)

    def child(self, module: str, *arguments: str) -> dict[str, Any]:
        """Run a module in a fresh interpreter and return the JSON that it prints."""
        command = [sys.executable, "-m", module, *arguments]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        return dict(json.loads(done.stdout))
