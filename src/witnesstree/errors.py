"""One error tree, grouped by what the caller should do next.

Every class carries a stable ``code``, the HTTP status and the process exit code that doors use, and a ``reason`` (a short
machine-readable word, for example ``rollback``). Messages say what is, what was expected, and what to do. They never hold
memory content or keys.
"""

from __future__ import annotations

from typing import ClassVar


class Error(Exception):
    """Base of every error that this package raises on purpose."""

    code: ClassVar[str] = "error"
    http_status: ClassVar[int] = 500
    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, reason: str = "", **attributes: object) -> None:
        """Keep the message, a reason code and any values a program may want to read.

        Args:
            message: one line for a person.
            reason: one word for a program; the class's ``code`` when empty.
            attributes: values named in the message, readable as ``error.attributes``.
        """
        super().__init__(message)
        self.reason = reason or self.code
        self.attributes = attributes

    def to_dict(self) -> dict[str, object]:
        """Return the error as plain data for ``--json`` and HTTP bodies."""
        return {"code": self.code, "reason": self.reason, "message": str(self)} | {
            key: value if isinstance(value, int | float | bool | None) else str(value) for key, value in self.attributes.items()
        }


class InputError(Error):
    """An argument is wrong: fix it and call again."""

    code = "invalid_input"
    http_status = 400
    exit_code = 2


class AccessError(Error):
    """The caller may not do this: ask for a grant."""

    code = "access_denied"
    http_status = 403
    exit_code = 3


class NotFoundError(Error):
    """There is nothing under this id for this caller: check the id."""

    code = "not_found"
    http_status = 404
    exit_code = 4


class ConflictError(Error):
    """Somebody else was first: read again and retry."""

    code = "conflict"
    http_status = 409
    exit_code = 5


class IntegrityError(Error):
    """What was read is not what was written: stop, do not use the data."""

    code = "integrity"
    http_status = 424
    exit_code = 6


class SealError(IntegrityError):
    """A row is altered, forged, missing or in a wrong place."""


class LogError(IntegrityError):
    """The log or its head is missing, forked, rolled back or replaced."""


class IndexTamperError(IntegrityError):
    """An index or the schema of a store is not what this program created."""


class PackError(IntegrityError):
    """A pack, proof or signature does not verify."""


class UnsupportedError(Error):
    """This backend, version or option can't do it: pick another one."""

    code = "unsupported"
    http_status = 501
    exit_code = 7


class StoreError(Error):
    """The backend failed (busy, full, unreachable): retry later."""

    code = "store_failed"
    http_status = 503
    exit_code = 8


class ProviderError(Error):
    """A model provider failed: retry later."""

    code = "provider_failed"
    http_status = 502
    exit_code = 9
