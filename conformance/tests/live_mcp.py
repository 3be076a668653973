"""A small memory server that speaks MCP, for tests: FILE [PORT]."""

from __future__ import annotations

import json
import sys
import uuid
from pathlib import Path
from typing import Any

from mcp.server import MCPServer

server = MCPServer("notes")
FILE = Path(sys.argv[1] if len(sys.argv) > 1 else "notes.jsonl")


def notes() -> list[dict[str, Any]]:
    return [json.loads(line) for line in FILE.read_text().splitlines()] if FILE.exists() else []


@server.tool()
def add_note(owner: str, words: str, said_by: str) -> dict[str, Any]:
    """Add a note."""
    note = {"id": uuid.uuid4().hex, "owner": owner, "words": words, "said_by": said_by}
    with FILE.open("a") as file:
        file.write(json.dumps(note) + "\n")
    return note


@server.tool()
def notes_of(owner: str) -> dict[str, Any]:
    """Return the notes of an owner."""
    return {"notes": [note for note in notes() if note["owner"] == owner]}


@server.tool()
def note(id: str, owner: str) -> dict[str, Any]:
    """Return a note of an owner."""
    for found in notes():
        if found["id"] == id and found["owner"] == owner:
            return found
    raise ValueError("no such note")


SETTINGS = """
title = "MCP notes"
{way}

[remember]
tool = "add_note"
body = {{ owner = "{{owner}}", words = "{{text}}", said_by = "{{channel}}" }}

[recall]
tool = "notes_of"
body = {{ owner = "{{owner}}" }}
items = "notes"
text = "words"

[get]
tool = "note"
body = {{ id = "{{id}}", owner = "{{owner}}" }}
text = "words"
"""

if __name__ == "__main__":
    if len(sys.argv) > 2:
        server.run("streamable-http", port=int(sys.argv[2]))
    else:
        server.run()
