"""Embedders behind a network: what is sent, what is accepted, and one typed line for everything that goes wrong."""

from __future__ import annotations

import json
import math
import socket
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.embedding_server import EmbeddingServer, Exchange, good, serving, vector_of
from witnesstree.errors import AccessError, InputError, ProviderError
from witnesstree.providers import as_embedder, make_embedder
from witnesstree.providers.client import Bounds, Client, Endpoint
from witnesstree.providers.remote import BATCH, BATCH_BYTES, TEXT_BYTES, RemoteEmbedder, make_remote, short_id
from witnesstree.types.settings import Settings

SETTINGS = Settings(Path(), Path())
QUICK = Bounds(connect_s=5, answer_s=5, total_s=20, tries=3, pause_s=0.001, rest_s=0)
KEY = "sk-very-secret-0123456789"


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    """A server that behaves until it is told otherwise."""
    with serving() as running:
        yield running


class Asked:
    """An embedder at a server, with the pauses that it made instead of sleeping."""

    def __init__(self, server: EmbeddingServer, bounds: Bounds = QUICK) -> None:
        self.pauses: list[float] = []
        where = Endpoint.of(f"{server.url}/v1/embeddings", "embedder")
        self.client = Client(where, {"Authorization": f"Bearer {KEY}"}, bounds=bounds, sleep=self.pauses.append)
        self.embedder = RemoteEmbedder("http:", "m-1", self.client)

    def fails(self, reason: str) -> ProviderError:
        """Ask for a vector, and return the error, which is one line without the key."""
        with pytest.raises(ProviderError) as caught:
            self.embedder.embed(["a pear"])
        assert caught.value.reason == reason
        text = str(caught.value)
        assert KEY not in text and "\n" not in text and len(text) < 200
        assert KEY not in json.dumps(caught.value.to_dict())
        return caught.value


# -- what is sent, and what comes of a good answer ----------------------------------------------------------------------------


def test_texts_are_posted_as_documented_and_vectors_come_back_in_order(server: EmbeddingServer) -> None:
    """One POST below the base URL with model and texts; rows of length 1; what is blank is not sent."""
    asked = Asked(server)
    vectors = asked.embedder.embed(["a pear", "", " \n", "the automobile"])
    (exchange,) = server.seen
    assert exchange.path == "/v1/embeddings"
    assert exchange.document == {"model": "m-1", "input": ["a pear", "the automobile"]}
    assert exchange.headers["Authorization"] == f"Bearer {KEY}"
    assert (vectors.shape, vectors.dtype) == ((4, 32), np.float32)
    assert np.allclose(np.linalg.norm(vectors, axis=1), [1, 0, 0, 1])
    wanted = np.array(vector_of("the automobile", 32))
    assert np.allclose(vectors[3], wanted / np.linalg.norm(wanted))
    assert asked.embedder.embed_query("car") @ vectors[3] > 0.5
    assert (asked.embedder.dim, asked.embedder.embed([]).shape) == (32, (0, 32))
    assert (asked.client.usage.answers, asked.client.usage.tries, asked.client.usage.tokens) == (2, 2, 14)


def test_making_an_embedder_sends_nothing_and_blank_texts_need_no_provider() -> None:
    """There is nobody at this port."""
    embedder = make_embedder("http://127.0.0.1:9/v1#m-1")
    assert isinstance(embedder, RemoteEmbedder)
    assert (embedder.id, embedder.dim, embedder.floor) == ("http:m-1", 0, 0.8)
    assert embedder.embed(["", "  "]).shape == (2, 0)


def test_shuffled_answers_are_put_in_order(server: EmbeddingServer) -> None:
    """The index counts, not the place."""

    def shuffled(exchange: Exchange) -> None:
        exchange.send_json(exchange.answer | {"data": exchange.answer["data"][::-1]})

    straight = Asked(server).embedder.embed(["a pear", "a plum", "an apple"])
    server.script = [shuffled]
    assert np.array_equal(Asked(server).embedder.embed(["a pear", "a plum", "an apple"]), straight)


