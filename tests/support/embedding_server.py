"""A real HTTP server on this machine that speaks the protocol of embeddings, and misbehaves when it is told to.

Texts that name the same things get vectors that are near: a small table says which words mean the same.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SAME = {"car": "automobile", "wheels": "automobile", "drive": "automobile", "sick": "illness", "fever": "illness", "kid": "child"}


def vector_of(text: str, dim: int) -> list[float]:
    """Return a vector, not of length 1, in which each distinct word has a place of its own."""
    numbers = [0.0] * dim
    for word in set(re.findall(r"\w+", text.lower())):
        if len(word) > 2:
            place = int.from_bytes(hashlib.sha256(SAME.get(word, word).encode()).digest()[:4], "big")
            numbers[place % dim] += 3.0
    return numbers if any(numbers) else [1.0] * dim


@dataclass
class Exchange:
    """One request as it arrived: its path, its headers, its document, and what the good answer is."""

    handler: Any
    path: str
    headers: dict[str, str]
    document: dict[str, Any]
    answer: dict[str, Any]

    def send(self, status: int, body: bytes, *, length: int | None = None, **headers: str) -> None:
        """Send a whole answer, or one that announces another length than it has."""
        self.handler.send_response(status)
        for name, value in headers.items():
            self.handler.send_header(name.replace("_", "-"), value)
        self.handler.send_header("Content-Length", str(len(body) if length is None else length))
        self.handler.end_headers()
        self.handler.wfile.write(body)

    def send_json(self, document: Any) -> None:
        """Send a document as a good answer."""
        self.send(200, json.dumps(document).encode())


Behaviour = Callable[[Exchange], None]


def good(exchange: Exchange) -> None:
    """Answer as the protocol says."""
    exchange.send_json(exchange.answer)


@dataclass
class EmbeddingServer:
    """What the server is, what it saw, and what it does next: the behaviours in ``script`` in turn, then ``otherwise``."""

    url: str = ""
    dim: int = 32
    seen: list[Exchange] = field(default_factory=list)
    script: list[Behaviour] = field(default_factory=list)
    otherwise: Behaviour = good
    released: threading.Event = field(default_factory=threading.Event)

    @property
    def embedder(self) -> str:
        """The name by which ``Memory.open`` takes it."""
        return f"{self.url}/v1#m-1"

    @property
    def texts(self) -> list[str]:
        """Every text that was sent, in order."""
        return [text for exchange in self.seen for text in exchange.document["input"]]

    def hang(self, exchange: Exchange) -> None:
        """Answer nothing until the test is over."""
        self.released.wait()

    def drip(self, exchange: Exchange) -> None:
        """Send one byte of the head at a time, for ever."""
        while not self.released.wait(0.02):
            exchange.handler.wfile.write(b"H")
            exchange.handler.wfile.flush()

    def answer_to(self, document: dict[str, Any]) -> dict[str, Any]:
        """Return the good answer to a document."""
        data = [
            {"object": "embedding", "index": index, "embedding": vector_of(text, self.dim)}
            for index, text in enumerate(document["input"])
        ]
        used = {"prompt_tokens": 7, "total_tokens": 7}
        return {"object": "list", "model": document["model"], "data": data, "usage": used}


@contextmanager
def serving(dim: int = 32) -> Iterator[EmbeddingServer]:
    """Run a server on a free port until the block is left."""
    told = EmbeddingServer(dim=dim)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            document = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            exchange = Exchange(self, self.path, dict(self.headers), document, told.answer_to(document))
            told.seen.append(exchange)
            behave = told.script.pop(0) if told.script else told.otherwise
            try:
                behave(exchange)
            except OSError:
                pass  # the client has gone away

        def log_message(self, format: str, *arguments: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    told.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield told
    finally:
        told.released.set()
        server.shutdown()
        server.server_close()
        thread.join()
