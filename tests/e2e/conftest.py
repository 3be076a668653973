"""The real command in a process of its own, in the home of the test."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from witnesstree import Memory
from witnesstree.cli.main import run

COMMAND = [sys.executable, "-m", "witnesstree.cli.main"]
LIMIT_S = 120
USER = "mira"


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output as JSON."""
        return json.loads(self.out)


@dataclass
class Wtree:
    """Runs ``wtree`` with the store and user of the test."""

    folder: Path
    ids: dict[str, str] = field(default_factory=dict)

    @property
    def store(self) -> Path:
        """The store's file."""
        return self.folder / "agent.db"

    @property
    def environment(self) -> dict[str, str]:
        """What a command finds in its environment."""
        return os.environ | {"WITNESSTREE_STORE": str(self.store), "WITNESSTREE_USER": USER, "PYTHONUTF8": "0"}

    def __call__(self, *words: str, stdin: str | bytes = b"", **environment: str) -> Done:
        """Run one command; ``{tmp}``, ``{store}`` and the names in ``ids`` are filled in."""
        done = subprocess.run(
            [*COMMAND, *(self.filled(word) for word in words)],
            input=stdin.encode() if isinstance(stdin, str) else stdin,
            env=self.environment | environment,
            cwd=self.folder,
            capture_output=True,
            timeout=LIMIT_S,
            check=False,
        )
        assert b"Traceback" not in done.stderr, done.stderr.decode()
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode(errors="backslashreplace"))

    def here(self, *words: str, stdin: str = "", **environment: str) -> Done:
        """Run one command inside this process, where other tests have shown it in a process of its own (this saves time)."""
        out, err = io.StringIO(), io.StringIO()
        typed = io.TextIOWrapper(io.BytesIO(stdin.encode()))
        with (
            mock.patch.dict(os.environ, self.environment | environment),
            mock.patch.object(sys, "stdin", typed),
            redirect_stdout(out),
            redirect_stderr(err),
        ):
            code = run([self.filled(word) for word in words])
        return Done(code, out.getvalue(), err.getvalue())

    def filled(self, word: str) -> str:
        """Return a word with its placeholders filled in."""
        for name, value in {"tmp": str(self.folder), "store": str(self.store), **self.ids}.items():
            word = word.replace(f"{{{name}}}", value)
        return word

    def open(self, **options: Any) -> Memory:
        """Open the same memory in this process."""
        return Memory.open(str(self.store), user=USER, **options)


@pytest.fixture
def wtree(home: Path, tmp_path: Path) -> Wtree:
    """A command line in an empty folder."""
    folder = tmp_path / "place"
    folder.mkdir()
    return Wtree(folder)


@pytest.fixture
def filled(wtree: Wtree) -> Wtree:
    """A command line whose store holds a few memories, with a proof, a backup and a chat file beside it."""
    with wtree.open() as memory:
        said = [
            {
                "role": "user",
                "content": "The rent is 865 euros, due on the third.",
                "session": "s1",
                "at": "2026-02-03T09:00:00Z",
            },
            {"role": "tool", "content": "Pear juice costs 3 euros.", "name": "web_search", "session": "s2"},
            {"role": "user", "content": "My sister lives in Porto.", "session": "s2"},
        ]
        rent, pear, sister = memory.add(said).episodes
        held = memory.add("A held line about Lisbon.", hold=True).episodes[0]
        wtree.ids = {"rent": rent, "pear": pear, "sister": sister, "held": held, "none": "0" * 32, "key": memory.verifier_key}
        (wtree.folder / "rent.proof").write_text(memory.prove(rent), encoding="utf-8")
        memory.backup(str(wtree.folder / "old.backup"))
    (wtree.folder / "chat.jsonl").write_text('{"role": "user", "content": "A new line."}\n', encoding="utf-8")
    asked = '{"question": "How much is the rent?", "texts": ["rent is 865"]}\n'
    (wtree.folder / "questions.jsonl").write_text(asked, encoding="utf-8")
    return wtree
