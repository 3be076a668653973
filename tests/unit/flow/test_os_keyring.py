"""Keys in the system's keyring: the package `keyring` with a real file backend, a missing package, and keyrings that fail."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import keyring
import pytest
from keyring.backend import KeyringBackend
from keyring.core import init_backend

from witnesstree import Memory
from witnesstree.config import read_settings
from witnesstree.errors import ConflictError, InputError, NotFoundError, StoreError
from witnesstree.flow.home import Home
from witnesstree.flow.keyring import KeyRing, parse_entropy

BACKEND = "PYTHON_KEYRING_BACKEND"
WTREE = "from witnesstree.cli.main import main; main()"
WITHOUT_PACKAGE = f"import sys; sys.modules['keyring'] = None; {WTREE}"


@pytest.fixture(autouse=True)
def file_backend(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let `keyring` keep its entries in a file of this test, here and in child processes."""
    before = keyring.get_keyring()
    monkeypatch.setenv(BACKEND, "keyrings.alt.file.PlaintextKeyring")
    monkeypatch.setenv("KEYRING_PROPERTY_FILE_PATH", str(tmp_path / "keyring.cfg"))
    init_backend()
    yield
    keyring.set_keyring(before)


def ring(given: str = "keyring") -> KeyRing:
    """The keys of this test's home."""
    return Home.at(read_settings(), given).keyring


