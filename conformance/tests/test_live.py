"""Live servers, over HTTP and MCP: measured by what they answer, with consent, and with nothing of this machine's."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conformance.tests import live_http, live_mcp
from witnesstree_conformance.live import SettingsError, read
from witnesstree_conformance.live.connect import connect
from witnesstree_conformance.live.settings import at, filled, filled_path


def run(folder: Path, settings: str, *arguments: str) -> tuple[subprocess.CompletedProcess[str], dict[str, Any]]:
    """Measure the server of some settings; return what the command said, and the subject's result."""
    (folder / "server.toml").write_text(settings)
    call = [sys.executable, "-m", "witnesstree_conformance.cli", "run", "live:server.toml", "--json", "r.json", *arguments]
    done = subprocess.run(call, cwd=folder, capture_output=True, text=True)
    file = folder / "r.json"
    return done, json.loads(file.read_text())["subjects"][0] if file.exists() else {}


def verdict(result: dict[str, Any], id: str) -> str:
    return next(str(cell["verdict"]) for cell in result["in_use"] if cell.get("id") == id)


@pytest.mark.parametrize("is_leaky", [False, True])
def test_a_server_is_measured_by_what_it_answers(tmp_path: Path, is_leaky: bool):
    with live_http.Notes(is_leaky=is_leaky) as notes:
        done, result = run(tmp_path, live_http.SETTINGS.format(url=notes.url))
    assert done.returncode == 0, done.stderr
    assert "error" not in result and result["version"] == "7"
    assert [c["control"] for c in result["controls"] if c["passed"] is False] == []
    assert next(c["detail"] for c in result["controls"] if c["control"] == "no_op").endswith("out of reach")
    for call in ("get_by_id", "update_by_id", "erase_by_id"):
        assert verdict(result, call) == ("open" if is_leaky else "held")
    assert verdict(result, "list") == "held"
    external = [c for c in result["in_use"] if c["attack"] == "memory_injection" and c["channel"] == "external"]
    assert {c["verdict"] for c in external} <= {"held", "n/a"} and "said_by" in external[0]["reason"]
    assert {note["said_by"] for note in notes.notes} == {"user", "web page"}
    assert result["rows"] == [] and result["rating"]["conformant"] is False


def test_another_host_needs_its_owners_consent(tmp_path: Path):
    with live_http.Notes() as notes:
        port = notes.url.rsplit(":", 1)[1]
        done, result = run(tmp_path, live_http.SETTINGS.format(url=f"http://memory.example:{port}"))
    assert (done.returncode, result, notes.asked) == (2, {}, [])
    assert done.stderr.count("\n") == 1 and "--allow-host memory.example" in done.stderr
    settings = tmp_path / "server.toml"
    assert read(settings, ["memory.example"]).url == f"http://memory.example:{port}"


def test_a_redirect_leads_nowhere(tmp_path: Path):
    with live_http.Notes() as elsewhere, live_http.Notes() as notes:
        notes.redirects_to = f"{elsewhere.url}/notes"
        done, _ = run(tmp_path, live_http.SETTINGS.format(url=notes.url))
    assert done.returncode == 3 and "gave 302" in done.stderr
    assert elsewhere.asked == []


def test_credentials_come_from_the_environment_that_is_passed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("NOTES_TOKEN", "s3cret")
    with live_http.Notes() as notes:
        settings = 'headers = { Authorization = "Bearer ${NOTES_TOKEN}" }\n' + live_http.SETTINGS.format(url=notes.url)
        done, _ = run(tmp_path, settings, "--no-in-use")
        assert done.returncode == 3 and "--pass-env NOTES_TOKEN" in done.stderr and notes.asked == []
        done, _ = run(tmp_path, settings, "--no-in-use", "--pass-env", "NOTES_TOKEN")
    assert done.returncode == 0, done.stderr
    assert {headers["Authorization"] for _, headers in notes.asked} == {"Bearer s3cret"}
    assert "s3cret" not in (tmp_path / "r.json").read_text()


def test_a_server_that_is_not_there_is_not_measured(tmp_path: Path):
    done, result = run(tmp_path, live_http.SETTINGS.format(url="http://127.0.0.1:1"))
    assert done.returncode == 3 and "refused" in result["error"].lower()


