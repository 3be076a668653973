"""What the operator sees and does: doctor, audit and repair on stores that are well, edited, rolled back, lost."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.e2e.conftest import Done, Wtree
from witnesstree.testing import tamper


def bad_lines(done: Done) -> list[str]:
    """The names of the checks that are bad."""
    return [line.split()[1].rstrip(":") for line in done.out.splitlines() if line.startswith("bad")]


def offered_head(done: Done) -> list[str]:
    """SIZE and ROOT that doctor offers to accept."""
    found = re.search(r"--accept-head (\d+) ([0-9a-f]{64})", done.out)
    assert found, done
    return [found[1], found[2]]


def test_a_good_store_has_nothing_bad(filled: Wtree):
    """Every check is ok, also without a store."""
    done = filled("doctor")
    assert (done.code, bad_lines(done)) == (0, [])
    names = [check["name"] for check in filled("doctor", "--json").json["checks"]]
    assert names == ["engine", "state folder", "key", "schema", "place", "head", "anchor", "erasure"]
    assert filled("doctor", WITNESSTREE_STORE="").code == 0


def test_a_missing_key_is_named(filled: Wtree, home: Path):
    """The file and the way back; with the phrase all is well again."""
    phrase = filled("keys", "phrase").out
    (home / "state" / "keys" / "master.key").unlink()
    done = filled("doctor")
    assert (done.code, bad_lines(done)) == (6, ["key", "head"])
    assert "master.key" in done.out
    assert "wtree init --phrase" in done.out
    assert filled.here("search", "rent").code == 4
    assert filled("init", "--phrase", "-", stdin=phrase).code == 0
    assert filled("doctor").code == 0


def test_open_folders_and_keys_are_bad(filled: Wtree, home: Path):
    """Others could read them."""
    key = home / "state" / "keys" / "master.key"
    key.chmod(0o644)
    (home / "state").chmod(0o755)
    done = filled("doctor")
    assert (done.code, bad_lines(done)) == (6, ["state", "key", "head"])
    assert "chmod 700" in done.out
    assert "chmod 600" in done.out
    assert filled.here("search", "rent").code == 3


def test_a_missing_anchor_needs_the_operator(filled: Wtree, home: Path):
    """Reads are refused; doctor prints the head; typing it makes the anchor anew and is logged."""
    for anchor in (home / "state" / "anchors").iterdir():
        anchor.unlink()
    assert filled.here("search", "rent").code == 6
    done = filled("doctor")
    assert (done.code, bad_lines(done)) == (6, ["anchor"])
    size, root = offered_head(done)
    accepted = filled("doctor", "--accept-head", size, root, "--json")
    assert (accepted.code, accepted.json["size"]) == (0, int(size) + 2)
    assert filled.here("search", "rent").code == 0
    assert filled("doctor").code == 0
    assert filled.here("audit").code == 0


def test_a_rolled_back_store_needs_the_operator(filled: Wtree):
    """Refused until the head is typed; what was erased since stays erased; the later copy is a fork from then on."""
    old, later = filled.folder / "old.copy", filled.folder / "later.copy"
    tamper.copy_store(filled.store, old)
    assert filled.here("forget", "{pear}").code == 0
    assert filled.here("add", "Said after the copy was made.").code == 0
    tamper.copy_store(filled.store, later)
    tamper.copy_store(old, filled.store)
    assert filled.here("search", "rent").code == 6
    audit = filled.here("audit").out.splitlines()
    assert audit[1] == "log: it could not be verified; what follows was found without it"
    assert "the store was rolled back" in audit[3]
    done = filled("doctor")
    assert bad_lines(done) == ["anchor"]
    size, root = offered_head(done)
    for wrong in ([str(int(size) + 1), root], [size, "0" * 64]):
        assert filled("doctor", "--accept-head", *wrong).code == 2
    assert filled.here("search", "rent").code == 6
    accepted = filled("doctor", "--accept-head", size, root)
    assert "had come back: 1" in accepted.out
    assert "865 euros" in filled.here("search", "rent").out
    assert filled.here("show", "{pear}").code == 4
    left = tamper.find_bytes([filled.folder], [b"Pear juice"])
    assert {path.name for path in left} == {"old.copy", "old.backup"}
    assert filled.here("audit").code == 0
    assert filled("doctor").code == 0
    tamper.copy_store(later, filled.store)
    assert filled.here("search", "rent").code == 6


def test_a_lost_store_is_not_made_anew_by_itself(filled: Wtree):
    """A pinned place that is empty is refused, until the operator types the place."""
    filled.store.unlink()
    assert filled.here("add", "words").code == 6
    done = filled("doctor")
    assert bad_lines(done) == ["place"]
    assert "--forget-place" in done.out
    assert filled("doctor", "--forget-place", stdin="yes\n").code == 2
    assert filled.here("add", "words").code == 6
    assert filled("doctor", "--forget-place", stdin=f"{filled.store}\n").code == 0
    assert filled.here("add", "words").code == 0


def test_another_store_in_the_place_is_noticed(filled: Wtree):
    """A genuine store of the same home, put where another one belongs."""
    assert filled.here("fork", "{tmp}/fork.db").code == 0
    shutil.copy2(filled.folder / "fork.db", filled.store)
    assert filled.here("list").code == 6
    assert bad_lines(filled("doctor")) == ["place"]


@pytest.mark.parametrize("edit", ["change", "delete", "forge"])
def test_an_edited_row_is_refused_on_a_plain_read(filled: Wtree, edit: str):
    """Search, list, ask and export refuse; quarantine withholds and says so; audit finds it; repair can't help."""
    old, new = b"My sister lives in Porto.", b"My sister lives in Turin."
    if edit == "change":
        tamper.change_row(filled.store, old, new)
    elif edit == "delete":
        tamper.delete_row(filled.store, old)
    else:
        tamper.forge_row(filled.store, old, new)
    for command in (["search", "rent"], ["list"], ["ask", "How high is the rent?"], ["export"], ["show", "{rent}"]):
        done = filled.here(*command)
        assert (done.code, done.out) == (6, ""), command
        assert done.err.startswith("wtree: ")
    audit = filled.here("audit")
    assert (audit.code, "bad" in audit.out) == (6, True)
    if edit != "forge":
        kept = filled.here("search", "rent sister", "--quarantine")
        assert (kept.code, "865 euros" in kept.out, "Turin" in kept.out) == (0, True, False)
        assert "1 memory is withheld" in kept.out
        assert filled.here("list", "--quarantine", "--json").json["withheld"] == 1
        assert filled("repair").code == 6


