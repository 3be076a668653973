"""Each store is measured in an environment of its own: a virtual environment or a node folder with every package pinned.

Environments are made once and kept in a cache; their name holds a digest of the pins, so that other pins are another
environment.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from witnesstree_conformance.subjects import Known

PACKAGE = Path(__file__).resolve().parent
PIP = "pip>=25,<27"
"""Some of the pinned packages need a newer pip than the one that comes with Python 3.11."""
READY = ".ready"
Say = Callable[[str], None]


class InstallError(Exception):
    """An environment could not be made; the message says what to do."""


@dataclass(frozen=True)
class Environment:
    """What runs a subject: an interpreter, and variables for it."""

    python: Path
    variables: Mapping[str, str] = field(default_factory=dict)


def cache_folder() -> Path:
    """Return where environments are kept: ``$WTREE_CONFORMANCE_CACHE``, or a folder in the user's cache."""
    given = os.environ.get("WTREE_CONFORMANCE_CACHE")
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(given) if given else base / "witnesstree-conformance"


def is_ready(known: Known) -> bool:
    """Return whether a subject can be measured without installing anything."""
    return all((folder / READY).exists() for folder in _folders(known))


def pinned(known: Known) -> Mapping[str, str]:
    """Return package → version of everything in a subject's environment."""
    if not known.requirements:
        return {}
    lines = requirements(known).read_text().splitlines()
    return dict(line.split("==", 1) for line in lines if "==" in line and not line.startswith("#"))


def requirements(known: Known) -> Path:
    """Return the file with a subject's pins."""
    return PACKAGE / "requirements" / f"{known.requirements}.txt"


def prepare(known: Known, say: Say = lambda line: None) -> Environment:
    """Return a subject's environment; make it first if it is not there.

    Raises:
        InstallError: it can't be made.
    """
    if known.npm:
        return Environment(Path(sys.executable), {"WTREE_CONFORMANCE_NODE": str(_node(known, say))})
    if known.requirements:
        return Environment(_virtual(known, say) / "bin" / "python")
    return Environment(Path(sys.executable))


def import_path(known: Known, folder: Path) -> str:
    """Return a ``PYTHONPATH`` for the interpreter that measures a subject.

    A pinned environment must see the suite and nothing else of the environment that the suite is installed in, so the
    suite's folder is linked into an empty one. Subjects without pins run where the suite runs, with all that it sees.
    """
    if not known.requirements:
        return os.pathsep.join([str(PACKAGE.parent), *(entry or os.getcwd() for entry in sys.path)])
    alone = folder / "suite"
    alone.mkdir(parents=True, exist_ok=True)
    link = alone / PACKAGE.name
    if not link.exists():
        link.symlink_to(PACKAGE)
    return str(alone)


def _folders(known: Known) -> list[Path]:
    if known.npm:
        return [_named(f"npm-{known.npm}", PACKAGE / "npm" / known.npm / "package-lock.json")]
    if known.requirements:
        return [_named(known.requirements, requirements(known))]
    return []


def _named(name: str, pins: Path) -> Path:
    version = f"{sys.implementation.cache_tag}\n".encode()
    return cache_folder() / f"{name}-{hashlib.sha256(version + pins.read_bytes()).hexdigest()[:12]}"


def _virtual(known: Known, say: Say) -> Path:
    (folder,) = _folders(known)
    with _made_once(folder) as is_new:
        if is_new:
            say(f"installs {len(pinned(known))} pinned packages")
            python = str(folder / "bin" / "python")
            _call([sys.executable, "-m", "venv", str(folder)])
            pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
            _call([*pip, PIP])
            _call([*pip, "--no-deps", "--requirement", str(requirements(known))])
    return folder


def _node(known: Known, say: Say) -> Path:
    (folder,) = _folders(known)
    npm = shutil.which("npm")
    if npm is None:
        raise InstallError(f"{known.name} runs on node: install node 20 or newer with npm, then run again")
    with _made_once(folder) as is_new:
        if is_new:
            say("installs its pinned npm packages")
            shutil.copytree(PACKAGE / "npm" / known.npm, folder, dirs_exist_ok=True)
            _call([npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts"], cwd=folder)
    return folder


@contextmanager
def _made_once(folder: Path) -> Iterator[bool]:
    """Let one process at a time make a folder; what was half made before is thrown away."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with Path(f"{folder}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        is_new = not (folder / READY).exists()
        if is_new:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
        yield is_new
        (folder / READY).touch()


def _call(command: Sequence[str], cwd: Path | None = None) -> None:
    variables = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "PYTHONHOME", "PIP_TARGET"}}
    done = subprocess.run(command, cwd=cwd, env=variables, capture_output=True, text=True, errors="replace")
    if done.returncode:
        output = (done.stderr.strip() or done.stdout.strip()).splitlines()
        why = output[-1] if output else f"exit code {done.returncode}"
        raise InstallError(f"'{' '.join(command)}' failed: {why}")
