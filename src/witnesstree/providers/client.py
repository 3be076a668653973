"""A thin HTTP client for providers of models: one JSON document is posted, one comes back, bounded in time, size and tries.

It follows no redirect, reads no environment and keeps no connection. What goes wrong is a ``ProviderError`` in one line that
never holds a key or anything that the other side sent.
"""

from __future__ import annotations

import io
import ipaddress
import json
import re
import secrets
import socket
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any, Final
from urllib.parse import urlsplit

from witnesstree.errors import InputError, ProviderError
from witnesstree.types.wire import parse_json

_HOST: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,251}[A-Za-z0-9])?")
_PRINTABLE: Final = re.compile(r"[!-~]*")
_SECONDS: Final = re.compile(r"[0-9]{1,9}")
_PIECE: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class Bounds:
    """How long and how often a provider is asked, and how much of its answer is read.

    Args:
        connect_s: until a connection stands, one address.
        answer_s: until the answer to one try is there as a whole.
        total_s: for everything that one call does, pauses and tries included.
        tries: how often it is asked in one call.
        pause_s: before the second try; doubled each time, of which a random part from half to all is waited.
        longest_pause_s: a provider that asks to wait longer than this is given up.
        rest_s: so long it is not asked again after it failed; calls fail at once then, so that nothing waits for it in vain.
        answer_bytes: most that is read of an answer.
    """

    connect_s: float = 5.0
    answer_s: float = 20.0
    total_s: float = 30.0
    tries: int = 4
    pause_s: float = 0.5
    longest_pause_s: float = 10.0
    rest_s: float = 15.0
    answer_bytes: int = 32 * 1024 * 1024


@dataclass(slots=True)
class Usage:
    """What a client did: answers that it got, tries that it made, and what the provider counted as tokens."""

    answers: int = 0
    tries: int = 0
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where documents are posted to."""

    is_secure: bool
    host: str
    port: int
    path: str

    @classmethod
    def of(cls, url: str, field: str) -> Endpoint:
        """Return the endpoint of an ``http:`` or ``https:`` URL.

        Args:
            url: without user, password, query and fragment.
            field: the name of the argument or variable that it came in by.

        Raises:
            InputError: it is no such URL. The message does not repeat it: it may hold a password.
        """
        try:
            parts = urlsplit(url)
            host, port = parts.hostname or "", parts.port
        except ValueError:
            raise InputError(f"{field} is not a URL", field=field) from None
        if not _PRINTABLE.fullmatch(url):
            raise InputError(f"{field} may hold printable ASCII characters only", field=field)
        if parts.scheme not in ("http", "https"):
            raise InputError(f"{field} must begin with http:// or https://", field=field)
        if "@" in parts.netloc:
            raise InputError(
                f"{field} holds a user name or password, which would end up in logs; take it out of the URL", field=field
            )
        if parts.query or "?" in url:
            raise InputError(f"{field} may have no '?' and nothing behind it", field=field)
        if not (_is_address(host) or _HOST.fullmatch(host)) or port == 0:
            raise InputError(f"{field} names no host", field=field)
        is_secure = parts.scheme == "https"
        return cls(is_secure, host, port or (443 if is_secure else 80), parts.path.rstrip("/"))

    def below(self, path: str) -> Endpoint:
        """Return the endpoint whose path ends with ``path``; this one if it does already."""
        if self.path.endswith(path):
            return self
        return Endpoint(self.is_secure, self.host, self.port, self.path + path)

    @property
    def is_this_machine(self) -> bool:
        """Whether what is sent there does not leave this machine."""
        return self.host == "localhost" or (_is_address(self.host) and ipaddress.ip_address(self.host).is_loopback)

    def __str__(self) -> str:
        """Return it as a URL."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.is_secure else 'http'}://{host}:{self.port}{self.path}"


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return "%" not in host