def test_a_planted_trigger_is_found_and_repaired(filled: Wtree):
    """Every read refuses; audit names it; repair takes it away; nothing of it ever ran."""
    tamper.run_sql(filled.store, "CREATE TRIGGER t AFTER INSERT ON memory BEGIN DELETE FROM log; END")
    assert filled.here("search", "rent").code == 6
    assert filled.here("add", "words").code == 6
    assert bad_lines(filled("doctor"))[0] == "schema"
    audit = filled.here("audit")
    assert (audit.code, "trigger t was planted" in audit.out) == (6, True)
    done = filled("repair")
    assert done.code == 0
    assert done.out == "removed  store: trigger t was planted [derived_damaged]\nok  nothing is left to repair\n"
    assert filled.here("audit").code == 0
    assert "865 euros" in filled.here("search", "rent").out


def plant_rows(filled: Wtree) -> None:
    """Put two forged rows ahead of the log, and take an index away."""
    copy = "INSERT INTO memory SELECT {}, owner, content, seal, vector FROM memory WHERE seq = 2"
    tamper.run_sql(filled.store, copy.format(900), copy.format(901), "DROP INDEX memory_owner")


def test_repair_lists_what_it_took_away_and_why(filled: Wtree):
    """One line for each row that is gone and for what was rebuilt; nothing the second time."""
    plant_rows(filled)
    done = filled("repair")
    assert done.code == 0
    assert done.out.splitlines() == [
        "removed  row 900: a forged row stands where none was written [row_planted]",
        "removed  row 901: a forged row stands where none was written [row_planted]",
        "rebuilt  store: index memory_owner is missing [derived_damaged]",
        "ok  nothing is left to repair",
    ]
    assert filled("repair").out == "ok  nothing is left to repair\n"
    plant_rows(filled)
    again = filled.here("repair", "--json").json
    assert [(row["where"], row["reason"]) for row in again["removed"]] == [("row 900", "row_planted"), ("row 901", "row_planted")]
    assert [row["reason"] for row in again["rebuilt"]] == ["derived_damaged"]
    assert (again["ok"], again["problems"]) == (True, [])


def test_a_repair_that_needs_a_backup_took_no_row_away(filled: Wtree):
    """While a row is altered, planted rows stay, and are not listed as removed; the schema is rebuilt all the same."""
    plant_rows(filled)
    tamper.change_row(filled.store, b"My sister lives in Porto.", b"My sister lives in Turin.")
    done = filled.here("repair", "--json")
    assert done.code == 6
    assert done.json["removed"] == []
    assert [row["message"] for row in done.json["rebuilt"]] == ["index memory_owner is missing"]
    assert {row["reason"] for row in done.json["problems"]} >= {"row_altered", "row_planted"}


def test_a_rotated_key_reads_on(filled: Wtree):
    """The store has another verifier key, old proofs are still proofs of the old one, reads go on."""
    proof = filled.here("prove", "{rent}").out
    rotated = filled("keys", "rotate", "--json").json
    assert rotated["ok"] is True
    assert filled("keys", "verifier").out.strip() == rotated["verifier_key"] != filled.ids["key"]
    assert "865 euros" in filled.here("search", "rent").out
    assert filled("verify-receipt", "-", "--key", "{key}", stdin=proof).code == 0
    assert filled("verify-receipt", "-", "--key", rotated["verifier_key"], stdin=proof).code == 6
    assert filled("doctor").code == 0


def test_a_readers_key_reads_and_never_writes(filled: Wtree, tmp_path: Path):
    """The key file that `keys reader` gives opens the store for reading only."""
    assert filled("keys", "reader", "--output", str(tmp_path / "reader.key")).code == 0
    assert (tmp_path / "reader.key").stat().st_mode & 0o077 == 0
    other = {"WITNESSTREE_HOME": str(tmp_path / "reader"), "WITNESSTREE_KEY": str(tmp_path / "reader.key")}
    assert "865 euros" in filled.here("search", "rent", **other).out
    assert filled.here("add", "words", **other).code == 3
    assert filled("keys", "phrase", **other).code == 3
    assert filled("doctor", **other).code == 0
