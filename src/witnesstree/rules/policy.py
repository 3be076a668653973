"""What a reader may see and has asked for: one predicate for every verb and every backend.

It runs before ranking on what the verified view knows, and again on the verified record (threats T-I1, T-I2 and T-I8).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from witnesstree.errors import InputError
from witnesstree.types.instant import parse_instant
from witnesstree.types.limits import MAX_WHERE_OPTIONS, MAX_WHERE_TERMS
from witnesstree.types.trust import MEMORY_KINDS, Authority, Kind, Status, Trust, name_of
from witnesstree.types.wire import canonical_json


class Facts(Protocol):
    """The fields of a memory that filters look at: a ``Record``, or a row of the verified view."""

    @property
    def kind(self) -> int: ...
    @property
    def authority(self) -> int: ...
    @property
    def trust(self) -> int: ...
    @property
    def status(self) -> int: ...
    @property
    def recorded_at(self) -> int: ...
    @property
    def valid_from(self) -> int | None: ...
    @property
    def valid_to(self) -> int | None: ...
    @property
    def expires_at(self) -> int | None: ...
    @property
    def session(self) -> str: ...
    @property
    def scope(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Filter:
    """What a read asks for. Instants are microseconds UTC."""

    now: int
    kinds: frozenset[Kind] | None = None
    min_authority: Authority = Authority.NONE
    min_trust: Trust = Trust.REJECTED
    session: str = ""
    scope: str = ""
    as_of: int | None = None
    recorded_as_of: int | None = None
    inactive: bool = False

    @property
    def travels(self) -> bool:
        """Whether an older state is asked for, so that versions must be picked anew."""
        return self.as_of is not None or self.recorded_as_of is not None

    @property
    def is_plain(self) -> bool:
        """Whether every current, active memory is asked for."""
        return self == Filter(now=self.now)


def is_match(facts: Facts, wanted: Filter) -> bool:
    """Return whether a memory version is what the filter asks for."""
    if facts.kind not in MEMORY_KINDS or (wanted.kinds is not None and facts.kind not in wanted.kinds):
        return False
    if facts.authority < wanted.min_authority or facts.trust < wanted.min_trust:
        return False
    if (wanted.session and facts.session != wanted.session) or (wanted.scope and facts.scope != wanted.scope):
        return False
    if wanted.inactive:
        return True
    return facts.status == Status.ACTIVE and not is_over(facts, wanted.now if wanted.as_of is None else wanted.as_of)


def is_over(facts: Facts, at: int) -> bool:
    """Return whether a memory is no longer valid or has expired at an instant (the end itself is outside)."""
    return (facts.valid_to is not None and facts.valid_to <= at) or (facts.expires_at is not None and facts.expires_at <= at)


def version_as_of(versions: list[Any], wanted: Filter) -> Any | None:
    """Return the version that was known at ``recorded_as_of`` and true at ``as_of``; versions are oldest first."""
    known = [v for v in versions if wanted.recorded_as_of is None or v.recorded_at <= wanted.recorded_as_of]
    if wanted.as_of is not None:
        known = [v for v in known if v.valid_from is None or v.valid_from <= wanted.as_of]
    return known[-1] if known else None


_OPERATORS: Final = {"in", "gt", "gte", "lt", "lte", "exists"}
_INSTANTS: Final = {"at", "recorded_at", "valid_from", "valid_to", "expires_at"}

Where = Callable[[Mapping[str, Any]], bool]


def compile_where(where: object) -> Where | None:
    """Return a test for the small typed filter language of ``where`` (threat T-I3: nothing of it reaches an engine).

    ``{"field": value}`` tests equality, ``{"field": {"in": [...], "gt": x, "exists": true}}`` compares, ``and``, ``or`` and
    ``not`` combine. Fields are those of a hit (role, kind, name, session, scope, authority, trust, at, recorded_at, id,
    source) and ``metadata.KEY``. An unknown field matches nothing.

    Raises:
        InputError: an unknown operator, a wrong shape, or more than 32 comparisons.
    """
    if where is None:
        return None
    count = [0]

    def build(node: object, depth: int = 0) -> Where:
        if depth > MAX_WHERE_TERMS:
            raise InputError(f"where is nested deeper than {MAX_WHERE_TERMS} levels", field="where")
        if not isinstance(node, Mapping) or not node:
            raise InputError("where must be a non-empty object", field="where")
        if not all(isinstance(key, str) for key in node):
            raise InputError("where: names of fields are text", field="where")
        parts = [clause(key, value, depth + 1) for key, value in node.items()]
        return parts[0] if len(parts) == 1 else lambda item: all(part(item) for part in parts)

    def clause(key: str, value: object, depth: int) -> Where:
        if key in ("and", "or"):
            if not isinstance(value, list) or not value:
                raise InputError(f"where: {key} takes a non-empty list", field="where")
            parts = [build(item, depth) for item in value]
            choose = all if key == "and" else any
            return lambda item: choose(part(item) for part in parts)
        if key == "not":
            inner = build(value, depth)
            return lambda item: not inner(item)
        tests = value if isinstance(value, Mapping) else {"eq": value}
        if not all(isinstance(name, str) for name in tests):
            raise InputError("where: names of comparisons are text", field="where")
        count[0] += len(tests)
        if count[0] > MAX_WHERE_TERMS:
            raise InputError(f"where has more than {MAX_WHERE_TERMS} comparisons", field="where")
        compiled = [_comparison(key, name, operand) for name, operand in tests.items()]
        if not compiled:
            raise InputError(f"where: {key[:40]!r} has no comparison", field="where")
        return lambda item: all(test(_field(item, key)) for test in compiled)

    return build(where)


def _field(item: Mapping[str, Any], key: str) -> Any:
    if key.startswith("metadata."):
        metadata = item.get("metadata") or {}
        return metadata.get(key[len("metadata.") :])
    return None if key == "metadata" else item.get(key)


def _comparison(key: str, name: str, operand: object) -> Callable[[Any], bool]:
    if name not in _OPERATORS and name != "eq":
        raise InputError(f"where: unknown operator {name[:40]!r}; known are {', '.join(sorted(_OPERATORS))}", field="where")
    if name == "exists":
        if not isinstance(operand, bool):
            raise InputError("where: exists takes true or false", field="where")
        return lambda value: (value is not None) is operand
    if name == "in":
        if not isinstance(operand, list):
            raise InputError("where: in takes a list", field="where")
        if len(operand) > MAX_WHERE_OPTIONS:
            raise InputError(f"where: in takes at most {MAX_WHERE_OPTIONS} values", field="where")
        options = [_operand(key, option) for option in operand]

        def is_one_of(value: Any) -> bool:
            left = _value(key, value)
            return any(_same(left, option) for option in options)

        return is_one_of
    right = _operand(key, operand)
    if name == "eq":
        return lambda value: value is not None and _same(_value(key, value), right)
    if isinstance(right, bool) or not isinstance(right, int | float | str):
        raise InputError(f"where: {name} compares numbers, text or instants", field="where")

    def compare(value: Any) -> bool:
        left = _value(key, value)
        if isinstance(left, bool) or isinstance(left, str) is not isinstance(right, str):
            return False
        if not isinstance(left, int | float | str):
            return False
        return {
            "gt": lambda: left > right,  # type: ignore[operator]
            "gte": lambda: left >= right,  # type: ignore[operator]
            "lt": lambda: left < right,  # type: ignore[operator]
            "lte": lambda: left <= right,  # type: ignore[operator]
        }[name]()

    return compare


def _operand(key: str, value: object) -> Any:
    if key in _INSTANTS:
        return parse_instant(value, f"where.{key[:40]}")
    if value is not None and type(value) not in (str, bool, int, float):
        try:
            canonical_json(value)
        except InputError:
            raise InputError(f"where.{key[:40]}: {type(value).__name__} is no JSON data", field="where") from None
    return value


def _value(key: str, value: Any) -> Any:
    return parse_instant(value, key) if key in _INSTANTS and isinstance(value, str) else value


def _same(left: Any, right: Any) -> bool:
    return type(left) is type(right) and left == right if isinstance(left, bool) or isinstance(right, bool) else left == right


def parse_filter(
    *,
    now: int,
    kinds: object = None,
    min_authority: object = None,
    min_trust: object = None,
    session: str = "",
    scope: str = "",
    as_of: object = None,
    recorded_as_of: object = None,
    inactive: bool = False,
) -> Filter:
    """Return the filter for raw arguments.

    Raises:
        InputError: an unknown kind, authority or trust word, or a malformed instant.
    """
    chosen = None
    if kinds is not None:
        if not isinstance(kinds, str | list | tuple | set | frozenset):
            raise InputError("kinds must be a kind or a list of kinds", field="kinds")
        words = [kinds] if isinstance(kinds, str) else list(kinds)
        chosen = frozenset(_word(word, MEMORY_KINDS, "kinds") for word in words)
    return Filter(
        now=now,
        kinds=chosen,
        min_authority=Authority.NONE if min_authority is None else _word(min_authority, Authority, "min_authority"),
        min_trust=Trust.REJECTED if min_trust is None else _word(min_trust, Trust, "min_trust"),
        session=session,
        scope=scope,
        as_of=parse_instant(as_of, "as_of"),
        recorded_as_of=parse_instant(recorded_as_of, "recorded_as_of"),
        inactive=inactive,
    )


def _word(value: object, options: Any, field: str) -> Any:
    for option in options:
        if value == name_of(option):
            return option
    raise InputError(f"{field} must be one of {', '.join(name_of(option) for option in options)}", field=field)
