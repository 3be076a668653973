"""Cases of embedders: other dimensions and models, a provider that is down, questions by meaning. The server is a real one."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.embedding_server import EmbeddingServer, good, serving, vector_of
from witnesstree import Memory
from witnesstree.errors import AccessError, InputError
from witnesstree.providers import remote
from witnesstree.providers.client import Bounds, Client

QUICK = Bounds(connect_s=5, answer_s=2, total_s=5, tries=2, pause_s=0.001, rest_s=0)
NOTES = ["The automobile stands in the garage.", "Pears are in the cellar.", "The illness of the child was measles."]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Providers that fail are given up soon."""
    monkeypatch.setattr(remote, "Client", lambda endpoint, headers: Client(endpoint, headers, bounds=QUICK))
    monkeypatch.setenv("WITNESSTREE_EMBEDDER_FLOOR", "0.2")


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    """A server that behaves until it is told otherwise."""
    with serving() as running:
        yield running


@pytest.fixture
def place(tmp_path: Path) -> str:
    """Where the store lies."""
    return str(tmp_path / "a.db")


def down(exchange: Any) -> None:
    """Fail as a server does that is overloaded."""
    exchange.send(503, b"")


class Stub:
    """An embedder of a given name and size that has no network."""

    floor = 0.2

    def __init__(self, name: str, dim: int, *, says: int = 0) -> None:
        self.id, self.dim, self._made = name, says or dim, dim

    def embed(self, texts: Any) -> Any:
        """Return a vector of length 1 for each text."""
        rows = np.array([vector_of(text, self._made) for text in texts], np.float32).reshape(len(texts), self._made)
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)

    def embed_query(self, text: str) -> Any:
        """Return the vector of a question."""
        return self.embed([text])[0]


def tell(server: EmbeddingServer, dim: int) -> str:
    """Let the server have another dimension under the same model name; return the embedder's name."""
    server.dim = dim
    return server.embedder


def refused(memory: Memory, *words: str) -> None:
    """Every verb that would mix or compare vectors is refused in words that name both sides; nothing changes."""
    before, head = [item.to_dict() for item in memory.list().items], memory.checkpoint()
    first = before[0]["id"]
    for call in (
        lambda: memory.search("automobile"),
        lambda: memory.answer("Where does the automobile stand?"),
        lambda: memory.add("A new automobile."),
        lambda: memory.update(first, "The automobile is sold."),
        lambda: memory.import_([{"content": "An imported automobile."}]),
    ):
        with pytest.raises(InputError) as caught:
            call()
        assert all(word in str(caught.value) for word in words), str(caught.value)
        assert caught.value.attributes["field"] == "embedder"
    assert [item.to_dict() for item in memory.list().items] == before and memory.checkpoint() == head
    assert memory.get(first).text == before[0]["text"] and memory.audit().ok
    assert memory.update(first, metadata={"seen": len(memory.history(first))}).what == "updated"


# -- other dimensions and models ----------------------------------------------------------------------------------------------


def test_dimension_that_changed_is_refused_by_name_until_a_reindex(place: str, server: EmbeddingServer):
    """Case G-03, row P-064: three items of dimension 8, opened with 16 under the same name: an error with both numbers on every
    write and search, and never an empty result; a reindex does all three, and they are found again.
    """
    for small, large in (
        (lambda: Stub("stub", 8), lambda: Stub("stub", 16)),
        (lambda: tell(server, 8), lambda: tell(server, 16)),
    ):
        with Memory.open(place, user="ana", embedder=small()) as memory:
            memory.add(NOTES)
            assert memory.search("automobile").hits[0].signals["meaning"] > 0
        with Memory.open(place, user="ana", embedder=large()) as memory:
            refused(memory, "8 numbers", "16 numbers")
            assert memory.reindex().rows >= 3
            assert memory.search("automobile").hits[0].signals["meaning"] > 0
            assert memory.audit().ok
            memory.forget(everything=True)


def test_embedder_whose_vectors_are_not_as_long_as_it_says_changes_nothing(place: str):
    """Row P-064: it says 8 and gives 16: a search is refused, not compared in part; an add keeps the words."""
    with Memory.open(place, user="ana", embedder=Stub("stub", 8)) as memory:
        memory.add(NOTES)
        right = [hit.to_dict() for hit in memory.search("automobile").hits]
    with Memory.open(place, user="ana", embedder=Stub("stub", 16, says=8)) as memory:
        with pytest.raises(InputError, match=r"8 numbers.*16 numbers"):
            memory.search("automobile")
        added = memory.add("A new automobile.")
        assert added.without_vector == 1 and "finite numbers" in added.notes[0]
        memory.forget(added.episodes[0])
    with Memory.open(place, user="ana", embedder=Stub("stub", 8)) as memory:
        assert [hit.to_dict() for hit in memory.search("automobile").hits] == right


