"""Side files of a SQLite store that was read while its file was read-only do not lock its owner out."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

SCRIPT = """
import os, sys
from witnesstree import Memory
with Memory.open("ram:", user="u") as memory:  # loads all modules while the interpreter's folder can be read
    memory.add("x"); memory.search("x")
import witnesstree.stores.sqlite
if os.getuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
folder = sys.argv[1]
os.environ["WITNESSTREE_HOME"] = folder + "/home"
path = folder + "/data/agent.db"
os.makedirs(folder + "/data")
with Memory.open(path, user="u") as memory:
    memory.add("one line")
os.chmod(path, 0o444)
with Memory.open(path, user="u") as memory:
    assert memory.search("line").hits
assert not os.access(path + "-shm", os.W_OK), "the read left side files behind that nobody can write"
os.chmod(path, 0o600)
with Memory.open(path, user="u") as memory:
    memory.add("another line")
    assert len(memory.search("line").hits) == 2
print("works")
"""


@pytest.fixture
def shared_folder() -> Iterator[Path]:
    """A folder that a user without rights can reach."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o777)
    yield folder
    shutil.rmtree(folder)


def test_store_read_while_read_only_can_be_written_again_afterwards(shared_folder: Path) -> None:
    """As a user whom modes bind: read-only, read, mode given back, written."""
    environment = dict(os.environ) | {"PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(shared_folder)], capture_output=True, text=True, check=False, env=environment
    )
    assert done.stdout == "works\n", done.stderr
