"""How a call reaches a server: plain HTTP, or MCP over streamable HTTP or standard input."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any, Protocol

from witnesstree_conformance.live.settings import Settings, SettingsError, Verb, filled, filled_path

EXTRA = "install the extra: pip install 'witnesstree-conformance[live]'"
MISSING = object()
"""What a call returns when the server says that there is no such entry."""


class ServerError(Exception):
    """The server answered with an error."""


class IntegrityRefused(ServerError):
    """The server answered with a status by which it says that integrity was violated."""


class Connection(Protocol):
    """An open way to a server."""

    def call(self, verb: Verb, values: Mapping[str, Any]) -> Any:
        """Return the answer of one call, decoded, or ``MISSING``.

        Raises:
            ServerError: the server answered with an error.
        """

    def close(self) -> None:
        """Let go of it."""


def connect(settings: Settings) -> Connection:
    """Open a way to the server.

    Raises:
        SettingsError: what is needed for it is not installed.
    """
    try:
        return HttpConnection(settings) if settings.url else McpConnection(settings)
    except ImportError as error:
        raise SettingsError(f"{error.name} is not installed; {EXTRA}") from error


class HttpConnection:
    """Requests with JSON. No redirects are followed, and no proxy or credentials of this machine are used."""

    def __init__(self, settings: Settings) -> None:
        """Make a client."""
        import httpx2

        self._settings = settings
        self._client = httpx2.Client(
            headers=dict(settings.headers), timeout=settings.timeout_s, follow_redirects=False, trust_env=False
        )

    def call(self, verb: Verb, values: Mapping[str, Any]) -> Any:
        """Send one request."""
        body = None if verb.body is None else filled(verb.body, values)
        answer = self._client.request(verb.method, self._settings.url + filled_path(verb.path, values), json=body)
        if answer.status_code in self._settings.refusals:
            raise IntegrityRefused(f"{answer.status_code}: {answer.text[:200]}")
        if answer.status_code in verb.absent:
            return MISSING
        if not 200 <= answer.status_code < 300:
            raise ServerError(f"{verb.method} {verb.path} gave {answer.status_code}: {answer.text[:200]}")
        return answer.json() if answer.content else None

    def close(self) -> None:
        """Close the client."""
        self._client.close()


class McpConnection:
    """Tools of an MCP server, called by the reference client."""

    def __init__(self, settings: Settings) -> None:
        """Start or reach the server, and shake hands."""
        import anyio.from_thread
        import httpx2
        from mcp import Client, StdioServerParameters
        from mcp.client.streamable_http import streamable_http_client

        self._open = ExitStack()
        try:
            portal = self._open.enter_context(anyio.from_thread.start_blocking_portal())
            self._portal = portal
            if settings.mcp_command:
                command, *arguments = settings.mcp_command
                server: Any = StdioServerParameters(command=command, args=arguments, env=dict(os.environ))
            else:
                asked = httpx2.AsyncClient(
                    headers=dict(settings.headers), timeout=settings.timeout_s, follow_redirects=False, trust_env=False
                )
                server = streamable_http_client(settings.mcp_url, http_client=asked)
            client = Client(server, read_timeout_seconds=settings.timeout_s)
            self._client = self._open.enter_context(portal.wrap_async_context_manager(client))
        except BaseException:
            self._open.close()
            raise

    def call(self, verb: Verb, values: Mapping[str, Any]) -> Any:
        """Call one tool."""
        answer = self._portal.call(self._client.call_tool, verb.tool, filled(verb.body or {}, values))
        texts = [part.text for part in answer.content if part.type == "text"]
        if answer.is_error:
            raise ServerError(" ".join(texts)[:200] or f"{verb.tool} failed")
        if answer.structured_content is not None:
            return answer.structured_content
        try:
            return json.loads("".join(texts))
        except ValueError:
            return "".join(texts)

    def close(self) -> None:
        """Take leave, and stop what was started."""
        self._open.close()