def test_stores_of_two_models_refuse_each_other_by_name(tmp_path: Path, server: EmbeddingServer):
    """Case G-03, row P-065: opened with another model nothing is embedded anew and nothing is mixed, at any number of flips;
    the refusal names both, and no text goes to the provider for it.
    """
    one, two = f"{server.url}/v1#m-1", f"{server.url}/v1#m-2"
    places = [str(tmp_path / "one.db"), str(tmp_path / "two.db")]
    for place, name in zip(places, (one, two), strict=True):
        with Memory.open(place, user="ana", embedder=name) as memory:
            memory.add(NOTES)
    for _ in range(2):
        for place, right, wrong in ((places[0], one, two), (places[1], two, one)):
            server.seen.clear()
            with Memory.open(place, user="ana", embedder=wrong) as memory:
                assert not server.seen
                refused(memory, "http:m-1", "http:m-2")
                # The text of a correction is only sent once it is known that it may be kept.
                assert not server.seen
            with Memory.open(place, user="ana", embedder=right) as memory:
                assert memory.search("car").hits[0].text == NOTES[0]
            assert server.texts == ["car"]
            with Memory.open(place, user="ana", embedder="none") as memory:
                assert memory.search("automobile").hits[0].text == NOTES[0]
    with Memory.open(places[0], user="ana", embedder=two) as memory:
        assert memory.reindex().rows == 3 + 2  # two corrections of metadata are versions of their own
        assert memory.search("car").hits[0].text == NOTES[0]


# -- a provider that is down --------------------------------------------------------------------------------------------------


def test_store_opens_and_verifies_while_the_provider_is_down(place: str, server: EmbeddingServer):
    """Row P-066: open, list, get, history, audit, prove, export and erase ask no provider; a search goes by words."""
    with Memory.open(place, user="ana", embedder=server.embedder) as memory:
        made = memory.add(NOTES).episodes
    server.otherwise = down
    server.seen.clear()
    with Memory.open(place, user="ana", embedder=server.embedder) as memory:
        assert len(memory.list().items) == 3 and memory.audit().ok
        assert memory.get(made[0]).text == NOTES[0] and memory.prove(made[0]) and memory.export()
        assert len(memory.history(made[0])) == 1
        memory.retract(made[2])
        memory.forget(made[2])
        assert not server.seen
        assert memory.search("automobile").hits[0].id == made[0]


def test_words_are_kept_and_found_while_the_provider_is_down(place: str, server: EmbeddingServer):
    """Row P-066: add, update and import keep every word without a vector and say so; search and answer go by words and say so;
    a reindex fills what is missing.
    """
    server.otherwise = down
    with Memory.open(place, user="ana", embedder=server.embedder) as memory:
        added = memory.add(NOTES)
        assert (added.added, added.without_vector, len(added.notes)) == (3, 3, 1)
        assert "failed (503)" in added.notes[0] and added.to_dict()["notes"] == list(added.notes)
        assert memory.add(NOTES[0]).notes == ()  # nothing was written, so nothing is missing
        imported = memory.import_([{"content": f"Imported pear {number}."} for number in range(3)])
        assert (imported.added, imported.without_vector, len(imported.notes)) == (3, 3, 1)
        changed = memory.update(added.episodes[1], "Plums are in the cellar.")
        assert changed.what == "updated" and "503" in changed.notes[0]
        assert memory.update(added.episodes[1], metadata={"n": 1}).notes == ()
        found = memory.search("automobile")
        assert found.hits[0].text == NOTES[0] and found.notes == ()  # there is no vector to compare with: nothing is asked
    server.otherwise = good
    with Memory.open(place, user="ana", embedder=server.embedder) as memory:
        assert memory.search("wheels").hits == () and memory.search("wheels").notes == ()
        assert memory.reindex().rows >= 6
        assert memory.search("wheels").hits[0].text == NOTES[0]
        server.otherwise = down
        found = memory.search("automobile car")
        assert found.hits[0].text == NOTES[0] and found.hits[0].signals["meaning"] == 0
        assert len(found.notes) == 1 and found.to_dict()["notes"] == list(found.notes)
        assert "words only" in found.notes[0] and "503" in found.notes[0] and "notes" not in found.context()
        answer = memory.answer("Where does the automobile stand?")
        assert answer.text == NOTES[0] and "words only" in answer.notes[0] and answer.to_dict()["notes"]
        nothing = memory.answer("Who painted the ceiling?")
        assert nothing.abstained and nothing.notes
    with Memory.open(place, user="ana", embedder="none") as memory:
        words = memory.search("automobile car")
        assert [hit.to_dict() for hit in words.hits] == [hit.to_dict() for hit in found.hits] and words.notes == ()