def wtree(*arguments: str, code: str = WTREE, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command line with its key in the keyring."""
    env = os.environ | {"WITNESSTREE_KEY": "keyring"} | environment
    return subprocess.run([sys.executable, "-c", code, *arguments], env=env, capture_output=True, text=True, check=False)


def test_first_open_makes_the_entry_and_later_ones_use_it(tmp_path: Path, home: Path):
    """64 hex digits under service `witnesstree`, entry `master`; no key file is written."""
    path = str(tmp_path / "a.db")
    with Memory.open(path, user="u", key="keyring") as memory:
        memory.add("plays the oboe")
        assert memory.audit().ok
    entry = keyring.get_password("witnesstree", "master")
    assert len(bytes.fromhex(entry)) == 32 and not list((home / "state" / "keys").glob("*.key"))
    with Memory.open(path, user="u", key="keyring") as memory:
        assert [hit.text for hit in memory.search("oboe").hits] == ["plays the oboe"]
    with Memory.open(path, user="u", key=entry) as memory:
        assert memory.audit().ok
    assert keyring.get_password("witnesstree", "master") == entry


def test_a_named_entry_is_a_key_of_its_own():
    """`keyring:work` and `keyring` do not mix; a name that is none is refused."""
    assert ring("keyring:work").ensure() and not ring("keyring:work").ensure()
    assert not ring().has_key() and ring("keyring:work").has_key()
    assert ring().ensure()
    assert ring().load().root != ring("keyring:work").load().root
    for wrong in ("keyring:", "keyring: work", "keyring:a\nb"):
        with pytest.raises(InputError):
            ring(wrong)


def test_phrase_spells_the_entry_and_restores_it():
    """The 24 words lead back to the same key, into an entry that is not there; one that is there is not overwritten."""
    assert ring().ensure()
    phrase, root = ring().phrase(), ring().load().root
    assert parse_entropy(phrase).hex() == keyring.get_password("witnesstree", "master")
    with pytest.raises(ConflictError):
        ring().restore(phrase)
    keyring.delete_password("witnesstree", "master")
    with pytest.raises(NotFoundError):
        ring().load()
    ring().restore(phrase)
    assert ring().load().root == root


def test_rotated_store_uses_its_own_key_file(tmp_path: Path):
    """After a rotation the store's own file goes before the entry, which other stores still use."""
    path, other = str(tmp_path / "a.db"), str(tmp_path / "b.db")
    with Memory.open(other, user="u", key="keyring") as memory:
        memory.add("still the first key")
    with Memory.open(path, user="u", key="keyring") as memory:
        memory.add("plays the oboe")
        memory.rotate_keys()
        store_id = bytes.fromhex(memory.store_id)
    assert ring().path_of(store_id).is_file() and ring().load(store_id).root != ring().load().root
    for place in (path, other):
        with Memory.open(place, user="u", key="keyring") as memory:
            assert memory.audit().ok


def test_a_file_called_keyring_is_not_taken_for_the_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """What lies in the working folder does not decide where the keys are."""
    monkeypatch.chdir(tmp_path)
    Path("keyring").write_text("planted")
    assert ring().ensure() and keyring.get_password("witnesstree", "master")


def test_entry_that_is_removed_is_missed(tmp_path: Path):
    """No new key is made for a store that has one."""
    path = str(tmp_path / "a.db")
    Memory.open(path, user="u", key="keyring").close()
    keyring.delete_password("witnesstree", "master")
    with pytest.raises(NotFoundError, match="keyring:master"):
        Memory.open(path, user="u", key="keyring")
    assert keyring.get_password("witnesstree", "master") is None


def test_entry_that_is_no_key_is_refused_and_not_shown():
    """The text of the entry does not get into the message."""
    keyring.set_password("witnesstree", "master", "hunter2")
    with pytest.raises(InputError) as caught:
        ring().load()
    assert "hunter2" not in str(caught.value)


def test_command_line_names_the_entry(tmp_path: Path):
    """`WITNESSTREE_KEY=keyring`: init makes the entry, doctor says where the key is."""
    made = wtree("init")
    assert made.returncode == 0 and "keyring:master" in made.stdout
    assert keyring.get_password("witnesstree", "master") not in made.stdout
    assert ring().phrase().split()[0] in made.stdout
    assert "keyring:master, a writer's key" in wtree("doctor").stdout


def test_missing_package_is_named_with_the_command_that_installs_it(tmp_path: Path):
    """One line, exit code 7, nothing made; without `keyring` as key the package is not needed."""
    path = str(tmp_path / "a.db")
    done = wtree("add", "x", "--store", path, "--user", "u", code=WITHOUT_PACKAGE)
    assert done.returncode == 7 and "pip install 'witnesstree[keyring]'" in done.stderr
    assert len(done.stderr.splitlines()) == 1 and not Path(path).exists()
    done = wtree("add", "x", "--store", path, "--user", "u", code=WITHOUT_PACKAGE, WITNESSTREE_KEY="")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("backend", ["fail", "null"])
def test_machine_without_a_keyring_is_a_store_error(tmp_path: Path, backend: str):
    """No backend at all, and one that forgets everything: one line, exit code 8, no store."""
    path = str(tmp_path / "a.db")
    done = wtree("add", "x", "--store", path, "--user", "u", **{BACKEND: f"keyring.backends.{backend}.Keyring"})
    assert done.returncode == 8 and "key file" in done.stderr
    assert len(done.stderr.splitlines()) == 1 and not Path(path).exists()


class Broken(KeyringBackend):
    """A keyring whose own error text holds the secret."""

    priority = 0

    def get_password(self, service: str, username: str) -> str | None:
        """Find nothing."""
        return None

    def set_password(self, service: str, username: str, password: str) -> None:
        """Fail."""
        raise OSError(f"could not keep\n{password}")


def test_failing_keyring_is_a_store_error_without_its_text():
    """Whatever a backend raises becomes one line that holds no key."""
    keyring.set_keyring(Broken())
    with pytest.raises(StoreError) as caught:
        ring().ensure()
    assert caught.value.reason == "keyring_failed"
    assert "could not keep" not in str(caught.value) and "\n" not in str(caught.value)
    assert caught.value.__cause__ is None and caught.value.__suppress_context__


def test_package_is_not_imported_for_other_keys(tmp_path: Path):
    """A key file needs no keyring."""
    code = "import sys; from witnesstree import Memory; Memory.open(sys.argv[1]).close(); sys.exit('keyring' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "a.db")], check=False)
    assert done.returncode == 0
