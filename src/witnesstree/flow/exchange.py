"""Export and import. What leaves is complete, readable and signed; what enters never gains authority (threat T-L1)."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import Any

from witnesstree.errors import Error, InputError, PackError, SealError
from witnesstree.flow.fetching import fetch_record
from witnesstree.flow.ingest import Arrival, add, known_message, mark_of
from witnesstree.flow.items import FORMAT_KEY, chunked, is_export, line_of, parse_item, parsed_or_none
from witnesstree.flow.meaning import embed_new
from witnesstree.flow.transaction import Transaction
from witnesstree.flow.verified import Reading, VerifiedStore
from witnesstree.flow.view import View
from witnesstree.proof.checkpoint import origin_of, sign_note, verify_note
from witnesstree.rules.alias import parse_alias
from witnesstree.rules.authority import authority_of_turn
from witnesstree.rules.lifecycle import TRUST_AT_BIRTH, status_at_birth
from witnesstree.types.instant import MAX_INSTANT, MIN_INSTANT, to_iso
from witnesstree.types.limits import MAX_YEAR, MIN_YEAR
from witnesstree.types.message import check_text
from witnesstree.types.principal import Principal, normalise_name
from witnesstree.types.record import Record, Span
from witnesstree.types.result import AddResult, Change, Memo, Rejected, memo_fields
from witnesstree.types.strict_base64 import from_base64, to_base64
from witnesstree.types.trust import MEMORY_KINDS, Authority, Kind, Op, Role, Status
from witnesstree.types.wire import decode, encode

Progress = Callable[[int], None]


def export_lines(store: VerifiedStore, principal: Principal) -> Iterator[str]:
    """Yield a user's whole memory as JSON lines: a head, every version of every memory, and a signature over them all.

    Raises:
        IntegrityError: something in it does not verify; nothing unverified is exported.
    """
    signer = store.master.signer
    digest = hashlib.sha256()
    with store.reading() as reading:
        view = reading.view(principal.partition)
        if view.withheld:
            raise SealError(f"{view.withheld} memories are withheld; a part is not exported as a whole", reason="withheld")
        origin = origin_of(store.keys.store_id)
        head = {FORMAT_KEY: 1, "origin": origin, "user": principal.user, "size": reading.trusted.size}
        lines = [json.dumps(head | {"exported_at": to_iso(store.now())}, ensure_ascii=False)]
        for newest in view.memories():
            for facts in view.versions(newest.id):
                record = fetch_record(reading, view, facts)
                body = {
                    "memory": Memo(**memo_fields(record)).to_dict(),
                    "record": to_base64(encode(record)),
                }
                lines.append(json.dumps(body, ensure_ascii=False))
    for line in lines:
        digest.update(line.encode() + b"\n")
        yield line
    if signer is not None:
        note = sign_note(f"{FORMAT_KEY}\n{origin}\nsha256 {digest.hexdigest()}\n", origin, signer).decode()
        yield json.dumps({"note": note}, ensure_ascii=False)


def import_items(
    store: VerifiedStore, items: Iterable[object], arrival: Arrival, *, marks: set[bytes], progress: Progress | None = None
) -> AddResult:
    """Bring in chat messages or an export. Each chunk is one transaction; running it again adds nothing twice.

    Args:
        store: where to.
        items: from ``split_input``; a chat is taken from them chunk by chunk, an export is read twice.
        arrival: as whose memory, in which session and scope.
        marks: what this home remembers as erased; it does not come back.
        progress: called with the number of items done.

    Raises:
        InputError: an export of a newer format, or a file that changed while it was read.
    """
    stream = iter(items)
    first = next(stream, None)
    if first is not None and is_export(first):
        whole = [first, *stream] if stream is items else items
        return _import_export(store, whole, arrival, marks=marks, progress=progress)
    total = _Total()
    done = 0
    for chunk in chunked(stream if first is None else chain([first], stream)):
        messages: list[object] = []
        places: list[int] = []
        for index, item in enumerate(chunk, done):
            try:
                messages.append(parse_item(item))
                places.append(index)
            except InputError as error:
                total.rejected.append(Rejected(index, "line", str(error)))
        total.take(_moved(add(store, messages, arrival, marks=marks), places))
        done += len(chunk)
        if progress is not None:
            progress(done)
    return total.result()


@dataclass(slots=True)
class _Total:
    """What the chunks of an import did together."""

    changes: list[Change] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)
    is_behind: bool = False
    without_vector: int = 0
    notes: dict[str, None] = field(default_factory=dict)

    def take(self, part: AddResult) -> None:
        self.changes += part.changes
        self.rejected += part.rejected
        self.is_behind = self.is_behind or part.anchor_behind
        self.without_vector += part.without_vector
        self.notes |= dict.fromkeys(part.notes)

    def result(self) -> AddResult:
        return AddResult(
            episodes=tuple(change.id for change in self.changes if change.id),
            changes=tuple(self.changes),
            rejected=tuple(sorted(self.rejected, key=lambda bad: bad.index)),
            anchor_behind=self.is_behind,
            without_vector=self.without_vector,
            notes=tuple(self.notes),
        )


def _moved(part: AddResult, places: list[int]) -> AddResult:
    return replace(
        part,
        changes=tuple(replace(c, index=None if c.index is None else places[c.index]) for c in part.changes),
        rejected=tuple(replace(r, index=places[r.index]) for r in part.rejected),
    )


@dataclass(slots=True)
class _Survey:
    """What the first reading of an export finds: its signature decides, before anything is written, what its records may keep.

    ``sums`` are digests of its chunks: what is read again must be what the signature was checked over.
    """

    head: object = None
    last: bytes = b""
    whole: Any = field(default_factory=hashlib.sha256)
    size: int = 0
    sums: list[bytes] = field(default_factory=list)
    ends: dict[bytes, int] = field(default_factory=dict)
    rejected: list[Rejected] = field(default_factory=list)

    @classmethod
    def of(cls, items: Iterable[object]) -> _Survey:
        survey = cls()
        for chunk in chunked(items):
            if not survey.size:
                survey.head = parsed_or_none(chunk[0])
            survey.sums.append(_sum_of(chunk))
            survey.whole.update(survey.last + b"".join(map(line_of, chunk[:-1])))
            survey.last = line_of(chunk[-1])
            for index, found in numbered_records(chunk, survey.size):
                if isinstance(found, Record):
                    survey.ends[found.id] = index
                else:
                    survey.rejected.append(found)
            survey.size += len(chunk)
        return survey


def _sum_of(chunk: list[object]) -> bytes:
    return hashlib.sha256(b"".join(map(line_of, chunk))).digest()


def numbered_records(items: Iterable[object], start: int = 0) -> Iterator[tuple[int, Record | Rejected]]:
    """Yield the records of an export, each with the index of its item, and what stands where one should.

    Args:
        items: the items of an export; the first one of all is its head, a signature is passed over.
        start: the index of the first of these items.
    """
    for index, item in enumerate(items, start):
        if index == 0:
            continue
        try:
            body = parse_item(item)
            if not (isinstance(body, dict) and "note" in body):
                yield index, _read_record(body)
        except InputError as error:
            yield index, Rejected(index, "record", str(error))


def _import_export(
    store: VerifiedStore, items: Iterable[object], arrival: Arrival, *, marks: set[bytes], progress: Progress | None
) -> AddResult:
    """Bring in an export of this program; its own signature decides which authority its records keep."""
    survey = _Survey.of(items)
    head = survey.head if isinstance(survey.head, dict) else {}
    origin = normalise_name(head.get("origin"), "origin")
    is_ours = _is_signed_by_us(store, survey, origin) and head.get("user") == arrival.principal.user
    total = _Total(rejected=survey.rejected)
    done = 0
    for chains, size in _whole_chains(items, survey):
        if chains:
            total.take(_import_chains(store, chains, arrival, origin=origin, is_ours=is_ours, marks=marks))
        done += size
        if progress is not None:
            progress(done)
    return total.result()


def _whole_chains(items: Iterable[object], survey: _Survey) -> Iterator[tuple[dict[bytes, list[Record]], int]]:
    """Yield, chunk by chunk, the memories whose last version has been read, each with all its versions; and the chunk's size."""
    chains: dict[bytes, list[Record]] = {}
    start = 0
    sums = iter(survey.sums)
    for chunk in chunked(items):
        if next(sums, None) != _sum_of(chunk):
            raise InputError("the file changed while it was read; import it again", field="data")
        whole: dict[bytes, list[Record]] = {}
        for index, found in numbered_records(chunk, start):
            if isinstance(found, Record):
                chains.setdefault(found.id, []).append(found)
                if survey.ends[found.id] == index:
                    whole[found.id] = chains.pop(found.id)
        start += len(chunk)
        yield whole, len(chunk)


