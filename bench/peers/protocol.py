"""What a child of the driver does: it reads one JSON object a line, calls one memory, answers one JSON object a line.

Standard library only: this file runs in the environment of each peer. What a peer prints goes to stderr.
"""

from __future__ import annotations

import array
import base64
import json
import os
import sys
import time
from pathlib import Path
from typing import Any, Protocol


class Subject(Protocol):
    """One memory behind the protocol."""

    def open(self, folder: str) -> None:
        """Open an empty memory in a folder."""

    def add(self, texts: list[str], user: str) -> list[str]:
        """Keep texts; return the memory's ids, in order."""

    def search(self, query: str, user: str, k: int) -> list[str]:
        """Return the ids of what answers best, best first."""

    def close(self) -> None:
        """Close it."""


class GivenVectors:
    """An embedder that looks vectors up: the parent has computed them. Peers trim texts, so spaces around one don't count."""

    def __init__(self) -> None:
        """Begin with none."""
        self._known: dict[str, array.array[float]] = {}
        self.dim = 0

    def take(self, texts: list[str], data: str) -> None:
        """Remember one vector a text, float32 in base64."""
        values = array.array("f", base64.b64decode(data))
        self.dim = len(values) // len(texts)
        for place, text in enumerate(texts):
            self._known[text.strip()] = values[place * self.dim : (place + 1) * self.dim]

    def of(self, text: str) -> list[float]:
        """Return the vector of a text."""
        return self._known[text.strip()].tolist()


def rss_bytes() -> int:
    """Return the memory that this process holds now (Linux)."""
    return _status("VmRSS")


def peak_bytes() -> int:
    """Return the most memory that this process has held since it began (Linux); ``getrusage`` would count its parent's."""
    return _status("VmHWM")


def _status(field: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field + ":"))


def disk_bytes(folder: str) -> int:
    """Return the size of all files in a folder."""
    return sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())


class _Server:
    def __init__(self, subject: Subject, vectors: GivenVectors) -> None:
        self._subject = subject
        self._vectors = vectors
        self._folder = ""
        self._row_of: dict[str, str] = {}

    def open(self, folder: str) -> dict[str, Any]:
        self._folder = folder
        self._row_of.clear()
        os.makedirs(folder)
        self._subject.open(folder)
        return {}

    def vectors(self, texts: list[str], data: str) -> dict[str, Any]:
        self._vectors.take(texts, data)
        return {}

    def add(self, ids: list[str], texts: list[str], user: str) -> dict[str, Any]:
        wall, cpu = time.perf_counter(), time.process_time()
        given = self._subject.add(texts, user)
        took = {"cpu_s": time.process_time() - cpu, "wall_s": time.perf_counter() - wall}
        assert len(given) == len(ids), f"{len(ids)} rows gave {len(given)} ids"
        self._row_of.update(zip(given, ids, strict=True))
        return took

    def search(self, query: str, user: str, k: int) -> dict[str, Any]:
        wall, cpu = time.perf_counter(), time.process_time()
        found = self._subject.search(query, user, k)
        took = {"cpu_us": (time.process_time() - cpu) * 1e6, "wall_us": (time.perf_counter() - wall) * 1e6}
        return took | {"ids": [self._row_of[one] for one in found]}

    def measure(self) -> dict[str, Any]:
        return {"rss_bytes": rss_bytes(), "disk_bytes": disk_bytes(self._folder)}

    def close(self) -> dict[str, Any]:
        self._subject.close()
        return {"disk_bytes": disk_bytes(self._folder)}


def serve(subject: Subject, vectors: GivenVectors | None = None) -> None:
    """Answer until the input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a peer prints must not look like an answer
    server = _Server(subject, vectors or GivenVectors())
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            answer = getattr(server, asked.pop("do"))(**asked)
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
