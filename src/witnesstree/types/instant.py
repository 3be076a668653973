"""Instants: aware datetimes outside, microseconds since 1970-01-01 UTC inside, ISO-8601 UTC text at doors."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final

from witnesstree.errors import InputError
from witnesstree.types.limits import MAX_YEAR, MIN_YEAR

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


MIN_INSTANT: Final = (datetime(MIN_YEAR, 1, 1, tzinfo=UTC) - _EPOCH) // _MICROSECOND
MAX_INSTANT: Final = (datetime(MAX_YEAR, 12, 31, 23, 59, 59, 999999, tzinfo=UTC) - _EPOCH) // _MICROSECOND


def parse_instant(value: object, field: str) -> int | None:
    """Return microseconds UTC of an aware datetime or ISO-8601 text with an offset; None stays None.

    A naive instant is refused, since nobody can say which moment it means. Numbers are refused: seconds or milliseconds?

    Raises:
        InputError: naive, unreadable, or outside the years 1900 to 2199 (threat T-D3).
    """
    if value is None:
        return None
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value if value.isascii() and value.isprintable() else "")
        except ValueError:
            raise InputError(f"{field} is not ISO-8601; write it like 2026-11-30T09:15:00+01:00", field=field) from None
    if not isinstance(value, datetime):
        raise InputError(f"{field} must be a datetime or ISO-8601 text, not {type(value).__name__}", field=field)
    if value.tzinfo is None or value.utcoffset() is None:
        raise InputError(f"{field} has no time zone; add an offset such as Z or +01:00", field=field)
    at = micros_of(value)
    if not MIN_INSTANT <= at <= MAX_INSTANT:
        raise InputError(f"{field} lies outside the years {MIN_YEAR} to {MAX_YEAR}", field=field)
    return at


def present(clock: Callable[[], object]) -> int:
    """Return the instant that a clock shows, microseconds UTC.

    Raises:
        InputError: it gives no aware datetime, or one outside the years 1900 to 2199.
    """
    at = parse_instant(clock(), "clock")
    if at is None:
        raise InputError("clock must give an aware datetime", field="clock")
    return at


def micros_of(instant: datetime) -> int:
    """Return microseconds since 1970-01-01 UTC of an aware datetime."""
    return (instant - _EPOCH) // _MICROSECOND


def to_iso(at: int | None) -> str | None:
    """Return the one text form of an instant: ISO-8601, UTC, ``Z``; microseconds only when there are any."""
    if at is None:
        return None
    return (_EPOCH + timedelta(microseconds=at)).isoformat().replace("+00:00", "Z")
