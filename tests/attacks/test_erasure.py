"""What was erased is gone from every byte, for every process, and does not come back (T-I10, T-I11)."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from witnesstree import Memory, Message
from witnesstree.errors import InputError, NotFoundError
from witnesstree.proof.receipt import verify_receipt
from witnesstree.types.limits import CACHE_MIN_ROWS

SCRIPTS = {
    "Latin": "My doctor is Brunnhilde Übelacker.",
    "Han": "我的医生是欧阳娜娜丽，住在杭州西湖边。",
    "Arabic": "طبيبتي هي زليخة القرطبانية في مدينة فاس.",
}
NEEDLES = ["Brunnhilde", "Übelacker", "欧阳娜娜丽", "杭州西湖边", "زليخة", "القرطبانية"]
KEPT = "I like green tea."


def bytes_found(*folders: Path) -> list[str]:
    """Where any of the words is found in the bytes or names of files, in UTF-8 or UTF-16, composed as written."""
    found = []
    for folder in folders:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            data = path.read_bytes()
            for needle in NEEDLES:
                forms = (needle.encode(), needle.lower().encode(), needle.encode("utf-16-le"), needle.encode("utf-16-be"))
                if any(form in data for form in forms):
                    found.append(f"{path.name}: {needle}")
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the store lies."""
    made = tmp_path / "data"
    made.mkdir()
    return made


def fill(path: Path) -> dict[str, str]:
    """A store with one memory in each script, and one to keep; returns the ids by script."""
    with Memory.open(str(path), user="alice") as memory:
        memory.add(KEPT)
        made = {
            script: memory.add(Message(text, metadata={"who": text[:12]}, id=script), session="doctor").episodes[0]
            for script, text in SCRIPTS.items()
        }
    return made


@pytest.mark.parametrize("choice", ["id", "session", "where", "everything"])
def test_no_byte_of_what_was_erased_is_left(folder: Path, home: Path, choice: str):
    """T-I10: whatever way it was chosen; versions, metadata, search terms and write-ahead log included."""
    path = folder / "agent.db"
    ids = fill(path)
    memory = Memory.open(str(path), user="alice")
    for script, id in ids.items():
        memory.update(id, SCRIPTS[script] + " (corrected)")
    assert memory.search("Brunnhilde").hits
    assert bytes_found(folder)
    choices = {"session": {"session": "doctor"}, "where": {"where": {"session": "doctor"}}, "everything": {"everything": True}}
    receipts = [memory.forget(id) for id in ids.values()] if choice == "id" else [memory.forget(**choices[choice])]
    assert {receipt.state for receipt in receipts} == {"done"}
    assert bytes_found(folder, home) == []
    for query in (*NEEDLES, "corrected"):
        assert memory.search(query).hits == ()
    for id in ids.values():
        with pytest.raises(NotFoundError):
            memory.history(id)
    assert [item.text for item in memory.list(include_inactive=True).items] == ([] if choice == "everything" else [KEPT])
    assert memory.audit().ok
    memory.close()
    assert bytes_found(folder, home) == []


def test_ids_and_salts_of_what_was_erased_are_gone_too(folder: Path, home: Path):
    """T-I10: the log's commitments can be tied to nothing any more."""
    path = folder / "agent.db"
    with Memory.open(str(path), user="alice") as memory:
        id = bytes.fromhex(memory.add(SCRIPTS["Latin"]).episodes[0])
        with memory._store.store.read() as snapshot:
            [content] = [row.content for row in snapshot.all_rows() if id in row.content]
        salt, fingerprint = content[24:40], content[40:56]
        assert any(salt in file.read_bytes() for file in folder.iterdir())
        memory.forget(id.hex())
    for file in [*folder.iterdir(), *(file for file in home.rglob("*") if file.is_file())]:
        data = file.read_bytes()
        assert not any(secret in data or secret.hex().encode() in data for secret in (id, salt, fingerprint)), file.name