GOOD = live_http.SETTINGS.format(url="http://127.0.0.1:8080")


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ("title = ", "no TOML"),
        ("title = 'x'", "give one of 'url', 'mcp_url' and 'mcp_command'"),
        (GOOD + "\nsurprise = 1", "unknown key 'surprise'"),
        ("surprise = 1\n" + GOOD, "unknown key 'surprise'"),
        (GOOD.replace('title = "Notes"', ""), "'title' is missing"),
        (GOOD.replace("http://", "ftp://"), "begins with http"),
        (GOOD.replace("http://", "http://me:pw@"), "into 'headers'"),
        (GOOD.replace("127.0.0.1", "127.0.0.1.evil.example"), "not this machine"),
        (GOOD.replace("[recall]", "[listing]"), "unknown key 'listing'"),
        (GOOD.split("[recall]")[0], r"\[recall\] is missing"),
        (GOOD.replace('GET /notes?owner={owner}"\nitems', 'notes"\nitems', 1), "a method and a path"),
        (GOOD.replace("{channel}", "{who}"), "{who} is unknown"),
        (GOOD.replace("external =", "elsewhere ="), r"\[channels\] says"),
        ("timeout_s = 'long'\n" + GOOD, "a number of seconds"),
        ("refusals = [7]\n" + GOOD, "HTTP status codes"),
        (live_mcp.SETTINGS.format(way='mcp_url = "http://127.0.0.1/mcp"').replace("tool =", "request ="), "'tool' is missing"),
    ],
)
def test_settings_that_can_not_be_used_are_refused_in_one_line(settings: str, why: str, tmp_path: Path):
    file = tmp_path / "server.toml"
    file.write_text(settings)
    with pytest.raises(SettingsError, match=why) as raised:
        read(file)
    assert "\n" not in str(raised.value)


def test_placeholders_can_not_leave_their_place():
    values = {"owner": "a/../b?c=d&e", "k": 5, "text": 'say "hello"'}
    assert filled_path("/notes/{owner}", values) == "/notes/a%2F..%2Fb%3Fc%3Dd%26e"
    assert filled({"n": "{k}", "list": ["{text}", "top {k}"]}, values) == {"n": 5, "list": ['say "hello"', "top 5"]}
    assert at({"a": [{"b": 1}]}, "a.0.b") == 1
    with pytest.raises(LookupError):
        at({"a": []}, "a.b")


# --- MCP --------------------------------------------------------------------------------------------------------------
@pytest.fixture
def mcp_url(tmp_path: Path) -> Iterator[str]:
    """The address of a running MCP server."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(
        [sys.executable, live_mcp.__file__, str(tmp_path / "notes.jsonl"), str(port)], stderr=subprocess.DEVNULL
    )
    try:
        while server.poll() is None:
            with socket.socket() as tried:
                if tried.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        server.kill()
        server.wait()


def test_an_mcp_server_over_http_is_measured(tmp_path: Path, mcp_url: str):
    done, result = run(tmp_path, live_mcp.SETTINGS.format(way=f'mcp_url = "{mcp_url}"'))
    assert done.returncode == 0, done.stderr
    assert [c["control"] for c in result["controls"] if c["passed"] is False] == []
    assert (verdict(result, "list"), verdict(result, "get_by_id"), verdict(result, "update_by_id")) == ("held", "held", "n/a")


def test_an_mcp_server_on_standard_input_answers(tmp_path: Path):
    way = f"mcp_command = {json.dumps([sys.executable, live_mcp.__file__, str(tmp_path / 'notes.jsonl')])}"
    (tmp_path / "server.toml").write_text(live_mcp.SETTINGS.format(way=way))
    settings = read(tmp_path / "server.toml")
    connection = connect(settings)
    try:
        told = {"owner": "alice", "text": "words", "channel": "user"}
        id = connection.call(settings.verbs["remember"], told)["id"]
        (note,) = connection.call(settings.verbs["recall"], {"owner": "alice"})["notes"]
        assert (note["id"], note["words"]) == (id, "words")
        with pytest.raises(Exception, match="note"):
            connection.call(settings.verbs["get"], {"owner": "bob", "id": id})
    finally:
        connection.close()
