"""The subjects that come with the suite: a name, the adapter, and the environment it runs in."""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from witnesstree_conformance.protocol import Subject

LIVE = "live:"
"""What the name of a running server begins with; the path of its settings follows."""


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


def file_name(name: str) -> str:
    """Return a subject's name as the name of a file."""
    return re.sub(r"[^\w.-]+", "-", name)


def find(name: str) -> Known:
    """Return a subject by its name, one's own by ``my.module:Subject``, or a server by ``live:SETTINGS.toml``.

    Raises:
        UnknownSubject: neither.
    """
    if name in KNOWN:
        return KNOWN[name]
    module, colon, attribute = name.partition(":")
    if colon and module and attribute:
        return Known(name, name)
    raise UnknownSubject(f"no subject is called {name!r}; 'wtree-conformance list' names them, your own is 'my.module:Subject'")


def load(known: Known, allowed_hosts: Collection[str] = ()) -> type[Subject]:
    """Return the adapter of a subject.

    Args:
        known: which.
        allowed_hosts: hosts, beside this machine, on which a live server may be measured.

    Raises:
        UnknownSubject: there is none.
    """
    if known.name.startswith(LIVE):
        from witnesstree_conformance.live import SettingsError, live_class, read

        try:
            return live_class(read(Path(known.name.removeprefix(LIVE)), allowed_hosts, os.environ))
        except SettingsError as error:
            raise UnknownSubject(str(error)) from error
    module, _, attribute = known.target.partition(":")
    try:
        kind = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise UnknownSubject(f"{known.target} can't be imported: {error}") from error
    if not (isinstance(kind, type) and issubclass(kind, Subject)):
        raise UnknownSubject(f"{known.target} is no subclass of witnesstree_conformance.protocol.Subject")
    return kind