class _FailedTry(Exception):
    """Why one try gave nothing, and whether another one may."""

    def __init__(
        self, reason: str, message: str, *, may_pass: bool = False, status: int | None = None, wait_s: float = 0
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.may_pass = may_pass
        self.status = status
        self.wait_s = wait_s


class Client:
    """Posts documents to one endpoint. Safe to use from many threads."""

    def __init__(
        self,
        endpoint: Endpoint,
        headers: Mapping[str, str] | None = None,
        *,
        bounds: Bounds | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Connect to nothing yet.

        Args:
            endpoint: where to.
            headers: sent with each document; a key belongs here.
            bounds: how long, how often, how much.
            sleep: waits between tries (for tests).
        """
        self.endpoint = endpoint
        self.usage = Usage()
        self._headers = dict(headers or {})
        self._bounds = bounds or Bounds()
        self._sleep = sleep
        self._lock = threading.Lock()
        self._resting: tuple[float, ProviderError] | None = None

    def post(self, document: Mapping[str, Any], *, total_s: float | None = None) -> dict[str, Any]:
        """Send a JSON document; return the JSON object that comes back.

        Args:
            document: in plain JSON types.
            total_s: a shorter bound for everything than the client's own.

        Raises:
            ProviderError: there is no connection, no answer in time, or none that is a JSON object; or the provider refuses.
        """
        self._refuse_while_resting()
        data = json.dumps(document).encode()
        deadline = time.monotonic() + min(total_s or self._bounds.total_s, self._bounds.total_s)
        for number in range(1, self._bounds.tries + 1):
            try:
                answer = self._try_once(data, deadline)
            except _FailedTry as failed:
                pause = max(failed.wait_s, self._bounds.pause_s * 2 ** (number - 1) * secrets.SystemRandom().uniform(0.5, 1))
                is_over = number == self._bounds.tries or time.monotonic() + pause >= deadline
                if not failed.may_pass or is_over or pause > self._bounds.longest_pause_s:
                    raise self._given_up(failed) from None
                self._sleep(pause)
            else:
                self._count(answer)
                return answer
        raise AssertionError("unreachable")

    def _refuse_while_resting(self) -> None:
        resting = self._resting
        if resting is not None and time.monotonic() < resting[0]:
            raise ProviderError(str(resting[1]), reason=resting[1].reason, **resting[1].attributes)

    def _given_up(self, failed: _FailedTry) -> ProviderError:
        error = ProviderError(f"{self.endpoint} {failed}", reason=failed.reason, status=failed.status)
        if failed.may_pass:
            self._resting = time.monotonic() + self._bounds.rest_s, error
        return error

    def _count(self, answer: dict[str, Any]) -> None:
        used = answer.get("usage")
        tokens = used.get("total_tokens") if isinstance(used, dict) else 0
        with self._lock:
            self._resting = None
            self.usage.answers += 1
            self.usage.tokens += tokens if type(tokens) is int and 0 < tokens < 2**40 else 0

    def _try_once(self, data: bytes, deadline: float) -> dict[str, Any]:
        with self._lock:
            self.usage.tries += 1
        try:
            body = self._exchanged(data, deadline)
        except ssl.SSLCertVerificationError:
            raise _FailedTry("certificate", "shows a certificate that does not verify; check the URL and the clock") from None
        except TimeoutError:
            raise _FailedTry("timeout", "does not answer in time; try again later", may_pass=True) from None
        except UnicodeError:
            raise _FailedTry("unreachable", "can't be reached (no such host); check the URL") from None
        except (HTTPException, ssl.SSLError, ValueError):
            raise _FailedTry("broken_answer", "breaks off or speaks no HTTP; check the URL", may_pass=True) from None
        except OSError as error:
            why = "no such host" if isinstance(error, socket.gaierror) else (error.strerror or type(error).__name__).lower()
            raise _FailedTry("unreachable", f"can't be reached ({why}); check that it runs", may_pass=True) from None
        try:
            answer = parse_json(body.decode())
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict):
            raise _FailedTry("not_json", "answers with something that is no JSON object; check the URL")
        return answer

    def _exchanged(self, data: bytes, deadline: float) -> bytes:
        """Return the body of the answer to one try."""
        where, bounds = self.endpoint, self._bounds
        with socket.create_connection(
            (where.host, where.port), _left(min(deadline, time.monotonic() + bounds.connect_s))
        ) as plain:
            connection: HTTPConnection = HTTPConnection(where.host, where.port)
            line = plain
            if where.is_secure:
                context = ssl.create_default_context()
                connection = HTTPSConnection(where.host, where.port, context=context)
                line = context.wrap_socket(plain, server_hostname=where.host)
            with line:
                timed: Any = _TimedLine(line, min(deadline, time.monotonic() + bounds.answer_s))
                connection.sock = timed
                connection.request("POST", where.path or "/", body=data, headers=self._all_headers())
                return self._read(connection.getresponse())

    def _all_headers(self) -> dict[str, str]:
        ours = {"Content-Type": "application/json", "Accept": "application/json", "Accept-Encoding": "identity"}
        return ours | {"User-Agent": "witnesstree", "Connection": "close"} | self._headers

    def _read(self, answer: HTTPResponse) -> bytes:
        _refuse_status(answer)
        if answer.getheader("Content-Encoding", "identity").lower() != "identity":
            raise _FailedTry("not_json", "answers in an encoding that was not asked for")
        most = self._bounds.answer_bytes
        pieces, size = [], answer.length or 0
        if size <= most:
            size = 0
            while size <= most and (piece := answer.read(_PIECE)):
                pieces.append(piece)
                size += len(piece)
        if size > most:
            raise _FailedTry("too_large", f"answers with more than {most} bytes")
        if answer.length:
            raise HTTPException("cut off")
        return b"".join(pieces)


def _refuse_status(answer: HTTPResponse) -> None:
    """Raise for every status but 200, with what to do. What the provider wrote about it is not repeated: it may hold anything."""
    status = answer.status
    if status == 200:
        return
    if 300 <= status < 400:
        raise _FailedTry("redirect", f"sends elsewhere ({status}), which is not followed; give the right URL", status=status)
    if status in (401, 403):
        raise _FailedTry("key_refused", f"refuses the key, or wants one ({status}); set the right one", status=status)
    if status == 404:
        raise _FailedTry("not_found", "has no such path or model (404); check the URL and the model's name", status=status)
    if status == 429:
        raise _FailedTry(
            "rate_limited",
            "wants fewer requests, or its quota is used up (429); try again later",
            may_pass=True,
            status=status,
            wait_s=_wait_of(answer.getheader("Retry-After", "")),
        )
    if status >= 500:
        wait_s = _wait_of(answer.getheader("Retry-After", ""))
        raise _FailedTry("server_failed", f"failed ({status}); try again later", may_pass=True, status=status, wait_s=wait_s)
    raise _FailedTry("refused", f"refuses the request ({status}); check the model's name and what it takes", status=status)


def _wait_of(value: str) -> float:
    """Return the seconds that a ``Retry-After`` asks for (RFC 9110); 0 for anything else."""
    if _SECONDS.fullmatch(value.strip()):
        return float(value)
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError, OSError):
        return 0.0


def _left(deadline: float) -> float:
    """Return the seconds until a deadline.

    Raises:
        TimeoutError: it has passed.
    """
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


class _TimedLine:
    """A connected socket with one deadline for all that is done with it: a provider can't hold a call by dripping bytes."""

    def __init__(self, line: socket.socket, deadline: float) -> None:
        self._line = line
        self._deadline = deadline

    def sendall(self, data: bytes) -> None:
        self._line.settimeout(_left(self._deadline))
        self._line.sendall(data)

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(_TimedReader(self._line, self._deadline))

    def close(self) -> None:
        """Leave it to its owner."""


class _TimedReader(io.RawIOBase):
    def __init__(self, line: socket.socket, deadline: float) -> None:
        self._line = line
        self._deadline = deadline

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._line.settimeout(_left(self._deadline))
        return self._line.recv_into(buffer)
