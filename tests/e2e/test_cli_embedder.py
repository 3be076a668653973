"""The command line with an embedder over a network that refuses: one line says it, and words are kept and found."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.e2e.conftest import Wtree
from tests.support.embedding_server import EmbeddingServer, serving

KEY = "sk-very-secret-0123456789"


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    """A server that knows no key."""
    with serving() as running:
        running.otherwise = lambda exchange: exchange.send(401, KEY.encode())
        yield running


def test_commands_say_in_one_line_that_the_embedder_failed(wtree: Wtree, server: EmbeddingServer):
    """Exit code 0 and the usual result: what was asked for is done; one warning each, without the key."""
    at = {"WITNESSTREE_EMBEDDER": server.embedder, "WITNESSTREE_EMBEDDER_KEY": KEY}
    (wtree.folder / "chat.jsonl").write_text("".join(f'{{"content": "pear {n}"}}\n' for n in range(3)), encoding="utf-8")
    wtree.here("init", **at)
    kept = "wtree: warning: kept without vectors, found by words only until reindexed: "
    words = "wtree: warning: searched by words only: "

    def lines(*command: str, warning: str) -> str:
        done = wtree.here(*command, **at)
        warned = [line for line in done.err.splitlines() if line.startswith("wtree: warning")]
        assert done.code == 0 and len(warned) == 1 and warned[0].startswith(warning), done.err
        assert "refuses the key" in warned[0] and KEY not in done.err + done.out
        return done.out

    added = json.loads(lines("add", "a plum", "--json", warning=kept))
    assert added["without_vector"] == 1 and added["notes"]
    lines("correct", added["episodes"][0], "a ripe plum", warning=kept)
    told = lines("import", str(wtree.folder / "chat.jsonl"), warning=kept)
    assert told == "3 added, 0 already there, 3 without a vector\n"
    server.otherwise = lambda exchange: exchange.send_json(exchange.answer)
    assert wtree.here("reindex", **at).code == 0
    server.otherwise = lambda exchange: exchange.send(401, KEY.encode())
    assert "a ripe plum" in lines("search", "plum", warning=words)
    assert json.loads(lines("search", "plum", "--json", warning=words))["notes"]
    assert "a ripe plum" in lines("search", "plum", "--context", warning=words)
    assert "a ripe plum" in lines("ask", "Which ripe plum?", warning=words)


def test_embedders_that_can_not_be_used_are_one_line_with_an_exit_code(wtree: Wtree):
    """A name without a model, a password in a URL, a key that is missing."""
    wtree.here("init")
    for name, code in (("openai:", 2), ("http://me:hunter2@localhost#m", 2), ("openai:m", 3)):
        done = wtree.here("add", "a pear", WITNESSTREE_EMBEDDER=name)
        assert done.code == code and len(done.err.splitlines()) == 1 and "hunter2" not in done.err, done.err
    assert wtree.here("list").out == "no memories\n"
