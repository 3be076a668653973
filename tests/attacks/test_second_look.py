"""Found by a hostile reading: what a copy, a quarantine, a downgrade or an interruption must not turn into a lie."""

from __future__ import annotations

import base64
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import apsw
import pytest

from witnesstree import Memory
from witnesstree.errors import Error, IntegrityError
from witnesstree.stores import sqlite


def edit(path: str, *statements: str) -> list[Any]:
    """Run statements on the file as an attacker; return the rows of the last one."""
    connection = apsw.Connection(path)
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
    rows: list[Any] = []
    for statement in statements:
        rows = connection.execute(statement).fetchall()
    connection.close()
    return rows


def spoil(path: str, words: str) -> None:
    """Flip the first byte of the newest row that holds some words."""
    edit(
        path,
        "UPDATE memory SET content = CAST(x'7f' || substr(content, 2) AS BLOB) WHERE seq ="
        f" (SELECT max(seq) FROM memory WHERE instr(content, CAST('{words}' AS BLOB)))",
    )


def test_restore_brings_no_corrected_text_back(tmp_path: Path) -> None:
    """edit-I8: erasing a memory whose words equal a correction of another one leaves that correction in every copy."""
    with Memory.open(str(tmp_path / "a.db"), user="ana") as memory:
        twin = memory.add("Rent goes to account BBB.").episodes[0]
        kept = memory.add("Rent goes to account AAA.").episodes[0]
        memory.update(kept, "Rent goes to account BBB.")
        memory.forget(twin)
        memory.backup(str(tmp_path / "a.bak"))
    Memory.restore(str(tmp_path / "a.bak"), str(tmp_path / "b.db"))
    with Memory.open(str(tmp_path / "b.db"), user="ana") as copy:
        assert [item.text for item in copy.list().items] == ["Rent goes to account BBB."]


def test_words_said_again_after_an_erasure_are_in_every_copy(tmp_path: Path) -> None:
    """edit-I8: nothing is lost in an honest life."""
    with Memory.open(str(tmp_path / "a.db"), user="ana") as memory:
        memory.forget(memory.add("My parrot is Koko.").episodes[0])
        memory.add("My parrot is Koko.")
        memory.fork(str(tmp_path / "b.db"))
    with Memory.open(str(tmp_path / "b.db"), user="ana") as copy:
        assert [item.text for item in copy.list().items] == ["My parrot is Koko."]


@pytest.mark.parametrize("act", ["correct", "retract"])
def test_quarantine_serves_no_state_that_a_withheld_row_replaced(tmp_path: Path, act: str) -> None:
    """edit-I3: spoiling the row of a correction or withdrawal does not make the older words the current ones."""
    path = str(tmp_path / "a.db")
    with Memory.open(path, user="ana") as memory:
        made = memory.add("Rent goes to account OLD.").episodes[0]
        if act == "correct":
            memory.update(made, "Rent goes to account NEW.")
        else:
            memory.retract(made)
    spoil(path, "Rent goes")
    with Memory.open(path, user="ana", on_tamper="quarantine") as memory:
        with pytest.raises(IntegrityError):
            memory.get(made)
        assert not memory.search("rent account").hits


def test_quarantine_brings_no_erased_row_back(tmp_path: Path) -> None:
    """T-I10: an erased row put back beside a spoilt tombstone is not served."""
    path = str(tmp_path / "a.db")
    with Memory.open(path, user="ana") as memory:
        memory.add("Something else.")
        gone = memory.add("Erase me: kwyjibo.").episodes[0]
    seq, owner, content, seal = edit(path, "SELECT seq, owner, content, seal FROM memory ORDER BY seq DESC LIMIT 1")[0]
    with Memory.open(path, user="ana") as memory:
        memory.forget(gone)
    edit(
        path,
        "UPDATE memory SET content = zeroblob(9) WHERE seq = (SELECT max(seq) FROM memory)",
        f"INSERT INTO memory VALUES ({seq}, x'{owner.hex()}', x'{content.hex()}', x'{seal.hex()}', x'')",
    )
    with Memory.open(path, user="ana", on_tamper="quarantine") as memory:
        assert not memory.search("kwyjibo").hits