def test_nothing_is_erased_without_one_clear_choice(folder: Path):
    """T-I10: an empty, ambiguous, foreign or dry choice erases nothing."""
    path = folder / "agent.db"
    ids = fill(path)
    with Memory.open(str(path), user="alice") as memory:
        before = (memory.checkpoint(), memory.list().to_dict())
        for choice in (
            {},
            {"id": ids["Han"], "everything": True},
            {"session": "doctor", "where": {"role": "user"}},
            {"where": {}},
        ):
            with pytest.raises(InputError):
                memory.forget(**choice)
        assert memory.forget(session="doctor", dry_run=True).memories == 3
        assert memory.forget(session="nobody").memories == 0
        assert memory.forget(user="bob", everything=True).memories == 0
        assert (memory.checkpoint(), memory.list().to_dict()) == before


def test_the_receipt_is_signed_and_says_what_was_done(folder: Path):
    """T-I10: anyone with the verifier key can check it; it holds no word of the memory."""
    path = folder / "agent.db"
    ids = fill(path)
    with Memory.open(str(path), user="alice") as memory:
        receipt = memory.forget(ids["Arabic"])
        facts = verify_receipt(receipt.note, memory.verifier_key)
        assert (facts["memories"], facts["versions"], facts["bytes"]) == ("1", "1", "overwritten")
        assert facts["position"] == str(receipt.position)
        assert not any(needle in receipt.note for needle in [*NEEDLES, *ids.values()])


READER = """
import sys
from witnesstree import Memory

memory = Memory.open(sys.argv[1], user="alice")
assert memory.search("Brunnhilde").hits
with memory._store.reading() as reading:
    print("reading", flush=True)
    sys.stdin.readline()
print("left", flush=True)
sys.stdin.readline()
print(len(memory.search("Brunnhilde").hits), len(memory.search("tea").hits), memory.audit().ok, flush=True)
memory.close()
"""


