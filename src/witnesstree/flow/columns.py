"""The fixed part of an owner's verified rows as arrays: what filters, ranking and caches look at, one entry a document."""

from __future__ import annotations

import struct
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from witnesstree.rules.terms import terms_of
from witnesstree.types.facts import FIXED_BYTES, RowFacts
from witnesstree.types.trust import Kind, Role
from witnesstree.types.wire import ABSENT

_START: Final = 64
_SLOT: Final = struct.Struct(f">{FIXED_BYTES}s33s32sqqIIIBB")
_FACTS: Final = struct.Struct(">x5B2x16s16x16sIqqqqq33s32sqqIII")
_FIELDS: Final = {
    "kind": (">u1", 1),
    "role": (">u1", 2),
    "authority": (">u1", 3),
    "trust": (">u1", 4),
    "status": (">u1", 5),
    "id": ("V16", 8),
    "fingerprint": ("V16", 40),
    "version": (">u4", 56),
    "recorded_at": (">i8", 60),
    "said_at": (">i8", 68),
    "valid_from": (">i8", 76),
    "valid_to": (">i8", 84),
    "expires_at": (">i8", 92),
    "seal": ("V33", FIXED_BYTES),
    "inner": ("V32", FIXED_BYTES + 33),
    "seq": (">i8", FIXED_BYTES + 65),
    "first_seq": (">i8", FIXED_BYTES + 73),
    "session": (">u4", FIXED_BYTES + 81),
    "scope": (">u4", FIXED_BYTES + 85),
    "name": (">u4", FIXED_BYTES + 89),
    "marks": (">u1", FIXED_BYTES + 93),
    "state": (">u1", FIXED_BYTES + 94),
}
_NAMES, _FORMATS, _OFFSETS = list(_FIELDS), [f for f, _ in _FIELDS.values()], [o for _, o in _FIELDS.values()]
LAYOUT: Final = np.dtype({"names": _NAMES, "formats": _FORMATS, "offsets": _OFFSETS, "itemsize": _SLOT.size})

GONE: Final = 0
"""State of a document whose row was erased."""
EARLIER: Final = 1
"""State of a version that a newer one follows."""
LATEST: Final = 2
"""State of the newest version of a memory."""
OTHER: Final = 3
"""State of a row that is no memory (tombstones and other bookkeeping)."""


class Names:
    """Numbers for texts that repeat (sessions, scopes, speakers); 0 is the empty text."""

    def __init__(self, texts: list[str] | None = None) -> None:
        """Take the texts that have numbers already."""
        self.texts = texts or [""]
        self._numbers = {text: number for number, text in enumerate(self.texts)}

    def number(self, text: str) -> int:
        """Return the number of a text, giving it the next one if it is new."""
        number = self._numbers.get(text)
        if number is None:
            number = self._numbers[text] = len(self.texts)
            self.texts.append(text)
        return number

    def find(self, text: str) -> int:
        """Return the number of a text; -1 if no row ever had it."""
        return self._numbers.get(text, -1)


class Talk(NamedTuple):
    """How turns stand in their sessions. Only a row of kind ``TURN`` in a named session is in a talk."""

    session: NDArray[np.uint32]
    """Number of each document's session; 0 for what is in no talk. Shape [n]."""
    before: NDArray[np.int64]
    """The turn before each document in its session, -1 if none; shape [n + 1], so that the place of -1 is -1."""
    after: NDArray[np.int64]
    """The turn after it; the same shape."""


