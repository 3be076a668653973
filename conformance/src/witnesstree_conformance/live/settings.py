"""The settings of a live server: where it is, and which of its calls is which verb. Nothing is asked without consent."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

VERBS = ("remember", "recall", "search", "get", "context", "recall_anyone", "audit", "update", "erase")
NEEDED = ("remember", "recall")
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
CHANNELS: Mapping[str, str] = {"user": "user", "external": "document", "laundered": "user", "agent": "user"}
PLACEHOLDERS = frozenset({"owner", "text", "at", "session", "channel", "query", "k", "id"})
METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE"})
_PLACEHOLDER = re.compile(r"\{(\w*)\}")
_VARIABLE = re.compile(r"\$\{(\w+)\}")


class SettingsError(ValueError):
    """A settings file can't be used; the message says what to change, in one line."""


@dataclass(frozen=True)
class Verb:
    """One call of the server.

    Attributes:
        method, path: of a request; empty for MCP.
        tool: name of an MCP tool; empty for HTTP.
        body: what is sent, with placeholders; the arguments of a tool.
        items: where in the answer the list of entries is, keys joined by dots.
        text: where in an entry, or in the answer of ``context``, the words are.
        id: where in the answer of ``remember`` the id is.
        absent: HTTP status codes that mean "no such entry".
    """

    method: str = ""
    path: str = ""
    tool: str = ""
    body: Any = None
    items: str = ""
    text: str = "text"
    id: str = "id"
    absent: tuple[int, ...] = (404,)


@dataclass(frozen=True)
class Settings:
    """A live server.

    Attributes:
        url: of an HTTP interface. mcp_url: of an MCP server. mcp_command: starts an MCP server that speaks on its standard input.
        title, version: shown in reports.
        timeout_s: for each call.
        headers: sent with every request.
        channels: what the server calls each channel.
        refusals: HTTP status codes by which the server says that integrity was violated.
        verbs: name → call.
    """

    title: str
    version: str = ""
    url: str = ""
    mcp_url: str = ""
    mcp_command: tuple[str, ...] = ()
    timeout_s: float = 30.0
    headers: Mapping[str, str] = field(default_factory=dict)
    channels: Mapping[str, str] = field(default_factory=lambda: dict(CHANNELS))
    refusals: tuple[int, ...] = ()
    verbs: Mapping[str, Verb] = field(default_factory=dict)


def read(file: Path, allowed_hosts: Collection[str] = (), environ: Mapping[str, str] | None = None) -> Settings:
    """Read and check a settings file.

    Args:
        file: TOML.
        allowed_hosts: hosts, beside this machine, whose owner agreed to be measured.
        environ: variables for ``${NAME}`` in headers; not looked up if it is ``None``.

    Raises:
        SettingsError: the file can't be used.
    """
    try:
        given = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(f"{file} can't be read: {error.strerror}") from error
    except ValueError as error:
        raise SettingsError(f"{file} is no TOML: {' '.join(str(error).split())}") from error
    try:
        return _settings(given, allowed_hosts, environ)
    except SettingsError as error:
        raise SettingsError(f"{file}: {error}") from error


def _settings(given: Mapping[str, Any], allowed_hosts: Collection[str], environ: Mapping[str, str] | None) -> Settings:
    known = set(Settings.__dataclass_fields__) - {"verbs"}
    unknown = sorted(set(given) - known - set(VERBS))
    if unknown:
        raise SettingsError(f"unknown key '{unknown[0]}'; verbs are {', '.join(VERBS)}")
    ways = [name for name in ("url", "mcp_url", "mcp_command") if given.get(name)]
    if len(ways) != 1:
        raise SettingsError("give one of 'url', 'mcp_url' and 'mcp_command'")
    for name in ("title", "version", "url", "mcp_url"):
        _typed(given, name, str, "text")
    _typed(given, "timeout_s", (int, float), "a number of seconds")
    _typed(given, "mcp_command", list, 'a list of words, such as ["node", "server.js"]')
    _typed(given, "refusals", list, "a list of HTTP status codes")
    if not given.get("title"):
        raise SettingsError("'title' is missing: what reports call the server")
    for name in ("url", "mcp_url"):
        if given.get(name):
            _check_host(given[name], allowed_hosts)
    missing = [name for name in NEEDED if name not in given]
    if missing:
        raise SettingsError(f"[{missing[0]}] is missing: every store can do that")
    return Settings(
        title=given["title"],
        version=given.get("version", ""),
        url=given.get("url", "").rstrip("/"),
        mcp_url=given.get("mcp_url", ""),
        mcp_command=tuple(str(word) for word in given.get("mcp_command", ())),
        timeout_s=float(given.get("timeout_s", 30.0)),
        headers=_headers(_table(given, "headers"), environ),
        channels=dict(CHANNELS) | _channels(_table(given, "channels")),
        refusals=_codes(given.get("refusals", []), "refusals"),
        verbs={name: _verb(name, _table(given, name), is_http=ways == ["url"]) for name in VERBS if name in given},
    )


