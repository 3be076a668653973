"""The subjects that come with the suite: a name, the adapter, and the environment it runs in."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass

from witnesstree_conformance.protocol import Subject


class UnknownSubject(Exception):
    """No such subject; the message says how to name one."""


@dataclass(frozen=True)
class Known:
    """A subject of the suite.

    Attributes:
        name: what the command line calls it.
        target: ``module:Class``.
        what: what it is, in a few words.
        requirements: name of its file in ``requirements/``; empty: it runs where the suite runs.
        npm: name of its folder in ``npm/`` with a lock file, for servers that run on node.
        is_slow: it takes minutes and runs only when asked for.
    """

    name: str
    target: str
    what: str = ""
    requirements: str = ""
    npm: str = ""
    is_slow: bool = False


def _known(name: str, target: str, what: str, requirements: str = "", *, npm: str = "", is_slow: bool = False) -> Known:
    return Known(name, f"witnesstree_conformance.subjects.{target}", what, requirements, npm, is_slow)


KNOWN: Mapping[str, Known] = {
    known.name: known
    for known in (
        _known("witnesstree-sqlite", "witnesstree:Sqlite", "Witnesstree, embedded store"),
        _known("witnesstree-sqlite-two-anchors", "witnesstree:SqliteTwoAnchors", "Witnesstree, its head also on another machine"),
        _known("reference", "reference:Reference", "a store that passes all tiers; shows that it can be done"),
        _known("chained-model", "chained:Chained", "a model of an unkeyed hash chain; no product"),
        _known("naive", "naive:Naive", "one SQLite table without any protection"),
        _known("langgraph-sqlite", "langgraph:SqliteSaver", "LangGraph SqliteSaver", "langgraph"),
        _known("langgraph-sqlite-aes", "langgraph:EncryptedSqliteSaver", "LangGraph SqliteSaver, encrypted", "langgraph"),
        _known("langgraph-store", "langgraph_store:SqliteStore", "LangGraph SqliteStore", "langgraph"),
        _known("langgraph-postgres", "langgraph_postgres:PostgresSaver", "LangGraph PostgresSaver", "langgraph"),
        _known("letta", "letta:BlockHistory", "Letta, history of memory blocks", "letta", is_slow=True),
        _known("mem0", "mem0:Mem0", "Mem0 with local Qdrant", "mem0"),
        _known("inspeximus", "inspeximus:Default", "inspeximus, defaults", "inspeximus"),
        _known("inspeximus-receipts", "inspeximus:Receipts", "inspeximus, receipts without a key", "inspeximus"),
        _known("inspeximus-receipts-key", "inspeximus:ReceiptsWithKey", "inspeximus, receipts with a key", "inspeximus"),
        _known("veramem", "veramem:Veramem", "VeraMem", "veramem"),
        _known("verel", "verel:Verel", "Verel, local store", "verel"),
        _known("server-memory", "server_memory:ServerMemory", "the reference MCP memory server (npm)", npm="server-memory"),
        _known("openai-agents", "openai_agents:SqliteSession", "OpenAI Agents SDK, SQLiteSession", "openai-agents"),
        _known("google-adk", "google_adk:DatabaseSession", "Google ADK, DatabaseSessionService", "google-adk"),
        _known("agno", "agno:SqliteMemory", "agno, user memories in SqliteDb", "agno"),
        _known("llamaindex", "llamaindex:SqlMemory", "LlamaIndex, Memory in SQLite", "llamaindex"),
        _known("chroma", "chroma:Persistent", "Chroma, PersistentClient", "chroma"),
    )
}


def find(name: str) -> Known:
    """Return a subject by its name, or one's own by ``my.module:Subject``.

    Raises:
        UnknownSubject: neither.
    """
    if name in KNOWN:
        return KNOWN[name]
    module, colon, attribute = name.partition(":")
    if colon and module and attribute:
        return Known(name, name)
    raise UnknownSubject(f"no subject is called {name!r}; 'wtree-conformance list' names them, your own is 'my.module:Subject'")


def load(target: str) -> type[Subject]:
    """Import the adapter at ``module:Class``.

    Raises:
        UnknownSubject: there is none.
    """
    module, _, attribute = target.partition(":")
    try:
        kind = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise UnknownSubject(f"{target} can't be imported: {error}") from error
    if not (isinstance(kind, type) and issubclass(kind, Subject)):
        raise UnknownSubject(f"{target} is no subclass of witnesstree_conformance.protocol.Subject")
    return kind