def _read_record(body: object) -> Record:
    try:
        if not isinstance(body, dict):
            raise ValueError("shape")
        record = decode(from_base64(body["record"]))
    except (Error, KeyError, TypeError, ValueError):
        raise InputError("the line holds no intact record", field="record") from None
    return check_record(record)


def check_record(record: Record) -> Record:
    """Return the record if every field is one that a verb could have written (threats T-D3, T-D5 and T-L1).

    Raises:
        InputError: naming the field.
    """
    if record.kind not in MEMORY_KINDS:
        raise InputError("the record is bookkeeping, not a memory", field="kind")
    check_text(record.text, "text")
    if record.kind is Kind.ALIAS:
        parse_alias(record.text)
    for name in ("session", "scope", "name", "source", "agent", "subject", "predicate"):
        if normalise_name(getattr(record, name), name, required=False) != getattr(record, name):
            raise InputError(f"{name} is not in normal form", field=name)
    for name in ("said_at", "valid_from", "valid_to", "expires_at"):
        value = getattr(record, name)
        if value is not None and not MIN_INSTANT <= value <= MAX_INSTANT:
            raise InputError(f"{name} lies outside the years {MIN_YEAR} to {MAX_YEAR}", field=name)
    if any(span.start > span.end for span in record.evidence):
        raise InputError("a quote of the record ends before it begins", field="evidence")
    return record


