"""What comes out at a door. Frozen, with ``to_dict()`` in plain JSON types; ids are 32 hex digits, instants ISO-8601 UTC."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

from witnesstree.types.instant import to_iso
from witnesstree.types.record import Record
from witnesstree.types.trust import name_of


def plain(value: Any) -> Any:
    """Return a value in plain JSON types."""
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in fields(value) if not f.name.startswith("_")}
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    return value


class _Plain:
    """Adds ``to_dict`` to a result."""

    def to_dict(self) -> dict[str, Any]:
        """Return the result in plain JSON types."""
        return dict(plain(self))


@dataclass(frozen=True, slots=True)
class Quote(_Plain):
    """A verbatim quote: code points ``start`` to ``end`` (excluded) of version ``version`` of memory ``source``."""

    source: str
    version: int
    start: int
    end: int
    text: str
    role: str
    name: str
    at: str | None
    recorded_at: str


@dataclass(frozen=True, slots=True)
class Memo(_Plain):
    """One version of one memory as its owner sees it."""

    id: str
    version: int
    text: str
    kind: str
    role: str
    authority: str
    trust: str
    status: str
    user: str
    agent: str
    actor: str
    session: str
    scope: str
    name: str
    source: str
    at: str | None
    recorded_at: str | None
    valid_from: str | None
    valid_to: str | None
    expires_at: str | None
    metadata: dict[str, Any]
    evidence: tuple[Quote, ...]
    origin: str


@dataclass(frozen=True, slots=True)
class Hit(Memo):
    """A found memory with its score (higher is better) and what the score is made of."""

    score: float = 0.0
    signals: dict[str, float] = field(default_factory=dict)


def memo_fields(record: Record) -> dict[str, Any]:
    """Return the fields of a ``Memo`` for a record. The quote of a turn, and of a user's correction, is the text itself."""
    said_at, recorded_at = to_iso(record.said_at), to_iso(record.recorded_at) or ""
    whole = Quote(
        source=record.id.hex(),
        version=record.version,
        start=0,
        end=len(record.text),
        text=record.text,
        role=name_of(record.role),
        name=record.name,
        at=said_at,
        recorded_at=recorded_at,
    )
    return {
        "id": record.id.hex(),
        "version": record.version,
        "text": record.text,
        "kind": name_of(record.kind),
        "role": name_of(record.role),
        "authority": name_of(record.authority),
        "trust": name_of(record.trust),
        "status": name_of(record.status),
        "user": record.user,
        "agent": record.agent,
        "actor": record.actor,
        "session": record.session,
        "scope": record.scope,
        "name": record.name,
        "source": record.source,
        "at": said_at,
        "recorded_at": recorded_at,
        "valid_from": to_iso(record.valid_from),
        "valid_to": to_iso(record.valid_to),
        "expires_at": to_iso(record.expires_at),
        "metadata": record.metadata,
        "evidence": (whole,),
        "origin": record.origin,
    }


@dataclass(frozen=True, slots=True)
class Rejected(_Plain):
    """An item of a batch that was not kept: its index, the field at fault and why."""

    index: int
    field: str
    message: str


@dataclass(frozen=True, slots=True)
class Change(_Plain):
    """What happened to one item.

    ``what`` is added, duplicate, held, erased_before, updated, unchanged, retracted or approved;
    ``index`` is its place in the input. ``notes`` says what could not be done besides, such as that a provider is down.
    """

    id: str
    version: int
    what: str
    index: int | None = None
    anchor_behind: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AddResult(_Plain):
    """What ``add`` or ``import_`` did.

    ``episodes`` are the ids of the turns kept, in input order (a duplicate gives the id it repeats). ``records`` are derived
    memories (none without a model). ``pending`` waits for a model. ``anchor_behind``: kept, but the anchor could not follow.
    ``without_vector`` memories were kept without one, since the embedder failed: they are found by words; ``notes`` says why.
    """

    episodes: tuple[str, ...] = ()
    records: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()
    rejected: tuple[Rejected, ...] = ()
    pending: int = 0
    job: str | None = None
    anchor_behind: bool = False
    without_vector: int = 0
    notes: tuple[str, ...] = ()

    @property
    def added(self) -> int:
        """Number of memories that are new."""
        return sum(1 for change in self.changes if change.what in ("added", "held"))


