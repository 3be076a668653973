"""The lines between driver and child: a real child process, with a memory that keeps a list."""

import base64
import struct
import sys

import pytest

from bench.peers.driver import Child, PeerError, System
from bench.peers.protocol import GivenVectors

MEMORY = """
from bench.peers.protocol import serve

class Listed:
    def open(self, folder):
        self.texts = []
        print("a peer that talks")
    def add(self, texts, user):
        first = len(self.texts)
        self.texts += texts
        return [f"{user}-{first + place}" for place in range(len(texts))]
    def search(self, query, user, k):
        if query == "break":
            raise ValueError("a secret text")
        if query == "end":
            raise SystemExit
        return [f"{user}-{place}" for place, text in enumerate(self.texts) if query in text][:k]
    def close(self):
        pass

serve(Listed())
"""


@pytest.fixture
def child(tmp_path, monkeypatch):
    """A child whose module lies in a temporary folder."""
    (tmp_path / "listed_child.py").write_text(MEMORY)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    with Child(System("Listed 1", "words", "listed_child"), tmp_path / "work") as running:
        running.open("store")
        yield running


def test_rows_come_back_by_the_ids_that_the_driver_gave(child):
    loaded = child.load(["a", "b", "c"], ["red bus", "blue bus", "red boat"], "one")
    assert loaded.rows == 3
    answer = child.ask("search", query="red", user="one", k=10)
    assert answer["ids"] == ["a", "c"]
    assert {"cpu_us", "wall_us"} < answer.keys()


def test_loading_stops_when_the_time_is_up(child):
    assert child.load(["a"], ["red bus"], "one", bound_s=0.0).rows == 0


def test_a_failure_inside_a_peer_is_reported_without_its_text(child):
    with pytest.raises(PeerError) as caught:
        child.ask("search", query="break", user="one", k=1)
    assert str(caught.value) == "Listed 1 (words) failed at search: ValueError"


def test_a_child_that_ends_is_an_error_and_not_a_wait(child):
    with pytest.raises(PeerError, match="ended while it was asked to search"):
        child.ask("search", query="end", user="one", k=1)


def test_memory_and_disk_are_reported(child):
    used = child.ask("measure")
    assert used["rss_bytes"] > 0
    assert used["disk_bytes"] == 0


def test_given_vectors_are_found_whatever_spaces_stand_around_the_text():
    vectors = GivenVectors()
    vectors.take(["where? ", "b"], base64.b64encode(struct.pack("<4f", 1, 2, 3, 4)).decode())
    assert vectors.dim == 2
    assert vectors.of("where?") == [1.0, 2.0]
    assert vectors.of("b") == [3.0, 4.0]
