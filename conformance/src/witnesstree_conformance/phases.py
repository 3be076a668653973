"""Each phase of a measurement in a fresh process: a tool that remembers something in memory can't help itself with it.

The library is imported once; then every phase is a fork of that process, which costs milliseconds. Where a library can't be
forked,
a phase is a new interpreter.
"""

from __future__ import annotations

import logging
import os
import pickle
import select
import signal
import subprocess
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

TIMEOUT_S = 180.0


@dataclass(frozen=True)
class Failure:
    """An exception, as it can travel between processes: names of its class and bases, and its message."""

    names: tuple[str, ...]
    message: str

    @classmethod
    def of(cls, error: BaseException) -> Failure:
        """Describe an exception."""
        kinds = [kind for kind in type(error).__mro__ if kind not in (object, BaseException, Exception)]
        names = [name for kind in kinds for name in (kind.__name__, f"{kind.__module__}.{kind.__name__}")]
        return cls(tuple(names) or ("Exception",), " ".join(str(error).split())[:300])

    @property
    def is_not_applicable(self) -> bool:
        """Whether an adapter said that there is nothing to do."""
        return "witnesstree_conformance.protocol.NotApplicable" in self.names

    def __str__(self) -> str:
        """Return class and message in one line."""
        return f"{self.names[0]}: {self.message}" if self.message else self.names[0]


@dataclass(frozen=True)
class Outcome:
    """What a phase gave: a value, or a failure; warnings that were logged; seconds it took."""

    value: Any = None
    failure: Failure | None = None
    logged: tuple[str, ...] = ()
    seconds: float = 0.0


class LogCollector(logging.Handler):
    """Collects what a tool logs as a warning or worse."""

    def __init__(self) -> None:
        """Collect from warnings up."""
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep one line."""
        self.lines.append(f"{record.name}: {record.getMessage()}"[:300])


@dataclass
class Phases:
    """Runs functions in fresh processes. What libraries print goes to ``noise``."""

    noise: Path
    forks: bool = True
    timeout: float = TIMEOUT_S
    children: list[int] = field(default_factory=list)

    def run(self, work: Callable[..., Any], *arguments: Any) -> Outcome:
        """Run a function to its end in a fresh process; its value must be picklable, as must the arguments.

        A process that dies, or takes longer than the time allowed, is a failure named ``Died`` or ``Hung``.
        """
        started = time.monotonic()
        if not self.forks:
            return self._spawned(work, arguments, started)
        return self._finished(*self._forked(work, arguments), started)

    def start(self, work: Callable[..., Any], *arguments: Any) -> tuple[int, int]:
        """Start a function in a fork; return process and pipe. For phases that are killed or run side by side."""
        return self._forked(work, arguments)

    def finish(self, process: int, pipe: int) -> Outcome:
        """Wait for what ``start`` started."""
        return self._finished(process, pipe, time.monotonic())

    def _finished(self, process: int, pipe: int, started: float) -> Outcome:
        """Return what a phase gave. It does not outlive this process, should that be told to end."""
        try:
            data = self._read(pipe, process, started)
        except BaseException:
            os.kill(process, signal.SIGKILL)
            raise
        finally:
            os.close(pipe)
            _, status = os.waitpid(process, 0)
        return self._outcome(data, status, started)

    def _forked(self, work: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[int, int]:
        sys.stdout.flush()
        sys.stderr.flush()
        reading, writing = os.pipe()
        process = os.fork()
        if process:
            os.close(writing)
            return process, reading
        try:
            os.close(reading)
            noise = os.open(self.noise, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            os.dup2(noise, 1)
            os.dup2(noise, 2)
            data = answer(work, arguments)
            while data:
                data = data[os.write(writing, data) :]
        finally:
            os._exit(0)

    def _read(self, pipe: int, process: int, started: float) -> bytes:
        parts: list[bytes] = []
        while True:
            left = self.timeout - (time.monotonic() - started)
            if left <= 0 or not select.select([pipe], [], [], left)[0]:
                os.kill(process, signal.SIGKILL)
                return b"hung"
            part = os.read(pipe, 1 << 20)
            if not part:
                return b"".join(parts)
            parts.append(part)

    def _outcome(self, data: bytes, status: int, started: float) -> Outcome:
        seconds = time.monotonic() - started
        if data == b"hung":
            return Outcome(None, Failure(("Hung",), f"no answer in {self.timeout:.0f} s"), (), seconds)
        if not data:
            return Outcome(None, Failure(("Died",), f"the process ended with status {status}"), (), seconds)
        value, failure, logged = pickle.loads(data)
        return Outcome(value, failure, logged, seconds)

    def _spawned(self, work: Callable[..., Any], arguments: tuple[Any, ...], started: float) -> Outcome:
        with self.noise.open("ab") as noise:
            try:
                done = subprocess.run(
                    [sys.executable, "-m", "witnesstree_conformance.phases"],
                    input=pickle.dumps((work, arguments)),
                    stdout=subprocess.PIPE,
                    stderr=noise,
                    timeout=self.timeout,
                )
            except subprocess.TimeoutExpired:
                return self._outcome(b"hung", 0, started)
        return self._outcome(done.stdout, done.returncode, started)


def answer(work: Callable[..., Any], arguments: tuple[Any, ...]) -> bytes:
    """Run a function and pack its value, its exception and what was logged meanwhile."""
    collector = LogCollector()
    logging.getLogger().addHandler(collector)
    warnings.simplefilter("ignore")
    value, failure = None, None
    try:
        value = work(*arguments)
    except BaseException as error:
        traceback.print_exc()
        failure = Failure.of(error)
    try:
        return pickle.dumps((value, failure, tuple(collector.lines)))
    except Exception as error:
        return pickle.dumps((None, Failure.of(error), tuple(collector.lines)))


if __name__ == "__main__":
    out = os.dup(1)
    os.dup2(2, 1)
    work, arguments = pickle.loads(sys.stdin.buffer.read())
    data = answer(work, arguments)
    while data:
        data = data[os.write(out, data) :]
    os._exit(0)
