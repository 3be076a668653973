"""The command: what it prints, its exit codes, one's own store in one file, and pins that fail in either direction."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from witnesstree_conformance import pins
from witnesstree_conformance.attacks import AT_REST
from witnesstree_conformance.subjects import KNOWN

FAST = ["--tier", "A", "--attack", "tamper", "--no-in-use"]
OWN = """
import json
from witnesstree_conformance.protocol import Raw, Subject

class LinesRaw(Raw):
    def __init__(self, place, tier):
        super().__init__(place, tier)
        self.file = place.store / "lines.json"
        self.rows = json.loads(self.file.read_text())
    def close(self):
        if self.trace:
            self.file.write_text(json.dumps(self.rows))
    def entries(self, owner):
        return [str(n) for n, row in enumerate(self.rows) if row["owner"] == owner]
    def change_text(self, slot, old, new, *, weak=False):
        self.rows[int(slot)]["text"] = self.rows[int(slot)]["text"].replace(old, new)
        self.note(f"line {slot}: {old} -> {new}")

class Lines(Subject):
    title = "Lines"
    def open(self, place):
        self.file = place.store / "lines.json"
        self.rows = json.loads(self.file.read_text()) if self.file.exists() else []
    def remember(self, entry):
        self.rows.append({"owner": entry.owner, "text": entry.text})
        self.file.write_text(json.dumps(self.rows))
        return str(len(self.rows))
    def recall(self, owner):
        return [row for row in self.rows if row["owner"] == owner]
    def raw(self, place, tier):
        return LinesRaw(place, tier)

class Broken(Lines):
    def remember(self, entry):
        raise RuntimeError("no room")