def test_a_reader_in_another_process_delays_the_bytes_and_not_the_truth(folder: Path, home: Path):
    """T-I11: while another process reads, the receipt says pending; when it is done, the bytes go, and it sees nothing."""
    path = folder / "agent.db"
    ids = fill(path)
    with Memory.open(str(path), user="alice") as memory:
        process = subprocess.Popen(
            [sys.executable, "-c", READER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert process.stdin and process.stdout
        assert process.stdout.readline() == "reading\n"
        receipt = memory.forget(session="doctor")
        assert receipt.state == "pending"
        assert verify_receipt(receipt.note, memory.verifier_key)["bytes"] == "pending until readers finish"
        for script, id in ids.items():
            assert memory.search(SCRIPTS[script]).hits == ()
            with pytest.raises(NotFoundError):
                memory.get(id)
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.stdout.readline() == "left\n"
        memory.add("A later write.")
        assert bytes_found(folder, home) == []
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.stdout.readline() == "0 1 True\n"
        assert process.wait() == 0
    assert bytes_found(folder, home) == []


def test_an_erasure_that_was_cut_off_is_finished_later(folder: Path, home: Path):
    """T-I11: a process that ends while a reader still holds the bytes leaves the rest to the next one that opens the store."""
    path = folder / "agent.db"
    fill(path)
    reader = Memory.open(str(path), user="alice")
    with reader._store.reading():
        forgetter = (
            "import os, sys; from witnesstree import Memory\n"
            "memory = Memory.open(sys.argv[1], user='alice')\n"
            "print(memory.forget(session='doctor').state, flush=True)\n"
            "os._exit(0)\n"
        )
        done = subprocess.run([sys.executable, "-c", forgetter, str(path)], capture_output=True, text=True, check=True)
        assert done.stdout == "pending\n"
    reader.close()
    with Memory.open(str(path), user="alice") as memory:
        assert [item.text for item in memory.list().items] == [KEPT]
        assert memory.audit().ok
    assert bytes_found(folder, home) == []


def test_a_cache_from_before_the_erasure_can_not_be_used(folder: Path, home: Path):
    """T-I11: the cache file goes; an old copy of it, put back, opens for nobody."""
    path = folder / "agent.db"
    with Memory.open(str(path), user="alice") as memory:
        memory.add([f"Note {i} about tea." for i in range(CACHE_MIN_ROWS + 1)])
        memory.add(SCRIPTS["Latin"], session="doctor")
    [cache] = (home / "cache").rglob("*.view")
    old = cache.read_bytes()
    assert bytes_found(home) == []
    with Memory.open(str(path), user="alice") as memory:
        assert memory.search("Brunnhilde").hits
        memory.forget(session="doctor")
        assert not cache.exists()
    cache.write_bytes(old)
    with Memory.open(str(path), user="alice") as memory:
        assert memory.search("Brunnhilde").hits == ()
        assert len(memory.search("note tea", k=1000).hits) == 1000
        leaf = memory._store.view_in
        assert leaf and memory.audit().ok
        with memory._store.reading() as reading:
            assert memory._store.cache is not None
            assert memory._store.cache.load(reading.view("user:alice").leaf, quarantine=False) is None


def test_an_export_from_before_the_erasure_brings_nothing_back(folder: Path, home: Path):
    """T-I11: neither as an export nor as chat messages with ids or instants; saying it anew is another matter."""
    path = folder / "agent.db"
    fill(path)
    with Memory.open(str(path), user="alice") as memory:
        data = memory.export()
        chat = [{"content": text, "id": script, "session": "doctor"} for script, text in SCRIPTS.items()]
        memory.forget(session="doctor")
        head = memory.checkpoint()
        for source in (data, chat):
            result = memory.import_(source)
            assert result.added == 0
            assert [change.what for change in result.changes if not change.id] == ["erased_before"] * 3
        assert [change.what for change in memory.add(chat).changes] == ["erased_before"] * 3
        assert memory.checkpoint() == head
        assert bytes_found(folder, home) == []
    with Memory.open(str(folder / "other.db"), user="alice") as other:
        other.import_(data)
        assert [item.text for item in other.list().items] == [KEPT], "another store of this home"
    with Memory.open(str(path), user="alice") as memory:
        assert memory.add(SCRIPTS["Han"]).added == 1, "said anew, without id and instant, by the user"


@pytest.mark.parametrize("way", ["backup", "copy"])
def test_a_restore_from_before_the_erasure_leaves_it_erased(folder: Path, home: Path, way: str, tmp_path: Path):
    """T-I11: the home remembers keyed marks, so that an older copy comes back without what was erased."""
    path, backup, target = folder / "agent.db", tmp_path / "old" / "backup.db", folder / "restored.db"
    backup.parent.mkdir()
    fill(path)
    if way == "backup":
        with Memory.open(str(path), user="alice") as memory:
            memory.backup(str(backup))
    else:
        shutil.copy(path, backup)
    with Memory.open(str(path), user="alice") as memory:
        memory.forget(session="doctor")
        before = (memory.checkpoint(), memory.list().to_dict())
    report = Memory.restore(str(backup), str(target))
    assert report.ok
    with Memory.open(str(target), user="alice") as restored:
        assert [item.text for item in restored.list(include_inactive=True).items] == [KEPT]
        assert restored.import_([{"content": SCRIPTS["Latin"], "id": "Latin", "session": "doctor"}]).added == 0
    assert bytes_found(folder, home) == []
    with Memory.open(str(path), user="alice") as memory:
        assert (memory.checkpoint(), memory.list().to_dict()) == before


def test_forgetting_everything_leaves_no_name_behind(folder: Path, home: Path):
    """T-I10: not even who asked, and no earlier tombstone that says it."""
    path = folder / "agent.db"
    with Memory.open(str(path)) as memory:
        memory.add("A secret.", user="rumpelstiltskin", agent="spinningwheel")
        memory.add(["Another.", "A third."], user="rumpelstiltskin")
        memory.forget(memory.list(user="rumpelstiltskin").items[0].id, user="rumpelstiltskin")
        memory.forget(user="rumpelstiltskin", everything=True)
        assert memory.audit().ok
    for file in [*folder.iterdir(), *(file for file in home.rglob("*") if file.is_file())]:
        data = file.read_bytes()
        assert b"rumpelstiltskin" not in data and b"spinningwheel" not in data, file.name
