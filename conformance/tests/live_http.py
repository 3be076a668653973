"""A small memory server over HTTP, for tests: notes per owner, and faults on demand."""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit


class Notes(ThreadingHTTPServer):
    """Notes in memory.

    Attributes:
        is_leaky: reads and writes by id ask nobody whose note it is.
        asked: every request line, with its headers.
    """

    def __init__(self, *, is_leaky: bool = False) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.is_leaky = is_leaky
        self.notes: list[dict[str, Any]] = []
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.redirects_to = ""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def __enter__(self) -> Notes:
        Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self.shutdown()
        self.server_close()


class Handler(BaseHTTPRequestHandler):
    server: Notes

    def log_message(self, *arguments: Any) -> None:
        pass

    def answer(self, status: int, value: Any = None) -> None:
        body = b"" if value is None else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def body(self) -> Any:
        return json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"null")

    def note(self) -> dict[str, Any] | None:
        """The note of the path, if whoever asks may have it."""
        parts = urlsplit(self.path)
        owner = parse_qs(parts.query).get("owner", [""])[0]
        found = next((note for note in self.server.notes if note["id"] == parts.path.rsplit("/", 1)[-1]), None)
        return found if found is not None and (self.server.is_leaky or found["owner"] == owner) else None

    def handle_one(self) -> None:
        self.server.asked.append((f"{self.command} {self.path}", dict(self.headers)))
        parts = urlsplit(self.path)
        asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
        if self.server.redirects_to:
            self.send_response(302)
            self.send_header("Location", self.server.redirects_to)
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif self.command == "POST":
            note = self.body() | {"id": f"n{len(self.server.notes)}"}
            self.server.notes.append(note)
            self.answer(201, {"note": note})
        elif parts.path == "/notes":
            notes = [note for note in self.server.notes if asked.get("owner") in (note["owner"], None)]
            words = set(asked.get("query", "").lower().split())
            notes.sort(key=lambda note: -len(words & set(note["words"].lower().split())))
            self.answer(200, {"data": {"notes": notes}})
        elif (found := self.note()) is None:
            self.answer(404, {"error": "no such note"})
        elif self.command == "GET":
            self.answer(200, found)
        elif self.command == "PUT":
            found["words"] = self.body()["words"]
            self.answer(200, found)
        else:
            self.server.notes.remove(found)
            self.answer(204)

    do_GET = do_POST = do_PUT = do_DELETE = handle_one


SETTINGS = """
title = "Notes"
version = "7"
url = "{url}"

[channels]
external = "web page"

[remember]
request = "POST /notes"
body = {{ owner = "{{owner}}", words = "{{text}}", said_by = "{{channel}}", at = "{{at}}" }}
id = "note.id"

[recall]
request = "GET /notes?owner={{owner}}"
items = "data.notes"
text = "words"

[search]
request = "GET /notes?owner={{owner}}&query={{query}}"
items = "data.notes"
text = "words"

[get]
request = "GET /notes/{{id}}?owner={{owner}}"
text = "words"

[update]
request = "PUT /notes/{{id}}?owner={{owner}}"
body = {{ words = "{{text}}" }}

[erase]
request = "DELETE /notes/{{id}}?owner={{owner}}"
"""

if __name__ == "__main__":
    with Notes(is_leaky="--leaky" in sys.argv) as notes:
        print(notes.url, flush=True)
        sys.stdin.read()