def test_receipt_never_says_erased_while_withheld_bytes_lie_there(tmp_path: Path) -> None:
    """T-I10: forgetting everything in quarantine also takes the rows that do not verify, or refuses."""
    path = str(tmp_path / "a.db")
    with Memory.open(path, user="ana") as memory:
        memory.add(["Something else.", "My secret is zqxjwv."])
    spoil(path, "zqxjwv")
    with Memory.open(path, user="ana", on_tamper="quarantine") as memory, suppress(IntegrityError):
        memory.forget(everything=True)
        memory.close()
        assert b"zqxjwv" not in Path(path).read_bytes()


def test_export_in_quarantine_is_refused_or_says_what_is_missing(tmp_path: Path) -> None:
    """T-T7: a signed export is the whole memory; a part of it is not signed as such."""
    path = str(tmp_path / "a.db")
    with Memory.open(path, user="ana") as memory:
        memory.add(["Something else.", "Rent goes to account OLD."])
    spoil(path, "Rent goes")
    with Memory.open(path, user="ana", on_tamper="quarantine") as memory, suppress(IntegrityError):
        assert json.loads(memory.export().split("\n")[0]).get("withheld") == 1


def test_downgraded_journal_mode_is_refused_or_without_effect(tmp_path: Path) -> None:
    """edit-I7: no write is reported as failed that was committed."""
    path = str(tmp_path / "a.db")
    with Memory.open(path, user="ana") as memory:
        memory.add("First line.")
    edit(path, "PRAGMA journal_mode = DELETE")
    try:
        memory = Memory.open(path, user="ana")
        memory.add("Second line.")
    except Error:
        edit(path, "PRAGMA journal_mode = WAL")
        with Memory.open(path, user="ana") as memory:
            assert [item.text for item in memory.list().items] == ["First line."]


def test_trigger_under_the_name_of_a_table_is_reported(tmp_path: Path) -> None:
    """edit-I7: a trigger named like a table of ours, placed before it in the schema, hides from nothing."""
    path = str(tmp_path / "a.db")
    with Memory.open(path, user="ana") as memory:
        memory.add("First line.")
    edit(
        path,
        "CREATE TRIGGER node AFTER INSERT ON head BEGIN DELETE FROM log; END",
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_schema SET rowid = rowid + 1000",
        "UPDATE sqlite_schema SET rowid = (rowid - 1000) * 10",
        "UPDATE sqlite_schema SET rowid = 25 WHERE type = 'trigger'",
        "PRAGMA schema_version = 77",
    )
    with pytest.raises(IntegrityError), Memory.open(path, user="ana") as memory:
        memory.list()


def test_forged_export_does_not_keep_the_genuine_one_out(tmp_path: Path) -> None:
    """T-L1: an unsigned file that names our log and a genuine id takes nobody's place."""
    with Memory.open(str(tmp_path / "a.db"), user="ana") as memory:
        memory.add("Rent goes to account GOOD.")
        genuine = memory.export()
    head, line = genuine.split("\n")[:2]
    content = base64.b64decode(json.loads(line)["record"]).replace(b"GOOD", b"EVIL")
    forged = f"{head}\n{json.dumps({'record': base64.b64encode(content).decode()})}\n"
    with Memory.open(str(tmp_path / "b.db"), user="ana") as memory:
        memory.import_(forged)
        memory.import_(genuine)
        assert ("Rent goes to account GOOD.", "authorized") in [(m.text, m.authority) for m in memory.list().items]


def test_interrupted_erasure_loses_nothing_in_a_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """edit-I8: Ctrl-C before the commit leaves the memory where it was, in this process and in every copy made by it."""

    def interrupt(*args: object) -> None:
        raise KeyboardInterrupt

    memory = Memory.open(str(tmp_path / "a.db"), user="ana")
    made = memory.add("Keep me.").episodes[0]
    with monkeypatch.context() as patch:
        patch.setattr(sqlite, "apply_batch", interrupt)
        with pytest.raises(KeyboardInterrupt):
            memory.forget(made)
    memory.fork(str(tmp_path / "b.db"))
    memory.close()
    with Memory.open(str(tmp_path / "b.db"), user="ana") as copy:
        assert [item.text for item in copy.list().items] == ["Keep me."]