def test_own_export_is_brought_in_while_the_provider_is_down(tmp_path: Path, server: EmbeddingServer):
    """Row P-066: every version of an exported memory is kept; brought in again it is known, and nothing is sent for it."""
    with Memory.open(str(tmp_path / "one.db"), user="ana", embedder=server.embedder) as memory:
        memory.update(memory.add(NOTES).episodes[0], "The automobile is sold.")
        data = memory.export()
    server.otherwise = down
    with Memory.open(str(tmp_path / "two.db"), user="ana", embedder=server.embedder) as memory:
        first = memory.import_(data)
        assert (first.added, first.without_vector, len(first.notes)) == (3, 4, 1)
        server.otherwise = good
        server.seen.clear()
        again = memory.import_(data)
        assert (again.added, again.without_vector, again.notes, server.seen) == (0, 0, (), [])
        memory.import_([{"content": "A new pear."}, {"content": "A new pear.", "id": "1"}])
        memory.import_([{"content": "A new pear."}, {"content": "A new pear.", "id": "1"}, {"content": "A plum."}])
        assert server.texts == ["A new pear.", "A new pear.", "A plum."]


def test_vectors_that_came_before_the_failure_are_kept(place: str, server: EmbeddingServer):
    """A provider that fails after the first of two requests costs the second one's vectors only."""
    server.script, server.otherwise = [good], down
    with Memory.open(place, user="ana", embedder=server.embedder) as memory:
        assert memory.add([f"pear {number}" for number in range(100)]).without_vector == 36


def test_slow_provider_holds_up_neither_writers_nor_readers(place: str, server: EmbeddingServer):
    """While one call waits for its vectors, others of the same process and of another handle write and read."""
    waiting, go = threading.Event(), threading.Event()

    def slow(exchange: Any) -> None:
        if "slow" not in exchange.document["input"][0]:
            return good(exchange)
        waiting.set()
        assert go.wait(60)
        return good(exchange)

    server.otherwise = slow
    with (
        Memory.open(place, user="ana", embedder=server.embedder) as memory,
        Memory.open(place, user="ana", embedder="none") as other,
    ):
        made = memory.add("A quick pear.").episodes[0]
        for call in (
            lambda: memory.add("A slow pear."),
            lambda: memory.update(made, "A slow plum."),
            lambda: memory.import_([{"content": "A slow apple."}]),
            lambda: memory.search("slow pear"),
            lambda: memory.answer("Which slow pear?"),
        ):
            waiting.clear()
            go.clear()
            thread = threading.Thread(target=call)
            thread.start()
            try:
                assert waiting.wait(60)
                assert memory.add("Meanwhile a quick fig.", user="bo").added + other.add("Meanwhile.", user="cem").added >= 0
                assert memory.list(user="bo").items and other.list(user="cem").items
            finally:
                go.set()
                thread.join()
        assert {item.text for item in memory.list().items} == {"A slow plum.", "A slow pear.", "A slow apple."}


def test_missing_key_is_said_at_the_first_use_and_not_at_open(place: str):
    """Without OPENAI_API_KEY the store opens, lists and audits; what needs the key is refused, and nothing is written."""
    with Memory.open(place, user="ana", embedder="none") as memory:
        memory.add(NOTES)
    with Memory.open(place, user="ana", embedder="openai:m-1") as memory:
        assert memory.audit().ok and len(memory.list().items) == 3
        assert memory.search("automobile").hits  # no vectors there: nothing to ask
        with pytest.raises(AccessError, match="OPENAI_API_KEY"):
            memory.add("A plum.")
        assert len(memory.list().items) == 3


# -- by meaning ---------------------------------------------------------------------------------------------------------------


def test_question_that_shares_no_word_with_its_answer_finds_it(place: str, server: EmbeddingServer):
    """Row P-073: by a provider's vectors, and with nothing else by those of the package."""
    for name in (server.embedder, "local"):
        with Memory.open("ram:", user="ana", embedder=name) as memory:
            memory.add(NOTES)
            assert memory.search("Which car does she drive?").hits[0].text == NOTES[0]
            assert memory.search("sick kid").hits[0].text == NOTES[2]


def test_unrelated_record_with_a_common_word_does_not_come_first():
    """Row P-074: a rule about a panel's width comes before migration scripts that run somewhere."""
    rule = "Set a max-width on every panel so that it fits the viewport."
    with Memory.open("ram:", user="ana") as memory:
        memory.add([rule, "Migration scripts run on the server."])
        for question in ("panel runs off the screen", "The panel runs off my screen, what do I do?"):
            assert memory.search(question).hits[0].text == rule
