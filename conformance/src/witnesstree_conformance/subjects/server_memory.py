"""The reference MCP memory server (npm): a graph of entities and relations, one JSON line each, asked over stdio."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from witnesstree_conformance.protocol import Entry, Item, NotApplicable, Place, Raw, Subject
from witnesstree_conformance.sql_raw import flipped, json_leaves, replace_in

PACKAGE = "node_modules/@modelcontextprotocol/server-memory"
PROTOCOL = "2025-06-18"
HAS = "has"
Line = dict[str, Any]


def graph_file(place: Place) -> Path:
    """Return the server's file."""
    return place.store / "memory.jsonl"


def _package() -> Path:
    return Path(os.environ["WTREE_CONFORMANCE_NODE"]) / PACKAGE


class ServerMemoryRaw(Raw):
    """Lines of the file: an entity per entry, and a relation that says whose it is."""

    def __init__(self, place: Place, tier: str) -> None:
        """Read the lines."""
        super().__init__(place, tier)
        self.lines: list[Line] = [json.loads(line) for line in graph_file(place).read_text().splitlines()]
        self.is_edited = False
        self.torn: Line | None = None

    def close(self) -> None:
        """Write the lines, if any was edited."""
        if self.is_edited:
            graph_file(self.place).write_text("\n".join(self._written(line) for line in self.lines))

    def _written(self, line: Line) -> str:
        text = json.dumps(line, separators=(",", ":"))
        return text[: len(text) // 2] if line is self.torn else text

    def _edit(self, edit: str) -> None:
        self.is_edited = True
        self.note(edit)

    def entries(self, owner: str) -> list[str]:
        """Return the names of the entities that an owner has."""
        return [line["to"] for line in self.lines if line["type"] == "relation" and line["from"] == owner]

    def _entity(self, slot: str) -> Line:
        return next(line for line in self.lines if line["type"] == "entity" and line["name"] == slot)

    def _relation(self, slot: str) -> Line:
        return next(line for line in self.lines if line["type"] == "relation" and line["to"] == slot)

    def _add(self, line: Line) -> None:
        """Put a line where the server would: entities before relations."""
        first = next((number for number, other in enumerate(self.lines) if other["type"] == "relation"), len(self.lines))
        self.lines.insert(first if line["type"] == "entity" else len(self.lines), line)
        self._edit(f"added the line {json.dumps(line)}")

    def _set(self, line: Line, key: str, value: Any) -> None:
        self._edit(f"in the line {json.dumps(line)} set {key} to {json.dumps(value)}")
        line[key] = value

    def _drop(self, line: Line) -> None:
        self.lines.remove(line)
        self._edit(f"removed the line {json.dumps(line)}")

    def change_text(self, slot: str, old: str, new: str, *, weak: bool = False) -> None:
        """Replace words in an observation."""
        entity = self._entity(slot)
        self._set(entity, "observations", [replace_in(words, old, new) for words in entity["observations"]])

    def remove(self, slots: Sequence[str], *, weak: bool = False) -> None:
        """Remove entities and their relations; weak: leave the relations."""
        for slot in slots:
            self._drop(self._entity(slot))
            if not weak:
                self._drop(self._relation(slot))

    def swap(self, first: str, second: str) -> None:
        """Exchange observations."""
        a, b = self._entity(first), self._entity(second)
        words = a["observations"]
        self._set(a, "observations", b["observations"])
        self._set(b, "observations", words)

    def copy_over(self, source: str, target: str) -> None:
        """Copy observations."""
        self._set(self._entity(target), "observations", self._entity(source)["observations"])

    def forge(self, like: str, old: str, new: str, *, weak: bool = False) -> None:
        """Add an entity with its relation; weak: without it."""
        entity, relation = self._entity(like), self._relation(like)
        fresh = f"ffff{entity['name'][4:]}"
        self._add(entity | {"name": fresh, "observations": [replace_in(words, old, new) for words in entity["observations"]]})
        if not weak:
            self._add(relation | {"to": fresh})

    def duplicate(self, slot: str) -> None:
        """Add a second line with the same name."""
        self._add(dict(self._entity(slot)))

    def reinsert(self, slot: str) -> None:
        """Take an entity's line away and put it behind the others."""
        entity = self._entity(slot)
        self._drop(entity)
        self._add(entity)

    def move(self, slot: str, owner: str) -> None:
        """Let the relation say that another owner has it."""
        self._set(self._relation(slot), "from", owner)

    def set_author(self, slot: str) -> None:
        """Set the type, which is all that says where words come from."""
        self._set(self._entity(slot), "entityType", "said by the administrator")

    def hide(self, slot: str) -> None:
        """Give the line a type that the server passes over."""
        self._set(self._entity(slot), "type", "archived")

    def unindex(self, slot: str) -> None:
        """Take away the relation by which an owner finds it."""
        self._drop(self._relation(slot))

    def spoil(self, slot: str) -> None:
        """Cut an entity's line in half."""
        self.torn = self._entity(slot)
        self._edit(f"cut the line {json.dumps(self.torn)} in half")

    def fields(self) -> list[str]:
        """Name the leaves of an entity's and a relation's line."""
        slot = self.entries("alice")[3]
        return [
            f"{kind}/{leaf}"
            for kind, line in (("entity", self._entity(slot)), ("relation", self._relation(slot)))
            for leaf in json_leaves(line)
        ]

    def flip(self, field: str) -> None:
        """Change one leaf."""
        kind, key, *_ = field.split("/")
        slot = self.entries("alice")[3]
        line = self._entity(slot) if kind == "entity" else self._relation(slot)
        self._set(line, key, [flipped(line[key][0])] if isinstance(line[key], list) else flipped(line[key]))


class ServerMemory(Subject):
    """The server as its documentation starts it; every entry is an entity that its owner has."""

    title = "MCP server-memory"
    kind = "server"
    config = "an entity per entry, related to its owner"

    @classmethod
    def version(cls) -> str:
        """Return the package's version."""
        return str(json.loads((_package() / "package.json").read_text())["version"])

    def open(self, place: Place) -> None:
        """Start the server and shake hands."""
        self._server = subprocess.Popen(
            ["node", str(_package() / "dist" / "index.js")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"MEMORY_FILE_PATH": str(graph_file(place))},
        )
        self._asked = 0
        client = {"name": "witnesstree-conformance", "version": "1"}
        self._ask("initialize", {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": client})
        self._send({"method": "notifications/initialized"})

    def close(self) -> None:
        """Close the server's input, and wait for its end."""
        self._server.communicate()

    def remember(self, entry: Entry) -> str:
        """Create an entity and its relation; its type says whether the words come from a document."""
        name = hashlib.sha256(f"{entry.owner} {entry.at} {entry.text}".encode()).hexdigest()[:16]
        kind = "document" if entry.channel == "external" else "said by the user"
        self._call(
            "create_entities",
            entities=[
                {"name": entry.owner, "entityType": "person", "observations": []},
                {"name": name, "entityType": kind, "observations": [entry.text]},
            ],
        )
        self._call("create_relations", relations=[{"from": entry.owner, "to": name, "relationType": HAS}])
        return name

    def recall(self, owner: str) -> Sequence[Item]:
        """Open the owner's node, and all that it has."""
        relations = self._call("open_nodes", names=[owner])["relations"]
        names = [relation["to"] for relation in relations if relation["from"] == owner]
        return [_item(entity) for entity in self._call("open_nodes", names=names)["entities"]]

    def search(self, owner: str, query: str, k: int) -> Sequence[Item]:
        """Say why not."""
        raise NotApplicable("its search looks for the whole query as one piece of text, and for no owner")

    def get(self, id: str, owner: str) -> Item | None:
        """Open a node, whoever asks."""
        return next((_item(entity) for entity in self._call("open_nodes", names=[id])["entities"]), None)

    def recall_anyone(self, query: str) -> Sequence[Item]:
        """Read the whole graph."""
        return [_item(entity) for entity in self._call("read_graph")["entities"]]

    def update(self, id: str, owner: str, text: str) -> None:
        """Put other words in the place of a node's, whoever asks."""
        for entity in self._call("open_nodes", names=[id])["entities"]:
            self._call("delete_observations", deletions=[{"entityName": id, "observations": entity["observations"]}])
        self._call("add_observations", observations=[{"entityName": id, "contents": [text]}])

    def erase(self, id: str, owner: str) -> None:
        """Delete a node, whoever asks."""
        self._call("delete_entities", entityNames=[id])

    def raw(self, place: Place, tier: str) -> ServerMemoryRaw:
        """Return the attacker's access."""
        return ServerMemoryRaw(place, tier)

    def _call(self, tool: str, **arguments: Any) -> Any:
        answer = self._ask("tools/call", {"name": tool, "arguments": arguments})
        if answer.get("isError"):
            raise ValueError(answer["content"][0]["text"])
        return answer["structuredContent"]

    def _ask(self, method: str, parameters: Any) -> Any:
        self._asked += 1
        self._send({"id": self._asked, "method": method, "params": parameters})
        assert self._server.stdout is not None
        for line in self._server.stdout:
            message = json.loads(line)
            if message.get("id") == self._asked:
                if "error" in message:
                    raise ValueError(message["error"]["message"])
                return message["result"]
        raise ConnectionError("the server ended without an answer")

    def _send(self, message: Line) -> None:
        assert self._server.stdin is not None
        self._server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self._server.stdin.flush()


def _item(entity: Line) -> Item:
    """Return every field of an entity, with its words as ``text``."""
    return {**entity, "text": entity["observations"][0] if entity["observations"] else None}