def test_requests_are_bounded_in_texts_and_bytes_and_long_texts_are_cut(server: EmbeddingServer) -> None:
    """64 texts, 240,000 bytes, 8,000 bytes a text, whole characters; a lone surrogate does no harm."""
    texts = [f"pear {number}" for number in range(BATCH + 1)]
    assert Asked(server).embedder.embed(texts).shape == (BATCH + 1, 32)
    assert [len(exchange.document["input"]) for exchange in server.seen] == [BATCH, 1]
    server.seen.clear()
    Asked(server).embedder.embed(["é" * TEXT_BYTES, "x" + "é" * TEXT_BYTES, "a \ud800 pear", *["w" * 10_000] * 40])
    sent = [exchange.document["input"] for exchange in server.seen]
    assert all(sum(len(text.encode()) for text in batch) <= BATCH_BYTES for batch in sent)
    flat = server.texts
    assert len(flat) == 43 and len(sent) == 2
    assert (flat[0], flat[1], flat[2]) == ("é" * 4000, "x" + "é" * 3999, "a ? pear")
    assert set(flat[3:]) == {"w" * TEXT_BYTES}


@pytest.mark.parametrize("shown", ["m-1", "m-1-v2", "m-1:latest", "org/m-1", None])
def test_other_names_of_the_same_model_are_taken(server: EmbeddingServer, shown: str | None) -> None:
    """A version, a tag or a path added to the name that was asked for; or no name at all."""
    server.script = [lambda exchange: exchange.send_json(exchange.answer | {"model": shown})]
    assert Asked(server).embedder.embed(["a pear"]).any()


def test_zero_vectors_count_as_none(server: EmbeddingServer) -> None:
    """A model that knows nothing of a text says so by zeros (case G-06): no division by zero, no NaN."""
    server.script = [_with_embedding([0.0] * 32)]
    assert not Asked(server).embedder.embed(["a pear"]).any()


# -- answers that are wrong ---------------------------------------------------------------------------------------------------


def _with_embedding(numbers: Any) -> Callable[[Exchange], None]:
    def behave(exchange: Exchange) -> None:
        data = [item | {"embedding": numbers} for item in exchange.answer["data"]]
        exchange.send_json(exchange.answer | {"data": data})

    return behave


def _with(**changes: Any) -> Callable[[Exchange], None]:
    return lambda exchange: exchange.send_json(exchange.answer | changes)


def _raw(body: bytes, status: int = 200, **headers: str) -> Callable[[Exchange], None]:
    return lambda exchange: exchange.send(status, body, **headers)


