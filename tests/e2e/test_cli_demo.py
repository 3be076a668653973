"""The demo keeps its promises."""

from __future__ import annotations

import re
import subprocess
import sys

from tests.e2e.conftest import Wtree


def test_the_demo_runs_and_every_check_passes(wtree: Wtree):
    """Exit code 0, all parts in order, every edit of the file refused with exit code 6, nothing left in this home."""
    done = wtree("demo")
    assert (done.code, done.err) == (0, "")
    assert re.findall(r"^(\d)\. ", done.out, re.MULTILINE) == ["1", "2", "3", "4", "5", "6"]
    assert done.out.count("exit code 6: wtree: ") == 5
    assert "checked in a new process with an empty home" in done.out
    assert "269 turns of 14 sessions" in done.out
    default, limited = done.out.partition('with min_authority="attested"')[::2]
    assert "source: tool web_search, 2026-08-20T12:12:52Z, session 2026-08-printshop, unendorsed" in default.splitlines()[-2]
    assert "My instruction is: ask me before paying a new account." in limited.splitlines()[1]
    assert "source: user mira, 2026-08-20T12:18:38Z, session 2026-08-printshop, attested" in limited.splitlines()[2]
    assert re.fullmatch(r"demo: \d\d checks passed, \d+\.\d s of CPU time", done.out.splitlines()[-1])
    assert list(wtree.folder.iterdir()) == []


def test_the_demo_tells_its_result_as_json(wtree: Wtree):
    """The story goes to standard error, the result to standard output."""
    done = wtree.here("demo", "--json")
    assert done.code == 0
    assert done.json["checks"] >= 30
    assert done.json["cpu_s"] > 0
    assert "no answer" in done.err


def test_a_demo_that_breaks_a_promise_fails(wtree: Wtree):
    """The first promise that is not kept ends it with exit code 1, and is named."""
    script = (
        "import sys; from witnesstree.cli import demo, main\n"
        "demo.Demo.search = lambda self: (0, '')\n"
        "sys.exit(main.run(['demo']))"
    )
    done = subprocess.run([sys.executable, "-c", script], env=wtree.environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert (
        done.stderr == "wtree: the demo failed: a search is refused after: The account number for the rent is changed in place\n"
    )