def _is_signed_by_us(store: VerifiedStore, survey: _Survey, origin: str) -> bool:
    last = parsed_or_none(survey.last)
    if not isinstance(last, dict) or not isinstance(last.get("note"), str):
        return False
    try:
        text = verify_note(last["note"].encode(errors="replace"), origin, store.master.public_key)
    except PackError:
        return False
    return text == f"{FORMAT_KEY}\n{origin}\nsha256 {survey.whole.hexdigest()}\n"


def _import_chains(
    store: VerifiedStore,
    chains: dict[bytes, list[Record]],
    arrival: Arrival,
    *,
    origin: str,
    is_ours: bool,
    marks: set[bytes],
) -> AddResult:
    """Write memories with all their versions in one transaction."""
    ordered = {old: sorted(versions, key=lambda record: record.version) for old, versions in chains.items()}
    new_ids = {old: _imported_id(store, arrival, origin, old, is_ours=is_ours) for old in chains}
    olds = [old for old, versions in ordered.items() for _ in versions]

    def is_known(view: View, place: int) -> bool:
        old = olds[place]
        return _known_chain(view, old, new_ids[old], ordered[old][0], is_ours=is_ours) is not None

    texts = [record.text for versions in ordered.values() for record in versions]
    embedded = embed_new(store, arrival.principal.partition, texts, is_known)
    without = 0

    def build(transaction: Transaction, reading: Reading) -> list[Change]:
        nonlocal without
        without = 0
        view = reading.view(arrival.principal.partition)
        store.refuse_vectors(view, embedded.vectors)
        owner = store.owner_key(arrival.principal.partition)
        erased = view.marks | marks
        changes = []
        vectors = iter(embedded.vectors)
        for old, versions in ordered.items():
            theirs = list(islice(vectors, len(versions)))
            known = _known_chain(view, old, new_ids[old], versions[0], is_ours=is_ours)
            if known is not None:
                changes.append(known)
                continue
            prints = (value for record in versions for value in (old, new_ids[old], record.fingerprint))
            if any(mark_of(store, value) in erased for value in prints):
                changes.append(Change("", 0, "erased_before"))
                continue
            before = None
            for number, (record, vector) in enumerate(zip(versions, theirs, strict=True), 1):
                made = _adopted(record, arrival, new_ids, is_ours=is_ours, at=transaction.at)
                made = made.with_changes(version=number, origin=f"{origin}:{old.hex()}")
                if not is_ours:
                    made = made.with_changes(fingerprint=_origin_print(origin, old))
                transaction.put(owner, made, before=before, vector=vector)
                without += not vector
                before = encode(made)
            changes.append(Change(new_ids[old].hex(), len(versions), "added"))
        return changes

    made, written = store.write(build)
    return AddResult(changes=tuple(made), anchor_behind=written.anchor_behind, **embedded.lost(without))


def _imported_id(store: VerifiedStore, arrival: Arrival, origin: str, old: bytes, *, is_ours: bool) -> bytes:
    """Return the id that a memory of an export gets: the same each time, and known to nobody without this home's key.

    What an unsigned file calls by the same name gets another one: it takes nobody's place.
    """
    name = b"proven" if is_ours else b"claimed"
    return mark_of(store, name + store.owner_key(arrival.principal.partition) + origin.encode() + old)


def _known_chain(view: View, old: bytes, new: bytes, first: Record, *, is_ours: bool) -> Change | None:
    """Return the memory that an exported one is here already: it came from here, was imported before, or says the same words."""
    there = (view.current(old) if is_ours else None) or view.current(new)
    if there is not None:
        return Change(there.id.hex(), there.version, "duplicate")
    return known_message(view, first.fingerprint, is_replay=first.said_at is not None) if is_ours else None


def _origin_print(origin: str, old: bytes) -> bytes:
    return hashlib.blake2b(origin.encode() + old, digest_size=16).digest()


def _adopted(record: Record, arrival: Arrival, new_ids: dict[bytes, bytes], *, is_ours: bool, at: int) -> Record:
    """Return the importer's own record: new id, trust from nothing, authority as far as the proof still supports it."""
    user = arrival.principal.user
    is_guest = record.role is Role.USER and record.name not in ("", user)
    cap = authority_of_turn(record.role, is_import=True, is_guest=is_guest)
    if not is_ours and record.user != user:
        cap = min(cap, Authority.UNENDORSED)
    return record.with_changes(
        id=new_ids[record.id],
        op=Op.IMPORT,
        status=status_at_birth(Op.IMPORT, hold=arrival.hold) if record.status is Status.ACTIVE else record.status,
        authority=record.authority if is_ours else min(cap, record.authority),
        trust=TRUST_AT_BIRTH,
        recorded_at=at,
        salt=secrets.token_bytes(16),
        user=user,
        actor=arrival.principal.actor,
        agent=arrival.principal.agent,
        scope=arrival.scope or record.scope,
        evidence=tuple(Span(new_ids[s.source], s.version, s.start, s.end) for s in record.evidence if s.source in new_ids),
        payload=b"",
        nonce=b"",
        signature=b"",
        purposes=(),
    )