"""


def command(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    call = [sys.executable, "-m", "witnesstree_conformance.cli", *arguments]
    return subprocess.run(call, cwd=cwd, capture_output=True, text=True)


def ran(folder: Path, *arguments: str) -> tuple[subprocess.CompletedProcess[str], Any]:
    """Run with results as JSON; return both."""
    file = folder / "results.json"
    done = command("run", *arguments, "--json", str(file), cwd=folder)
    return done, json.loads(file.read_text()) if file.exists() else None


def test_list_names_every_subject_and_attack():
    assert all(name in command("list").stdout for name in KNOWN)
    listed = json.loads(command("list", "--json").stdout)
    assert [subject["name"] for subject in listed["subjects"]] == list(KNOWN)
    assert {attack["id"] for attack in listed["attacks"]} >= set(AT_REST)
    assert len(KNOWN) >= 16 and len(AT_REST) >= 25


def test_a_run_prints_tables_and_says_how_it_went_on_stderr(tmp_path: Path):
    done = command("run", "naive", *FAST, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "| Tamper | accepted |" in done.stdout
    assert done.stderr.endswith("1 of 1 subjects measured, 1 cells, 0 conformant\n")
    assert done.stderr.startswith("naive ") and "\x1b" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_results_page_and_report_agree(tmp_path: Path):
    done, document = ran(tmp_path, "naive", *FAST, "--html", "page.html")
    assert done.returncode == 0 and done.stdout == ""
    cell = document["subjects"][0]["rows"][0]["cells"][0]
    assert (cell["verdict"], cell["edit"][0].split()[0]) == ("accepted", "UPDATE")
    assert "UPDATE" in (tmp_path / "page.html").read_text()
    shown = command("report", "results.json", "--details", cwd=tmp_path)
    assert shown.returncode == 0 and "UPDATE" in shown.stdout
    assert command("report", "results.json", "--html", "again.html", cwd=tmp_path).returncode == 0
    assert (tmp_path / "again.html").read_text() == (tmp_path / "page.html").read_text()
    assert json.loads(command("schema").stdout)["title"]


def test_ones_own_store_is_one_file(tmp_path: Path):
    (tmp_path / "mystore.py").write_text(OWN)
    done, document = ran(tmp_path, "mystore:Lines", *FAST)
    assert done.returncode == 0, done.stderr
    subject = document["subjects"][0]
    assert [control["passed"] for control in subject["controls"] if control["required"]] == [True, True, True, None]
    assert subject["rows"][0]["cells"][0]["verdict"] == "accepted"
    assert subject["rows"][0]["cells"][0]["edit"] == ["line 6: AAAA -> EVIL"]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["run"], 2, "name a subject"),
        (["run", "naive", "--all"], 2, "not both"),
        (["run", "nobody"], 2, "no subject is called 'nobody'"),
        (["run", "naive", "--attack", "nothing"], 2, "nothing"),
        (["run", "naive", "--json", "no/such/folder.json"], 2, "can't be written"),
        (["run", "naive", "--html", "."], 2, "is a directory"),
        (["run", "naive", "--pins", "nowhere"], 2, "does not exist; write it with"),
        (["run", "mystore:Absent", *FAST], 3, "can't be imported"),
        (["run", "mystore:Raw", *FAST], 3, "no subclass"),
        (["run", "mystore:Broken", *FAST], 3, "no room"),
        (["run", "naive", *FAST, "--require", "refuses-A"], 1, "none is below refuses-A"),
        (["report", "absent.json"], 2, "can't be read"),
        (["report", "mystore.py"], 2, "holds no JSON"),
        (["pin", "mystore.py", "--to", "pins"], 2, "holds no JSON"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(arguments: list[str], code: int, said: str, tmp_path: Path):
    (tmp_path / "mystore.py").write_text(OWN)
    done = command(*arguments, cwd=tmp_path)
    assert done.returncode == code, done.stderr
    assert said in done.stderr and "Traceback" not in done.stderr


def test_pins_fail_in_either_direction(tmp_path: Path):
    done, document = ran(tmp_path, "naive", *FAST)
    pinned = command("pin", "results.json", "--to", "pins", cwd=tmp_path)
    assert pinned.stdout.strip() == "pins/naive.json"
    assert command("run", "naive", *FAST, "--pins", "pins", cwd=tmp_path).returncode == 0
    file = tmp_path / "pins/naive.json"
    for better_or_worse in ("refused", "executed"):
        changed = json.loads(file.read_text())
        changed["at_rest"]["A"]["tamper"] = better_or_worse
        file.write_text(json.dumps(changed))
        done = command("run", "naive", *FAST, "--pins", "pins", cwd=tmp_path)
        assert done.returncode == 1
        assert f"tier A tamper: was {better_or_worse!r}, is 'accepted'" in done.stderr
    subject = document["subjects"][0]
    assert pins.differences(pins.pins_of(subject) | {"version": "0"}, subject)
    assert pins.missing({"at_rest": {"A": {"forge": "accepted"}}}, subject) == ["tier A forge: pinned, but not measured"]


def test_a_subject_sees_nothing_of_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "mystore.py").write_text(
        OWN + "\nimport os\nclass Asks(Lines):\n    config = str(sorted(n for n in os.environ if 'SECRET' in n))\n"
    )
    monkeypatch.setenv("MY_SECRET", "1")
    assert ran(tmp_path, "mystore:Asks", *FAST)[1]["subjects"][0]["config"] == "[]"
    assert ran(tmp_path, "mystore:Asks", *FAST, "--pass-env", "MY_SECRET")[1]["subjects"][0]["config"] == "['MY_SECRET']"


def process_names() -> set[str]:
    names = set()
    for file in Path("/proc").glob("[0-9]*/comm"):
        with contextlib.suppress(OSError):  # it ended meanwhile
            names.add(file.read_text().strip())
    return names


def test_stopping_keeps_what_was_measured_and_leaves_nothing_behind(tmp_path: Path):
    (tmp_path / "mystore.py").write_text(
        OWN + "\nimport os, time\nclass Hangs(Lines):\n    def recall(self, owner):\n"
        "        open('/proc/self/comm', 'w').write('wtc-hangs')\n        time.sleep(600)\n"
    )
    call = [sys.executable, "-m", "witnesstree_conformance.cli", "run", "naive", "mystore:Hangs", *FAST, "--json", "r.json"]
    running = subprocess.Popen(call, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    assert running.stderr is not None
    assert running.stderr.readline().startswith("naive ")
    while "wtc-hangs" not in process_names() and running.poll() is None:
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    said = running.stderr.read()
    assert running.wait() == 130 and "what was measured until then is kept" in said and "Traceback" not in said
    assert [subject["name"] for subject in json.loads((tmp_path / "r.json").read_text())["subjects"]] == ["naive"]
    assert "wtc-hangs" not in process_names()