@dataclass(frozen=True, slots=True)
class SearchResult(_Plain):
    """Hits, best first.

    ``verified_through`` is the log size that the answer was verified at. ``integrity`` is ``verified``, ``quarantined`` (then
    ``withheld`` rows were left out) or ``backup``. ``notes`` says what could not be done, such as that the embedder failed and
    words decided alone. ``trace_id`` names the search for later feedback.
    """

    hits: tuple[Hit, ...]
    verified_through: int
    integrity: str = "verified"
    withheld: int = 0
    notes: tuple[str, ...] = ()
    _trace: Callable[[], str] = field(default=lambda: "", repr=False, compare=False)
    _context: Callable[[int | None], str] = field(default=lambda budget: "", repr=False, compare=False)

    @property
    def trace_id(self) -> str:
        """A sealed token that names this search; nothing is written to the store for it."""
        return self._trace()

    def context(self, budget_tokens: int | None = None) -> str:
        """Return the hits as fenced, inert text for a prompt, within a token budget; byte-identical for identical hits."""
        return self._context(budget_tokens)

    def to_dict(self) -> dict[str, Any]:
        """Return the result in plain JSON types."""
        return {
            "hits": [hit.to_dict() for hit in self.hits],
            "verified_through": self.verified_through,
            "integrity": self.integrity,
            "withheld": self.withheld,
            "notes": list(self.notes),
            "trace_id": self.trace_id,
        }


@dataclass(frozen=True, slots=True)
class Page(_Plain):
    """One page of memories, oldest first. ``cursor`` continues after it; None on the last page."""

    items: tuple[Memo, ...]
    cursor: str | None
    integrity: str = "verified"
    withheld: int = 0


@dataclass(frozen=True, slots=True)
class Citation(_Plain):
    """Why an answer may be believed: the quote, who said it, and how far it is proven."""

    id: str
    version: int
    quote: str
    start: int
    end: int
    role: str
    name: str
    at: str | None
    recorded_at: str
    session: str
    authority: str
    trust: str


@dataclass(frozen=True, slots=True)
class Answer(_Plain):
    """An answer made of verbatim quotes with their citations, or an abstention; ``notes`` as in ``SearchResult``."""

    text: str
    citations: tuple[Citation, ...]
    abstained: bool
    reason: str
    trace_id: str = ""
    integrity: str = "verified"
    withheld: int = 0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ErasureReceipt(_Plain):
    """What ``forget`` erased. ``note`` is a signed note that anyone can check offline with the store's verifier key.

    ``state`` is ``done`` when no byte is left in the store's files, ``pending`` while a reader still holds them, or ``dry_run``.
    """

    memories: int
    versions: int
    position: int | None
    state: str
    note: str = ""
    anchor_behind: bool = False


@dataclass(frozen=True, slots=True)
class Problem(_Plain):
    """One finding of an audit: a reason code, where, and what to do."""

    reason: str
    where: str
    message: str


@dataclass(frozen=True, slots=True)
class Reindexed(_Plain):
    """What ``reindex`` did: the embedder that all vectors are of now (empty: none), and how many rows got another vector.

    ``left`` rows came in meanwhile and have none yet: they are found by words until it is run again.
    """

    model: str
    rows: int
    left: int = 0
    anchor_behind: bool = False


@dataclass(frozen=True, slots=True)
class AuditReport(_Plain):
    """The result of checking everything: log, head, anchor, every row, owner map, schema."""

    ok: bool
    store_id: str
    size: int
    rows: int
    owners: int
    root: str
    problems: tuple[Problem, ...] = ()
