"""The one codec: a ``Record`` to canonical bytes and back (``docs/spec/record.md``).

A fixed header, then variable fields in a fixed order. There is one encoding for each record: ``decode`` refuses bytes that
``encode`` would not have made. Integers are big-endian. An absent instant is the smallest 64-bit integer.
"""

from __future__ import annotations

import json
import math
import struct
from typing import Any, Final

from witnesstree.errors import InputError, SealError
from witnesstree.types.limits import MAX_METADATA_BYTES, MAX_METADATA_DEPTH
from witnesstree.types.record import Record, Span
from witnesstree.types.trust import Authority, Kind, Op, Role, Status, Trust

FORMAT: Final = 1
ABSENT: Final = -(2**63)
HEADER: Final = struct.Struct(">8B16s16s16sIqqqqqIIIIHHHHHHHHHHHHH")
"""format kind role authority trust status op reserved | id salt fingerprint | version | recorded said from to expires |
lengths: text metadata evidence payload, then user actor agent session scope name source subject predicate purposes origin
nonce signature."""
SPAN: Final = struct.Struct(">16sIII")

_TEXT_FIELDS: Final = ("user", "actor", "agent", "session", "scope", "name", "source", "subject", "predicate")


def canonical_json(value: Any) -> bytes:
    """Encode plain data as UTF-8 JSON: keys sorted by code point, no spaces, no NaN, nothing escaped needlessly.

    Raises:
        InputError: not plain JSON data, too deep, NaN or infinite, a key that is no string, or a lone surrogate.
    """
    _check_json(value, MAX_METADATA_DEPTH)
    try:
        return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"metadata is not plain JSON: {type(error).__name__}", field="metadata") from None


def _check_json(value: Any, depth: int) -> None:
    if depth < 0:
        raise InputError(f"metadata is nested deeper than {MAX_METADATA_DEPTH} levels", field="metadata")
    if value is None or isinstance(value, bool | str):
        return
    if isinstance(value, int):
        if abs(value) >= 2**63:
            raise InputError("metadata holds an integer beyond 64 bits; store it as text", field="metadata")
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise InputError("metadata holds NaN or an infinity; JSON has neither", field="metadata")
    elif isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise InputError("metadata has a key that is not a string", field="metadata")
            _check_json(item, depth - 1)
    elif isinstance(value, list | tuple):
        for item in value:
            _check_json(item, depth - 1)
    else:
        raise InputError(f"metadata holds a {type(value).__name__}; only JSON data can be kept", field="metadata")


def _instant(value: int | None) -> int:
    return ABSENT if value is None else value


def encode(record: Record) -> bytes:
    """Return the canonical bytes of a record.

    Raises:
        InputError: a field is longer than its length prefix allows, or metadata is not plain JSON.
    """
    metadata = canonical_json(record.metadata) if record.metadata else b""
    if len(metadata) > MAX_METADATA_BYTES:
        raise InputError(f"metadata is {len(metadata)} bytes; the limit is {MAX_METADATA_BYTES}", field="metadata")
    if (len(record.id), len(record.salt), len(record.fingerprint)) != (16, 16, 16):
        raise InputError("id, salt and fingerprint of a record are 16 bytes each", field="id")
    if any(not word or "\n" in word for word in record.purposes):
        raise InputError("a purpose is one line of text", field="purposes")
    text = record.text.encode()
    evidence = b"".join(SPAN.pack(s.source, s.version, s.start, s.end) for s in record.evidence)
    short = [getattr(record, name).encode() for name in _TEXT_FIELDS]
    short += ["\n".join(record.purposes).encode(), record.origin.encode(), record.nonce, record.signature]
    try:
        header = HEADER.pack(
            FORMAT,
            record.kind,
            record.role,
            record.authority,
            record.trust,
            record.status,
            record.op,
            0,
            record.id,
            record.salt,
            record.fingerprint,
            record.version,
            record.recorded_at,
            _instant(record.said_at),
            _instant(record.valid_from),
            _instant(record.valid_to),
            _instant(record.expires_at),
            len(text),
            len(metadata),
            len(evidence),
            len(record.payload),
            *map(len, short),
        )
    except struct.error:
        raise InputError("a field of the memory is longer than the record format can hold") from None
    return b"".join((header, text, metadata, evidence, record.payload, *short))


def decode(content: bytes) -> Record:
    """Return the record that ``content`` encodes.

    Raises:
        SealError: not exactly one canonical record of a known format (threats T-C10, T-D6).
    """
    try:
        return _decode(content)
    except (struct.error, ValueError, KeyError, TypeError, RecursionError, InputError):
        raise SealError("a row's content is not a record of a known format", reason="undecodable") from None


def _decode(content: bytes) -> Record:
    fixed = HEADER.unpack_from(content)
    if fixed[0] != FORMAT or fixed[7] != 0:
        raise ValueError("format")
    at = HEADER.size
    parts: list[bytes] = []
    for length in fixed[17:]:
        parts.append(content[at : at + length])
        at += length
    if at != len(content):
        raise ValueError("length")
    names = {name: part.decode() for name, part in zip(_TEXT_FIELDS, parts[4:13], strict=True)}
    evidence = tuple(Span(*span) for span in SPAN.iter_unpack(parts[2]))
    record = Record(
        id=fixed[8],
        version=fixed[11],
        kind=Kind(fixed[1]),
        role=Role(fixed[2]),
        authority=Authority(fixed[3]),
        trust=Trust(fixed[4]),
        status=Status(fixed[5]),
        op=Op(fixed[6]),
        recorded_at=fixed[12],
        salt=fixed[9],
        fingerprint=fixed[10],
        said_at=None if fixed[13] == ABSENT else fixed[13],
        valid_from=None if fixed[14] == ABSENT else fixed[14],
        valid_to=None if fixed[15] == ABSENT else fixed[15],
        expires_at=None if fixed[16] == ABSENT else fixed[16],
        text=parts[0].decode(),
        metadata=parse_json(parts[1]) if parts[1] else {},
        evidence=evidence,
        payload=parts[3],
        purposes=tuple(parts[13].decode().split("\n")) if parts[13] else (),
        origin=parts[14].decode(),
        nonce=parts[15],
        signature=parts[16],
        **names,
    )
    if parts[1] and not _is_canonical_object(record.metadata, parts[1]):
        raise ValueError("metadata")
    return record


def _is_canonical_object(value: Any, data: bytes) -> bool:
    return isinstance(value, dict) and bool(value) and len(data) <= MAX_METADATA_BYTES and canonical_json(value) == data


def parse_json(data: bytes | str) -> Any:
    """Parse JSON strictly: duplicate keys, NaN and infinities are refused (RFC 8259 leaves them undefined).

    Raises:
        ValueError: not strict JSON.
    """

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(items)
        if len(found) != len(items):
            raise ValueError("duplicate key")
        return found

    def constant(name: str) -> Any:
        raise ValueError(name)

    return json.loads(data, object_pairs_hook=pairs, parse_constant=constant)
