"""How far a run is: a line per subject that is done, and on a terminal one line about those at work."""

from __future__ import annotations

import shutil
import threading
from types import TracebackType
from typing import TextIO

CLEAR = "\r\x1b[K"


class Status:
    """Lines on a stream; may be told things by several threads."""

    def __init__(self, total: int, stream: TextIO) -> None:
        """Take the number of subjects and where to write."""
        self.total = total
        self.stream = stream
        self.is_tty = stream.isatty()
        self.working: dict[str, str] = {}
        self.finished = 0
        self.lock = threading.Lock()

    def __enter__(self) -> Status:
        """Begin."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Leave the terminal without the line about those at work."""
        with self.lock:
            self._write(CLEAR if self.is_tty else "")

    def update(self, name: str, line: str) -> None:
        """Say what is being done with a subject."""
        with self.lock:
            self.working[name] = line
            self._show()

    def done(self, name: str, line: str) -> None:
        """Write the line of a subject that is done."""
        with self.lock:
            self.working.pop(name, None)
            self.finished += 1
            self._write(f"{CLEAR if self.is_tty else ''}{line}\n")
            self._show()

    def _show(self) -> None:
        if self.is_tty:
            text = " · ".join(f"{name}: {line}" for name, line in self.working.items())
            width = shutil.get_terminal_size().columns - 1
            self._write(f"{CLEAR}{f'[{self.finished}/{self.total}] {text}'[:width]}")

    def _write(self, text: str) -> None:
        self.stream.write(text)
        self.stream.flush()