WRONG = {
    "NaN": (_with_embedding([math.nan] * 32), "not_json"),
    "infinity": (_with_embedding([math.inf] * 32), "not_json"),
    "1e999": (_raw(b'{"data": [{"index": 0, "embedding": [1e999, 1.0]}]}'), "wrong_vector"),
    "huge": (_with_embedding([1e300] * 32), "wrong_vector"),
    "huge whole": (_with_embedding([10**400] * 32), "wrong_vector"),
    "5000 digits": (_raw(b'{"data": [{"index": 0, "embedding": [' + b"9" * 5000 + b"]}]}"), "not_json"),
    "text": (_with_embedding(["1.0"] * 32), "wrong_vector"),
    "bool": (_with_embedding([True] * 32), "wrong_vector"),
    "null": (_with_embedding(None), "wrong_vector"),
    "empty": (_with_embedding([]), "wrong_vector"),
    "base64": (_with_embedding("AACAPw=="), "wrong_vector"),
    "very long": (_with_embedding([1] * 20_000), "wrong_vector"),
    "none of them": (_with(data=[]), "wrong_count"),
    "one too many": (lambda e: e.send_json(e.answer | {"data": e.answer["data"] * 2}), "wrong_count"),
    "no list": (_with(data={"index": 0}), "wrong_answer"),
    "list of numbers": (_with(data=[1]), "wrong_answer"),
    "no data": (_raw(b"{}"), "wrong_answer"),
    "index 7": (_with(data=[{"index": 7, "embedding": [1.0]}]), "wrong_order"),
    "index true": (_with(data=[{"index": True, "embedding": [1.0]}]), "wrong_order"),
    "no index": (_with(data=[{"embedding": [1.0]}]), "wrong_order"),
    "other model": (_with(model="m-2"), "wrong_model"),
    "model 5": (_with(model=5), "wrong_model"),
    "no JSON": (_raw(b"<html>hello</html>"), "not_json"),
    "a list": (_raw(b"[]"), "not_json"),
    "a key twice": (_raw(b'{"data": [], "data": []}'), "not_json"),
    "no UTF-8": (_raw(b'{"model": "\xff"}'), "not_json"),
    "deep": (_raw(b"[" * 100_000), "not_json"),
    "zipped": (_raw(b"\x1f\x8b", Content_Encoding="gzip"), "not_json"),
    "redirect": (_raw(b"", 307, Location="http://127.0.0.1:9/elsewhere"), "redirect"),
    "bad request": (_raw(KEY.encode(), 400), "refused"),
    "bad key": (_raw(f"Incorrect API key provided: {KEY}".encode(), 401), "key_refused"),
    "no such path": (_raw(b"", 404), "not_found"),
    "too much": (_raw(b"", 413), "refused"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_answers_are_typed_errors_and_not_asked_for_again(server: EmbeddingServer, name: str) -> None:
    """Each has a reason; asking again would not help, so it is not done; the next good answer is taken."""
    behave, reason = WRONG[name]
    asked = Asked(server, replace(QUICK, rest_s=60))
    server.script = [behave]
    asked.fails(reason)
    assert len(server.seen) == 1 and not asked.pauses
    assert asked.embedder.embed(["a pear"]).any()


def test_another_dimension_than_before_is_refused(server: EmbeddingServer) -> None:
    """The first answer says how many numbers there are; both numbers are in the message. Also within one answer."""
    asked = Asked(server)
    asked.embedder.embed(["a pear"])
    server.dim = 16
    assert "16" in str(asked.fails("wrong_dimension")) and "32" in str(asked.fails("wrong_dimension"))
    server.script = [_with(data=[{"index": 0, "embedding": [1.0, 2.0]}, {"index": 1, "embedding": [1.0]}])]
    with pytest.raises(ProviderError, match="1 numbers an embedding; it had 2"):
        Asked(server).embedder.embed(["a pear", "a plum"])


@pytest.mark.parametrize("announced", [True, False])
def test_gigantic_answers_are_not_read_to_the_end(server: EmbeddingServer, announced: bool) -> None:
    """Whether the size is announced or not."""

    def gigantic(exchange: Exchange) -> None:
        if announced:
            exchange.send(200, b"[", length=10**12)
            return
        exchange.handler.send_response(200)
        exchange.handler.end_headers()
        while True:
            exchange.handler.wfile.write(b" " * 65_536)

    server.script = [gigantic]
    Asked(server, replace(QUICK, answer_bytes=1_000_000)).fails("too_large")


# -- providers that are slow, down or busy ------------------------------------------------------------------------------------


def test_failures_that_may_pass_are_tried_again_with_growing_random_pauses(server: EmbeddingServer) -> None:
    """500, then cut off in mid-body, then good."""

    def cut(exchange: Exchange) -> None:
        whole = json.dumps(exchange.answer).encode()
        exchange.send(200, whole[: len(whole) // 2], length=len(whole))
        exchange.handler.connection.shutdown(socket.SHUT_RDWR)

    server.script = [_raw(b"", 500), cut, good]
    asked = Asked(server, replace(QUICK, pause_s=1.0))
    assert asked.embedder.embed(["a pear"]).any()
    assert len(server.seen) == 3
    assert 0.5 <= asked.pauses[0] <= 1 and 1 <= asked.pauses[1] <= 2


@pytest.mark.parametrize(
    ("behave", "reason"),
    [
        (_raw(b"", 503), "server_failed"),
        (_raw(b"", 429), "rate_limited"),
        (lambda exchange: exchange.handler.connection.shutdown(socket.SHUT_RDWR), "broken_answer"),
        (lambda exchange: exchange.handler.wfile.write(b"nonsense\r\n\r\n"), "broken_answer"),
    ],
    ids=["503", "429", "hangs up", "no HTTP"],
)
def test_failures_that_last_end_after_the_last_try(server: EmbeddingServer, behave: Any, reason: str) -> None:
    """As often as allowed and no more."""
    server.otherwise = behave
    asked = Asked(server)
    asked.fails(reason)
    assert len(server.seen) == QUICK.tries and len(asked.pauses) == QUICK.tries - 1


def test_retry_after_is_honoured_within_bounds(server: EmbeddingServer) -> None:
    """Seconds or a date; a provider that asks for an hour is given up at once, and nonsense counts as nothing."""
    server.script = [_raw(b"", 429, Retry_After="7"), _raw(b"", 503, Retry_After="Thu, 01 Jan 1970 00:00:00 GMT"), good]
    asked = Asked(server)
    asked.embedder.embed(["a pear"])
    assert asked.pauses[0] == 7 and asked.pauses[1] < 1
    for value in ("3600", "Wed, 01 Jan 2110 00:00:00 GMT", "9" * 9):
        server.script, server.seen = [_raw(b"", 429, Retry_After=value)], []
        Asked(server).fails("rate_limited")
        assert len(server.seen) == 1
    for value in ("-5", "soon", "9" * 400, "1e3", "Wed, 99 Foo 9999 00:00:00 GMT"):
        server.script = [_raw(b"", 429, Retry_After=value), good]
        asked = Asked(server)
        asked.embedder.embed(["a pear"])
        assert asked.pauses[0] < 1


@pytest.mark.parametrize("how", ["hang", "drip"])
def test_answers_that_do_not_come_in_time_are_given_up(server: EmbeddingServer, how: str) -> None:
    """One that sends nothing, and one that sends a byte now and then for ever: the deadline is for the whole answer."""
    server.otherwise = getattr(server, how)
    asked = Asked(server, replace(QUICK, answer_s=0.2, tries=2))
    asked.fails("timeout")
    assert len(server.seen) == 2


def test_deadline_of_a_call_ends_its_tries(server: EmbeddingServer) -> None:
    """A call ends with its own bound, however many tries are left."""
    server.otherwise = server.hang
    asked = Asked(server, replace(QUICK, answer_s=0.2, total_s=0.3, tries=1000, pause_s=0.0001))
    asked.fails("timeout")
    assert len(server.seen) < 5


def test_provider_that_failed_is_left_alone_for_a_while(server: EmbeddingServer) -> None:
    """The next call fails at once with the same words; after the rest it is asked again."""
    server.otherwise = _raw(b"", 503)
    asked = Asked(server, replace(QUICK, rest_s=60))
    first = asked.fails("server_failed")
    count = len(server.seen)
    assert str(asked.fails("server_failed")) == str(first) and len(server.seen) == count
    server.otherwise = good
    asked.client._resting = (0.0, first)  # the rest is over
    assert asked.embedder.embed(["a pear"]).any()


@pytest.mark.parametrize("host", ["127.0.0.1:9", "a..b", "x" * 70])
def test_nobody_there_is_a_typed_error(host: str) -> None:
    """A port where nobody listens, and hosts that can't exist."""
    client = Client(Endpoint.of(f"http://{host}/v1", "embedder"), bounds=QUICK, sleep=lambda pause: None)
    with pytest.raises(ProviderError) as caught:
        client.post({})
    assert caught.value.reason == "unreachable"


def test_https_without_a_certificate_that_verifies_is_refused(server: EmbeddingServer) -> None:
    """A server that speaks no TLS gets nothing: no key, no text."""
    where = Endpoint.of(server.url.replace("http:", "https:"), "embedder")
    client = Client(where, {"Authorization": f"Bearer {KEY}"}, bounds=QUICK, sleep=lambda pause: None)
    with pytest.raises(ProviderError) as caught:
        client.post({"input": ["a pear"]})
    assert caught.value.reason == "broken_answer" and not server.seen


# -- names and keys -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "url", "identity"),
    [
        ("openai:text-embedding-3-small", "https://api.openai.com:443/v1/embeddings", "openai:text-embedding-3-small"),
        ("http://localhost:11434/v1#nomic-embed-text", "http://localhost:11434/v1/embeddings", "http:nomic-embed-text"),
        ("http://localhost:8080/v1/#a/b:c", "http://localhost:8080/v1/embeddings", "http:a/b:c"),
        ("https://example.com/x/embeddings#m", "https://example.com:443/x/embeddings", "http:m"),
        ("http://[::1]:8080#m", "http://[::1]:8080/embeddings", "http:m"),
    ],
)
def test_names_say_where_to_post_and_which_model(name: str, url: str, identity: str) -> None:
    """The id names the model and not the server, so that a server may move."""
    embedder = make_remote(name, replace(SETTINGS, openai_key=KEY))
    assert (str(embedder.client.endpoint), embedder.id) == (url, identity)


@pytest.mark.parametrize(
    "name",
    [
        "openai:",
        "openai:two words",
        "openai:modèle",
        "http://localhost:1/v1",
        "http://localhost:1/v1#",
        "http://#m",
        "http:///v1#m",
        "http://localhost:99999/v1#m",
        "http://localhost:0/v1#m",
        "http://local host/v1#m",
        "http://löcalhost/v1#m",
        "http://localhost/v1?key=hunter2#m",
        "http://me:hunter2@localhost/v1#m",
        "http://hunter2@localhost/v1#m",
        "http://[::1/v1#m",
        "http://localhost/v1\n#m",
        "http:localhost#m",
        "ftp://localhost/v1#m",
        "HTTP://hunter2@localhost/v1#m",
        "htttp://me:hunter2@localhost/v1#m",
    ],
)
def test_names_that_can_not_be_used_are_refused_in_one_line_without_secrets(name: str) -> None:
    """What is wrong is said when the embedder is made; a password in a URL is refused and not repeated."""
    with pytest.raises(InputError) as caught:
        as_embedder(name, SETTINGS)
    assert caught.value.attributes["field"] == "embedder"
    assert "hunter2" not in str(caught.value) and "\n" not in str(caught.value)


def test_base_url_of_openai_may_be_another_one() -> None:
    """From OPENAI_BASE_URL; a bad one is named as such."""
    at = replace(SETTINGS, openai_key=KEY, openai_base="http://127.0.0.1:8080/api")
    assert str(make_remote("openai:m", at).client.endpoint) == "http://127.0.0.1:8080/api/embeddings"
    with pytest.raises(InputError, match="OPENAI_BASE_URL"):
        make_remote("openai:m", replace(at, openai_base="http://me:hunter2@127.0.0.1"))


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("openai:m", ""),
        ("openai:m", " \n"),
        ("openai:m", "two\r\nX-Evil: lines"),
        ("openai:m", "clé"),
        ("http://example.com/v1#m", KEY),
    ],
)
def test_keys_that_can_not_be_used_are_refused_when_first_needed(name: str, key: str) -> None:
    """Missing, malformed, or about to cross a network unencrypted: an AccessError that names the variable, at the first use."""
    embedder = make_remote(name, replace(SETTINGS, openai_key=key, embedder_key=key))
    with pytest.raises(AccessError, match=r"OPENAI_API_KEY|WITNESSTREE_EMBEDDER_KEY") as caught:
        embedder.embed_query("a pear")
    assert not key.strip() or key.strip() not in str(caught.value)


def test_key_of_a_url_is_sent_and_no_key_is_sent_as_none(server: EmbeddingServer) -> None:
    """WITNESSTREE_EMBEDDER_KEY, with the line break that files end in taken off."""
    make_remote(server.embedder, replace(SETTINGS, embedder_key=f"{KEY}\n", openai_key="other")).embed(["a pear"])
    make_remote(server.embedder, replace(SETTINGS, openai_key="other")).embed(["a pear"])
    assert [exchange.headers.get("Authorization") for exchange in server.seen] == [f"Bearer {KEY}", None]


def test_keys_are_not_shown_by_what_holds_them() -> None:
    """Settings and embedders in a log or a traceback hold no key."""
    at = replace(SETTINGS, embedder_key=KEY, openai_key=KEY)
    embedder = make_remote("openai:m", at)
    assert KEY not in f"{at} {embedder!r} {embedder.client!r}"


@pytest.mark.parametrize(("given", "floor"), [("", 0.8), ("0.35", 0.35), ("0", 0.8)])
def test_floor_is_a_constant_or_what_the_environment_says(given: str, floor: float) -> None:
    """One high number for models that nobody here measured; lower for those whose scale is known."""
    assert make_remote("http://localhost#m", replace(SETTINGS, embedder_floor=given)).floor == floor
    assert make_remote("openai:text-embedding-3-small", SETTINGS).floor == 0.4
    for wrong in ("1", "-0.1", "nan", "high"):
        with pytest.raises(InputError, match="WITNESSTREE_EMBEDDER_FLOOR"):
            make_remote("http://localhost#m", replace(SETTINGS, embedder_floor=wrong))


def test_ids_are_short_and_distinct() -> None:
    """At most 64 ASCII characters, whatever the model's name is."""
    long = ["http:" + "x" * 150 + str(number) for number in range(3)]
    assert len({short_id(name) for name in long}) == 3
    assert all(len(short_id(name)) == 64 for name in long)
    assert short_id("http:" + "x" * 59) == "http:" + "x" * 59
