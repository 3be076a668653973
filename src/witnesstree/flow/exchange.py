"""Export and import. What leaves is complete, readable and signed; what enters never gains authority (threat T-L1)."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import secrets
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from witnesstree.errors import Error, InputError, PackError, SealError
from witnesstree.flow.ingest import Arrival, add, mark_of
from witnesstree.flow.recall import fetch_record
from witnesstree.flow.transaction import Transaction
from witnesstree.flow.verified import Reading, VerifiedStore
from witnesstree.proof.checkpoint import origin_of, sign_note, verify_note
from witnesstree.rules.authority import authority_of_turn
from witnesstree.rules.lifecycle import TRUST_AT_BIRTH, status_at_birth
from witnesstree.types.instant import MAX_INSTANT, MIN_INSTANT, to_iso
from witnesstree.types.limits import MAX_IMPORT_LINE_BYTES, MAX_YEAR, MIN_YEAR
from witnesstree.types.message import check_text
from witnesstree.types.principal import Principal, normalise_name
from witnesstree.types.record import Record, Span
from witnesstree.types.result import AddResult, Change, Memo, Rejected, memo_fields
from witnesstree.types.trust import MEMORY_KINDS, Authority, Op, Role, Status
from witnesstree.types.wire import decode, encode, parse_json

FORMAT_KEY = "witnesstree_export"
CHUNK = 500
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
                    "record": base64.b64encode(encode(record)).decode(),
                }
                lines.append(json.dumps(body, ensure_ascii=False))
    for line in lines:
        digest.update(line.encode() + b"\n")
        yield line
    if signer is not None:
        note = sign_note(f"{FORMAT_KEY}\n{origin}\nsha256 {digest.hexdigest()}\n", origin, signer).decode()
        yield json.dumps({"note": note}, ensure_ascii=False)


def split_input(data: object) -> list[object]:
    """Return the items of an import: a list as it is, JSON lines or one JSON array as text or bytes.

    Raises:
        InputError: neither.
    """
    if isinstance(data, bytes | bytearray):
        try:
            data = bytes(data).decode("utf-8-sig")
        except UnicodeDecodeError:
            raise InputError("an import must be UTF-8", field="data") from None
    if isinstance(data, str):
        text = data.removeprefix("\ufeff")
        if text.lstrip().startswith("["):
            try:
                data = parse_json(text)
            except (ValueError, RecursionError):
                raise InputError("the import is not intact JSON", field="data") from None
        else:
            if "\n" not in text.strip() and not text.lstrip().startswith("{"):
                raise InputError("the data is no JSON; to import a file, pass its Path", field="data")
            lines = [
                line.removesuffix("\r") for line in text.split("\n")
            ]  # not splitlines: U+2028 may stand inside a JSON string
            return [line for line in lines if line.strip()]
    if not isinstance(data, Iterable) or isinstance(data, dict):
        raise InputError("an import is a list of messages, JSON lines, or an export of this program", field="data")
    return list(data)


def parse_item(item: object) -> object:
    """Return the message of one item; a text line must be one JSON object.

    Raises:
        InputError: too long, or not JSON.
    """
    if not isinstance(item, str):
        return item
    if len(item) > MAX_IMPORT_LINE_BYTES or len(item.encode(errors="surrogatepass")) > MAX_IMPORT_LINE_BYTES:
        raise InputError(f"the line is longer than {MAX_IMPORT_LINE_BYTES} bytes", field="line")
    try:
        found = parse_json(item)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise InputError("the line is not a JSON object", field="line")
    return found


def import_items(
    store: VerifiedStore, items: list[object], arrival: Arrival, *, marks: set[bytes], progress: Progress | None = None
) -> AddResult:
    """Bring in chat messages or an export. Each chunk is one transaction; running it again adds nothing twice.

    Args:
        store: where to.
        items: from ``split_input``.
        arrival: as whose memory, in which session and scope.
        marks: what this home remembers as erased; it does not come back.
        progress: called with the number of items done.

    Raises:
        InputError: an export of a newer format.
    """
    first = _try_parse(items[0]) if items else None
    if isinstance(first, dict) and FORMAT_KEY in first:
        return _import_export(store, items, first, arrival, marks=marks, progress=progress)
    total = AddResult()
    for start in range(0, len(items), CHUNK):
        messages: list[object] = []
        places: list[int] = []
        rejected: list[Rejected] = []
        for index, item in enumerate(items[start : start + CHUNK], start):
            try:
                messages.append(parse_item(item))
                places.append(index)
            except InputError as error:
                rejected.append(Rejected(index, "line", str(error)))
        part = add(store, messages, arrival, marks=marks)
        total = _joined(total, _moved(part, places), rejected)
        if progress is not None:
            progress(min(start + CHUNK, len(items)))
    return total


def _try_parse(item: object) -> object:
    try:
        return parse_item(item)
    except InputError:
        return None


def _moved(part: AddResult, places: list[int]) -> AddResult:
    return replace(
        part,
        changes=tuple(replace(c, index=None if c.index is None else places[c.index]) for c in part.changes),
        rejected=tuple(replace(r, index=places[r.index]) for r in part.rejected),
    )


def _joined(total: AddResult, part: AddResult, rejected: list[Rejected]) -> AddResult:
    return AddResult(
        episodes=total.episodes + part.episodes,
        changes=total.changes + part.changes,
        rejected=tuple(sorted((*total.rejected, *part.rejected, *rejected), key=lambda r: r.index)),
        anchor_behind=total.anchor_behind or part.anchor_behind,
    )


def _import_export(
    store: VerifiedStore,
    items: list[object],
    head: dict[str, object],
    arrival: Arrival,
    *,
    marks: set[bytes],
    progress: Progress | None,
) -> AddResult:
    """Bring in an export of this program; its own signature decides which authority its records keep."""
    if head[FORMAT_KEY] != 1:
        raise InputError("this export has a newer format; upgrade this program", field="data")
    origin = normalise_name(head.get("origin"), "origin")
    is_ours = _is_signed_by_us(store, items, origin) and head.get("user") == arrival.principal.user
    chains: dict[bytes, list[Record]] = {}
    rejected: list[Rejected] = []
    for index, item in enumerate(items[1:], 1):
        try:
            body = parse_item(item)
            if isinstance(body, dict) and "note" in body:
                continue
            record = _read_record(body)
            chains.setdefault(record.id, []).append(record)
        except InputError as error:
            rejected.append(Rejected(index, "record", str(error)))
    changes: list[Change] = []
    ids = list(chains)
    behind = False
    for start in range(0, len(ids), CHUNK):
        part = {old: chains[old] for old in ids[start : start + CHUNK]}
        made, written = store.write(_chain_writer(store, part, arrival, origin=origin, is_ours=is_ours, marks=marks))
        changes += made
        behind = behind or written.anchor_behind
        if progress is not None:
            progress(round((start + len(part)) / len(ids) * len(items)))
    episodes = tuple(change.id for change in changes if change.id)
    return AddResult(episodes, changes=tuple(changes), rejected=tuple(rejected), anchor_behind=behind)


def _read_record(body: object) -> Record:
    try:
        if not isinstance(body, dict):
            raise ValueError("shape")
        record = decode(base64.b64decode(body["record"], validate=True))
    except (Error, KeyError, TypeError, ValueError, binascii.Error):
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
    for field in ("session", "scope", "name", "source", "agent", "subject", "predicate"):
        if normalise_name(getattr(record, field), field, required=False) != getattr(record, field):
            raise InputError(f"{field} is not in normal form", field=field)
    for field in ("said_at", "valid_from", "valid_to", "expires_at"):
        value = getattr(record, field)
        if value is not None and not MIN_INSTANT <= value <= MAX_INSTANT:
            raise InputError(f"{field} lies outside the years {MIN_YEAR} to {MAX_YEAR}", field=field)
    if any(span.start > span.end for span in record.evidence):
        raise InputError("a quote of the record ends before it begins", field="evidence")
    return record


def _is_signed_by_us(store: VerifiedStore, items: list[object], origin: str) -> bool:
    last = _try_parse(items[-1])
    if not isinstance(last, dict) or not isinstance(last.get("note"), str):
        return False
    digest = hashlib.sha256(b"".join(str(item).encode() + b"\n" for item in items[:-1])).hexdigest()
    try:
        text = verify_note(last["note"].encode(errors="replace"), origin, store.master.public_key)
    except PackError:
        return False
    return text == f"{FORMAT_KEY}\n{origin}\nsha256 {digest}\n"


def _chain_writer(
    store: VerifiedStore,
    chains: dict[bytes, list[Record]],
    arrival: Arrival,
    *,
    origin: str,
    is_ours: bool,
    marks: set[bytes],
) -> Callable[[Transaction, Reading], list[Change]]:
    ordered = {old: sorted(versions, key=lambda record: record.version) for old, versions in chains.items()}

    def build(transaction: Transaction, reading: Reading) -> list[Change]:
        view = reading.view(arrival.principal.partition)
        owner = store.owner_key(arrival.principal.partition)
        erased = view.marks | marks
        changes = []
        new_ids = {old: secrets.token_bytes(16) for old in chains}
        vectors = {old: store.vectors_of([record.text for record in versions]) for old, versions in ordered.items()}
        for old, versions in chains.items():
            known = view.with_fingerprint(_origin_print(origin, old))
            if is_ours:
                known = view.current(old) or view.with_fingerprint(versions[0].fingerprint)
            if known is not None:
                changes.append(Change(known.id.hex(), known.version, "duplicate"))
                continue
            if any(mark_of(store, value) in erased for r in versions for value in (old, r.fingerprint)):
                changes.append(Change("", 0, "erased_before"))
                continue
            before = None
            for number, (record, vector) in enumerate(zip(ordered[old], vectors[old], strict=True), 1):
                made = _adopted(record, arrival, new_ids, is_ours=is_ours, at=transaction.at)
                made = made.with_changes(version=number, origin=f"{origin}:{old.hex()}")
                if not is_ours:
                    made = made.with_changes(fingerprint=_origin_print(origin, old))
                transaction.put(owner, made, before=before, vector=vector)
                before = encode(made)
            changes.append(Change(new_ids[old].hex(), len(versions), "added"))
        return changes

    return build


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
