"""Starts the children: makes the environment of each peer, and talks to the processes that run in them."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from bench.figures import Figure
from bench.workshop import ROOT
from witnesstree.providers import make_embedder

REQUIREMENTS = ROOT / "requirements" / "peers"
BATCH = 500
OFFLINE = {"HF_HUB_OFFLINE": "1", "MEM0_TELEMETRY": "False", "DO_NOT_TRACK": "1"}


class PeerError(Exception):
    """A peer could not be installed, or failed at work."""


@dataclass(frozen=True)
class System:
    """A memory in one mode."""

    name: str
    mode: str
    module: str
    arguments: tuple[str, ...] = ()
    peer: str = ""
    takes_vectors: bool = False

    @property
    def title(self) -> str:
        """Name, version and mode, as tables show them."""
        return f"{self.name} ({self.mode})"


def _peer(name: str, version: str, mode: str, peer: str, *, arguments: tuple[str, ...] = (), vectors: bool = False) -> System:
    return System(f"{name} {version}", mode, f"bench.peers.{peer}_child", arguments, peer, vectors)


OURS = System("Witnesstree", "words and meaning", "bench.peers.ours_child", ("local",))
OURS_WORDS = System("Witnesstree", "words", "bench.peers.ours_child", ("none",))
VERAMEM = _peer("VeraMem", "0.1.0", "its hash embedder", "veramem")
VEREL = _peer("Verel", "1.13.0", "words", "verel")
MEM0 = _peer("mem0", "2.2.1", "our vectors", "mem0", vectors=True)
INSPEXIMUS = _peer("inspeximus", "3.23.1", "words", "inspeximus")
INSPEXIMUS_HYBRID = _peer("inspeximus", "3.23.1", "hybrid, our vectors", "inspeximus", arguments=("hybrid",), vectors=True)
SYSTEMS = (OURS, OURS_WORDS, VEREL, VERAMEM, MEM0, INSPEXIMUS, INSPEXIMUS_HYBRID)


def cache_folder() -> Path:
    """Return where the environments of peers are kept between runs."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "witnesstree-bench"


def environment(peer: str) -> Path:
    """Return the interpreter of a peer's own environment; it is made at first use, and when its pins change.

    Raises:
        PeerError: pip could not install it.
    """
    pins = REQUIREMENTS / f"{peer}.txt"
    key = hashlib.sha256(pins.read_bytes() + sys.version.encode()).hexdigest()[:12]
    folder = cache_folder() / f"{peer}-{key}"
    python = folder / "bin" / "python"
    if (folder / "ready").exists():
        return python
    shutil.rmtree(folder, ignore_errors=True)
    for command in (
        [sys.executable, "-m", "venv", str(folder)],
        [str(python), "-m", "pip", "install", "--quiet", "--no-deps", "--requirement", str(pins)],
    ):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            sys.stderr.write(done.stderr)
            raise PeerError(f"{peer} could not be installed")
    (folder / "ready").touch()
    return python


class Child:
    """A process that runs one system; every question waits for its answer, so that only one process works at a time."""

    def __init__(self, system: System, folder: Path) -> None:
        """Start it. Its home is in ``folder``: no peer reads or writes the settings of whoever runs this."""
        self.system = system
        self._folder = folder / hashlib.sha256(system.title.encode()).hexdigest()[:8]
        self._folder.mkdir(parents=True, exist_ok=True)
        python = str(environment(system.peer)) if system.peer else sys.executable
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL") if name in os.environ}
        home = {"HOME": str(self._folder), "MEM0_DIR": str(self._folder / "mem0")}
        path = {} if system.peer else {"PYTHONPATH": os.pathsep.join(sys.path)}
        self._log = (self._folder / "stderr").open("a")
        self._process = subprocess.Popen(
            [python, "-m", system.module, *system.arguments],
            cwd=ROOT,
            env=kept | home | path | OFFLINE,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )

    def __enter__(self) -> Self:
        """Return the child itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """End the process and remove its files."""
        self._process.kill()
        self._process.communicate()
        self._log.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def ask(self, do: str, **arguments: Any) -> dict[str, Any]:
        """Return the answer to one request.

        Raises:
            PeerError: the child failed, or is gone.
        """
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps({"do": do, **arguments}) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            self._log.flush()
            sys.stderr.write((self._folder / "stderr").read_text()[-2_000:])
            raise PeerError(f"{self.system.title} ended while it was asked to {do}")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            sys.stderr.write(f"{self.system.title}: {answer['error']}\n")
            raise PeerError(f"{self.system.title} failed at {do}: {answer['error'].partition(':')[0]}")
        return answer

    def open(self, name: str) -> None:
        """Open an empty memory."""
        self.ask("open", folder=str(self._folder / name))

    def give_vectors(self, texts: Sequence[str]) -> None:
        """Hand over the vectors of texts, if the system takes any."""
        if self.system.takes_vectors and texts:
            data = make_embedder("local").embed(list(texts)).tobytes()  # type: ignore[union-attr]
            self.ask("vectors", texts=list(texts), data=base64.b64encode(data).decode())

    def load(self, ids: Sequence[str], texts: Sequence[str], user: str, bound_s: float = float("inf")) -> Loaded:
        """Add rows in batches until all are in or the time is up."""
        cpu = wall = 0.0
        start, done = time.monotonic(), 0
        while done < len(texts) and time.monotonic() - start < bound_s:
            part = slice(done, done + BATCH)
            self.give_vectors(texts[part])
            took = self.ask("add", ids=list(ids[part]), texts=list(texts[part]), user=user)
            cpu, wall, done = cpu + took["cpu_s"], wall + took["wall_s"], done + len(texts[part])
        return Loaded(done, cpu, wall)


@dataclass(frozen=True)
class Loaded:
    """Rows that went in, and how long the memory took for them."""

    rows: int
    cpu_s: float
    wall_s: float


def error_figure(bar: str, system: System, error: PeerError) -> Figure:
    """Return the line that stands for a system that failed."""
    return Figure(bar, "measured", 0.0, "", 1.0, at_least=True, system=system.title, note=str(error))