def _typed(given: Mapping[str, Any], name: str, kind: type | tuple[type, ...], what: str) -> None:
    if name in given and (not isinstance(given[name], kind) or isinstance(given[name], bool)):
        raise SettingsError(f"'{name}' must be {what}")


def _table(given: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = given.get(name, {})
    if not isinstance(found, dict):
        raise SettingsError(f"'{name}' must be a table")
    return found


def _codes(values: Any, name: str) -> tuple[int, ...]:
    if not isinstance(values, list) or not all(isinstance(code, int) and 100 <= code < 600 for code in values):
        raise SettingsError(f"'{name}' must be a list of HTTP status codes")
    return tuple(values)


def _check_host(url: str, allowed: Collection[str]) -> None:
    """Refuse a host that nobody consented for: only this machine is measured unasked."""
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError as error:
        raise SettingsError(f"{url!r} is no address: {error}") from error
    if parts.scheme not in {"http", "https"} or not host:
        raise SettingsError(f"{url!r} is no address that begins with http:// or https://")
    if parts.username or parts.password:
        raise SettingsError("credentials belong into 'headers', as ${NAME} of an environment variable, and not into the address")
    if host not in LOOPBACK | {name.lower() for name in allowed}:
        raise SettingsError(f"{host} is not this machine: if its owner agreed to be attacked, say so with --allow-host {host}")


def _headers(given: Mapping[str, Any], environ: Mapping[str, str] | None) -> dict[str, str]:
    found = {}
    for name, value in given.items():
        if not isinstance(value, str):
            raise SettingsError(f"the header '{name}' must be text")
        found[name] = value if environ is None else _with_variables(value, environ)
    return found


def _with_variables(value: str, environ: Mapping[str, str]) -> str:
    for variable in _VARIABLE.findall(value):
        if variable not in environ:
            raise SettingsError(f"${{{variable}}} is not set; set it, and pass it on with --pass-env {variable}")
    return _VARIABLE.sub(lambda match: environ[match[1]], value)


def _channels(given: Mapping[str, Any]) -> dict[str, str]:
    for name, value in given.items():
        if name not in CHANNELS or not isinstance(value, str):
            raise SettingsError(
                f"[channels] says what the server calls {', '.join(CHANNELS)}; '{name}' is none of them, or no text"
            )
    return dict(given)


def _verb(name: str, given: Mapping[str, Any], *, is_http: bool) -> Verb:
    wanted, kind = ("request", "an HTTP interface") if is_http else ("tool", "an MCP server")
    unknown = sorted(set(given) - {"request", "tool", "body", "items", "text", "id", "absent"})
    if unknown:
        raise SettingsError(f"[{name}]: unknown key '{unknown[0]}'")
    if not isinstance(given.get(wanted), str):
        raise SettingsError(f"[{name}]: '{wanted}' is missing; {kind} needs it")
    for key in ("items", "text", "id"):
        _typed(given, key, str, "text: keys joined by dots")
    method, path = "", ""
    if is_http:
        method, _, path = given["request"].strip().partition(" ")
        if method not in METHODS or not path.strip().startswith("/"):
            raise SettingsError(f"[{name}]: 'request' must be a method and a path, such as \"GET /memories?user={{owner}}\"")
    for text in _texts([path, given.get("body")]):
        for placeholder in _PLACEHOLDER.findall(text):
            if placeholder not in PLACEHOLDERS:
                known = ", ".join(sorted(PLACEHOLDERS))
                raise SettingsError(f"[{name}]: {{{placeholder}}} is unknown; placeholders are {known}")
    return Verb(
        method=method,
        path=path.strip(),
        tool=given.get("tool", "") if not is_http else "",
        body=given.get("body"),
        items=given.get("items", ""),
        text=given.get("text", "text"),
        id=given.get("id", "id"),
        absent=_codes(given.get("absent", [404]), "absent"),
    )


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        return [text for inner in value.values() for text in _texts(inner)]
    return [text for inner in value for text in _texts(inner)] if isinstance(value, list) else []


def filled(value: Any, values: Mapping[str, Any]) -> Any:
    """Return a body with its placeholders replaced. A text that is one placeholder alone becomes the value itself."""
    if isinstance(value, str):
        alone = _PLACEHOLDER.fullmatch(value)
        if alone:
            return values[alone[1]]
        return _PLACEHOLDER.sub(lambda match: str(values[match[1]]), value)
    if isinstance(value, Mapping):
        return {key: filled(inner, values) for key, inner in value.items()}
    return [filled(inner, values) for inner in value] if isinstance(value, list) else value


def filled_path(path: str, values: Mapping[str, Any]) -> str:
    """Return a path with its placeholders replaced, each quoted so that it stays one segment or parameter."""
    return _PLACEHOLDER.sub(lambda match: quote(str(values[match[1]]), safe=""), path)


def at(value: Any, path: str) -> Any:
    """Return what is inside a value at keys joined by dots; the value itself for no key.

    Raises:
        LookupError: nothing is there.
    """
    for key in path.split(".") if path else ():
        if isinstance(value, list) and key.isdecimal():
            value = value[int(key)]
        elif isinstance(value, Mapping) and key in value:
            value = value[key]
        else:
            raise LookupError(f"the answer has no '{path}'")
    return value