class Columns:
    """Rows of fixed width in one buffer, seen as a structured array."""

    def __init__(self) -> None:
        """Make room for the first rows."""
        self.count = 0
        self.sessions, self.scopes, self.speakers = Names(), Names(), Names()
        self._people: tuple[int, dict[str, int]] = (0, {})
        self._changes = 0
        nobody = np.full(1, -1, np.int64)
        self._talk = (0, Talk(np.zeros(0, np.uint32), nobody, nobody))
        self._use(bytearray(_START * _SLOT.size))

    def _use(self, data: bytearray) -> None:
        self._data = data
        self._table = np.frombuffer(data, LAYOUT)

    def __getitem__(self, field: str) -> NDArray[Any]:
        """Return one field of every row; a live view of the buffer."""
        return self._table[field][: self.count]

    def append(
        self,
        fixed: bytes,
        proven: tuple[bytes, bytes],
        *,
        seq: int,
        first_seq: int,
        names: tuple[str, str, str],
        marks: int,
        state: int,
    ) -> int:
        """Add a row; return its document number.

        ``proven`` are its seal and the inner hash of that; ``names`` are session, scope and speaker, ``marks`` those of
        ``rules.terms``.
        """
        document = self.count
        if document == len(self._table):
            self._use(self._data + bytearray(len(self._data)))
        session, scope, name = names
        at = document * _SLOT.size
        self._data[at : at + _SLOT.size] = _SLOT.pack(
            fixed,
            *proven,
            seq,
            first_seq,
            self.sessions.number(session),
            self.scopes.number(scope),
            self.speakers.number(name),
            marks,
            state,
        )
        self.count += 1
        self._changes += 1
        return document

    def facts(self, document: int) -> RowFacts:
        """Return what is known of one row."""
        kind, role, authority, trust, status, identity, fingerprint, version, *rest = _FACTS.unpack_from(
            self._data, document * _SLOT.size
        )
        recorded_at, said_at, valid_from, valid_to, expires_at, seal, inner, seq, first_seq, session, scope, name = rest
        return RowFacts(
            document,
            seq,
            first_seq,
            identity,
            version,
            seal,
            inner,
            fingerprint,
            kind,
            role,
            authority,
            trust,
            status,
            recorded_at,
            None if said_at == ABSENT else said_at,
            None if valid_from == ABSENT else valid_from,
            None if valid_to == ABSENT else valid_to,
            None if expires_at == ABSENT else expires_at,
            self.sessions.texts[session],
            self.scopes.texts[scope],
            self.speakers.texts[name],
        )

    def raw(self, document: int, field: str) -> bytes:
        """Return the bytes of an id, fingerprint or seal."""
        at = document * _SLOT.size + _FIELDS[field][1]
        return bytes(self._data[at : at + LAYOUT[field].itemsize])

    def raws(self, field: str, documents: NDArray[np.int64]) -> list[bytes]:
        """Return the bytes of an id, fingerprint or seal of several rows."""
        size = LAYOUT[field].itemsize
        joined = self[field][documents].tobytes()
        return [joined[at : at + size] for at in range(0, len(joined), size)]

    def people(self) -> dict[str, int]:
        """Return the number of each speaker by the first term of the name; a tool or a document is nobody."""
        if self._people[0] != self.count:
            names = self["name"]
            talks = np.isin(self["role"], (Role.USER, Role.ASSISTANT)) & (names > 0)
            first = {next(iter(terms_of(self.speakers.texts[n])), ""): n for n in np.unique(names[talks]).tolist()}
            first.pop("", None)
            self._people = (self.count, first)
        return self._people[1]

    def talk(self) -> Talk:
        """Return how turns stand in their sessions; worked out again after a change."""
        if self._talk[0] != self._changes:
            session = np.where(self["kind"] == Kind.TURN, self["session"], 0)
            turns = np.flatnonzero(session)
            turns = turns[np.argsort(session[turns], kind="stable")]
            last, next_ = turns[:-1], turns[1:]
            same = session[last] == session[next_]
            before, after = np.full((2, self.count + 1), -1, np.int64)
            before[next_[same]], after[last[same]] = last[same], next_[same]
            self._talk = (self._changes, Talk(session, before, after))
        return self._talk[1]

    def set_state(self, document: int, state: int) -> None:
        """Change a document's state; the bytes of a row that is gone are overwritten."""
        at = document * _SLOT.size
        if state == GONE:
            seq = self._table["seq"][document]
            self._data[at : at + _SLOT.size] = bytes(_SLOT.size)
            self._table["seq"][document] = seq
        self._data[at + _SLOT.size - 1] = state
        self._changes += 1

    def dump(self) -> tuple[dict[str, list[str]], bytes]:
        """Return the names in use and the rows that are not gone; no erased name is in it."""
        table = self._table[: self.count]
        table = table[table["state"] != GONE]
        names = {}
        for field, known in (("session", self.sessions), ("scope", self.scopes), ("name", self.speakers)):
            used, places = np.unique(table[field], return_inverse=True)
            texts = [known.texts[number] for number in used.tolist()]
            shift = 0 if texts[:1] == [""] else 1
            table[field] = places + shift
            names[field] = texts if not shift else ["", *texts]
        return names, table.tobytes()

    @classmethod
    def load(cls, names: dict[str, list[str]], data: memoryview) -> Columns:
        """Return the columns that ``dump`` described."""
        columns = cls()
        columns.sessions, columns.scopes, columns.speakers = (Names(names[field]) for field in ("session", "scope", "name"))
        columns.count = columns._changes = len(data) // _SLOT.size
        columns._use(bytearray(data) if columns.count else bytearray(_START * _SLOT.size))
        return columns
