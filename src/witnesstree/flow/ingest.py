"""Remember, correct, withdraw, approve: how memories come to be and change. Each verb is one transaction."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from witnesstree.errors import ConflictError, InputError, NotFoundError
from witnesstree.flow.fetching import fetch_row
from witnesstree.flow.meaning import embed_new
from witnesstree.flow.recall import parse_id
from witnesstree.flow.transaction import Transaction
from witnesstree.flow.verified import Reading, VerifiedStore
from witnesstree.flow.view import View
from witnesstree.proof.mac import hmac_sha256
from witnesstree.rules.alias import parse_alias
from witnesstree.rules.authority import authority_of_correction, authority_of_turn
from witnesstree.rules.lifecycle import TRUST_AT_BIRTH, decide, status_at_birth
from witnesstree.types.limits import MAX_BATCH, MAX_BATCH_BYTES
from witnesstree.types.message import CheckedMessage, check_message, check_text
from witnesstree.types.principal import Principal
from witnesstree.types.record import Record
from witnesstree.types.result import AddResult, Change, Rejected
from witnesstree.types.trust import Kind, Op, Role, Status, name_of
from witnesstree.types.wire import canonical_json, decode


@dataclass(frozen=True, slots=True)
class Arrival:
    """How a batch of messages comes in.

    Args:
        principal: whose memory it becomes, and through whom.
        session: conversation for messages that name none.
        scope: label for later filtering.
        hold: put it into the inbox instead of the memory.
        is_import: it comes from a file: authority is capped, and what was erased does not come back.
        origin: where an import came from.
        kind: what the messages are.
    """

    principal: Principal
    session: str = ""
    scope: str = ""
    hold: bool = False
    is_import: bool = False
    origin: str = ""
    kind: Kind = Kind.TURN


def add(store: VerifiedStore, messages: Sequence[object], arrival: Arrival, *, marks: set[bytes] | None = None) -> AddResult:
    """Keep messages verbatim as turns, in one transaction.

    Args:
        store: where.
        messages: str, dict or ``Message``; a malformed one is reported and does not stop the others.
        arrival: how they come in.
        marks: marks of erased memories that the home remembers besides the store's own.

    Raises:
        InputError: too many messages, or too much text, in one call.
    """
    if len(messages) > MAX_BATCH:
        raise InputError(f"{len(messages)} messages in one call; the limit is {MAX_BATCH}, send them in parts", field="messages")
    good, rejected = _check_all(messages)
    if sum(len(message.text.encode()) for _, message in good) > MAX_BATCH_BYTES:
        raise InputError(f"more than {MAX_BATCH_BYTES} bytes of text in one call; send it in parts", field="messages")
    if not good:
        return AddResult(rejected=tuple(rejected))
    prints = [fingerprint_of(arrival, message) for _, message in good]

    def is_known(view: View, place: int) -> bool:
        return known_message(view, prints[place], is_replay=_is_replay(good[place][1])) is not None

    embedded = embed_new(store, arrival.principal.partition, [message.text for _, message in good], is_known)
    without = 0

    def build(transaction: Transaction, reading: Reading) -> list[Change]:
        nonlocal without
        without = 0
        view = reading.view(arrival.principal.partition)
        store.refuse_vectors(view, embedded.vectors)
        owner = store.owner_key(arrival.principal.partition)
        erased = view.marks if not marks else view.marks | marks
        seen: dict[bytes, Change] = {}
        changes = []
        for (index, message), fingerprint, vector in zip(good, prints, embedded.vectors, strict=True):
            is_replay = _is_replay(message)
            change = seen.get(fingerprint) or known_message(view, fingerprint, is_replay=is_replay)
            if change is None and (is_replay or arrival.is_import) and mark_of(store, fingerprint) in erased:
                change = Change("", 0, "erased_before", index)
            if change is None:
                record = _turn(arrival, message, fingerprint, at=transaction.at)
                transaction.put(owner, record, vector=vector)
                without += not vector
                what = "held" if record.status is Status.HELD else "added"
                change = Change(record.id.hex(), record.version, what, index)
                seen[fingerprint] = Change(change.id, change.version, "duplicate", index)
            changes.append(Change(change.id, change.version, change.what, index))
        return changes

    changes, written = store.write(build)
    return AddResult(
        episodes=tuple(change.id for change in changes if change.id),
        changes=tuple(changes),
        rejected=tuple(rejected),
        anchor_behind=written.anchor_behind,
        **embedded.lost(without),
    )


def _is_replay(message: CheckedMessage) -> bool:
    """Return whether a message is the same utterance for ever: it has its own id or instant."""
    return message.said_at is not None or bool(message.id)


def _check_all(messages: Sequence[object]) -> tuple[list[tuple[int, CheckedMessage]], list[Rejected]]:
    good: list[tuple[int, CheckedMessage]] = []
    rejected: list[Rejected] = []
    for index, message in enumerate(messages):
        try:
            good.append((index, check_message(message)))
        except InputError as error:
            rejected.append(Rejected(index, str(error.attributes.get("field", "messages")), str(error)))
    return good, rejected


def known_message(view: View, fingerprint: bytes, *, is_replay: bool) -> Change | None:
    """Return the memory that this message made before.

    A message with its own id or instant is the same utterance for ever, also when it was corrected since. Words alone repeat a
    memory only while they are its current text; said again after a correction, they are a new statement.
    """
    facts = view.with_fingerprint(fingerprint)
    if facts is None:
        return None
    if not is_replay and (view.current(facts.id) != facts or facts.status == Status.RETRACTED):
        return None
    return Change(facts.id.hex(), facts.version, "duplicate")


def fingerprint_of(arrival: Arrival, message: CheckedMessage) -> bytes:
    """Return 16 bytes that are equal for the same message said again: owner, scope, session, speaker, id, instant, words."""
    parts = (
        arrival.principal.partition,
        arrival.scope,
        message.session or arrival.session,
        message.role.name,
        message.name,
        message.id,
        "" if message.said_at is None else str(message.said_at),
        message.text,
        *([] if arrival.kind is Kind.TURN else [name_of(arrival.kind)]),
    )
    return hashlib.blake2b(b"\x00".join(part.encode() for part in parts), digest_size=16).digest()


def mark_of(store: VerifiedStore, value: bytes) -> bytes:
    """Return the 16-byte keyed mark by which an erased id or fingerprint is remembered."""
    return hmac_sha256(store.keys.tombstone, value)[:16]


def _turn(arrival: Arrival, message: CheckedMessage, fingerprint: bytes, *, at: int) -> Record:
    op = Op.IMPORT if arrival.is_import else Op.ADD
    status = status_at_birth(op, hold=arrival.hold)
    user = arrival.principal.user
    is_guest = message.role is Role.USER and message.name not in ("", user)
    chance = secrets.token_bytes(32)
    return Record(
        id=chance[:16],
        version=1,
        kind=arrival.kind,
        role=message.role,
        authority=authority_of_turn(message.role, is_import=arrival.is_import, is_guest=is_guest),
        trust=TRUST_AT_BIRTH,
        status=status,
        op=op,
        recorded_at=at,
        salt=chance[16:],
        fingerprint=fingerprint,
        said_at=message.said_at,
        valid_from=at if message.said_at is None else message.said_at,
        text=message.text,
        user=user,
        actor=arrival.principal.actor,
        agent=arrival.principal.agent,
        session=message.session or arrival.session,
        scope=arrival.scope,
        name=message.name,
        source=message.id,
        metadata=message.metadata,
        origin=arrival.origin,
    )


@dataclass(frozen=True, slots=True)
class Step:
    """A change to one memory: what is done, the new text and metadata if any, and the version it must still have."""

    op: Op
    text: str | None = None
    metadata: dict[str, object] | None = None
    expected_version: int | None = None


_WORD = {Op.UPDATE: "updated", Op.RETRACT: "retracted", Op.APPROVE: "approved"}


def change(store: VerifiedStore, memory_id: object, principal: Principal, step: Step) -> Change:
    """Write the next version of a memory, by the lifecycle table.

    Raises:
        NotFoundError: no such memory for this caller. ConflictError: it is no longer at ``expected_version``, or the table
            has no such step. InputError: the new text or metadata is malformed.
    """
    wanted = parse_id(memory_id)
    if step.expected_version is not None and (
        isinstance(step.expected_version, bool)
        or not isinstance(step.expected_version, int)
        or not 0 <= step.expected_version < 2**32
    ):
        raise InputError("expected_version must be a whole number", field="expected_version")
    if step.text is not None:
        check_text(step.text, "text")
    if step.metadata is not None:
        canonical_json(step.metadata)

    embedded = embed_new(store, principal.partition, [] if step.text is None else [step.text])

    def build(transaction: Transaction, reading: Reading) -> Change:
        view = reading.view(principal.partition)
        facts = view.current(wanted)
        if facts is None:
            raise NotFoundError(f"there is no memory {wanted.hex()}", id=wanted.hex())
        if step.expected_version is not None and step.expected_version != facts.version:
            raise ConflictError(
                f"memory {wanted.hex()} is at version {facts.version}, not {step.expected_version}; read it again",
                reason="version",
                version=facts.version,
            )
        decision, status = decide(Status(facts.status), step.op)
        if status is None:
            raise ConflictError(f"memory {wanted.hex()}: {decision.detail}", reason=decision.reason)
        row = fetch_row(reading, view, facts)
        old = decode(row.content)
        if old.kind is Kind.ALIAS and step.text is not None:
            parse_alias(step.text)
        new = _next_version(old, principal, step, status, at=transaction.at)
        if new is None:
            return Change(wanted.hex(), old.version, "unchanged")
        is_new_text = new.text != old.text
        if is_new_text:
            store.refuse_vectors(view, embedded.vectors)
        vector = embedded.vectors[0] if is_new_text else row.vector
        transaction.put(store.owner_key(principal.partition), new, before=row.content, vector=vector)
        return Change(wanted.hex(), new.version, _WORD[step.op], notes=embedded.notes if is_new_text else ())

    made, written = store.write(build)
    return replace(made, anchor_behind=written.anchor_behind)


def _next_version(old: Record, principal: Principal, step: Step, status: Status, *, at: int) -> Record | None:
    changes: dict[str, object] = {}
    if step.metadata is not None and step.metadata != old.metadata:
        changes["metadata"] = step.metadata
    if step.text is not None and step.text != old.text:
        changes |= {
            "text": step.text,
            "kind": Kind.FACT if old.kind is Kind.TURN else old.kind,
            "role": Role.USER,
            "name": "",
            "authority": authority_of_correction(by_agent=bool(principal.agent)),
            "trust": TRUST_AT_BIRTH,
            "said_at": at,
            "evidence": (),
            "fingerprint": _said_plainly(principal, old, step.text),
        }
    if step.op is Op.UPDATE and not changes:
        return None
    return old.with_changes(
        version=old.version + 1,
        op=step.op,
        status=status,
        recorded_at=at,
        valid_from=at if step.op is not Op.APPROVE else old.valid_from,
        actor=principal.actor,
        agent=principal.agent,
        salt=secrets.token_bytes(16),
        **changes,
    )


def _said_plainly(principal: Principal, old: Record, text: str) -> bytes:
    """Return the fingerprint of the user just saying the corrected words, so that saying them again repeats this memory."""
    arrival = Arrival(principal, session=old.session, scope=old.scope)
    return fingerprint_of(arrival, CheckedMessage(text, Role.USER, "", None, "", old.session, {}))


def as_messages(messages: object) -> list[object]:
    """Return a list for one message or many.

    Raises:
        InputError: neither.
    """
    if isinstance(messages, bytes | bytearray | memoryview):
        raise InputError("messages must be text, not bytes; decode them first", field="messages")
    if is_single(messages):
        return [messages]
    return list(messages)  # type: ignore[call-overload, no-any-return]


def is_single(messages: object) -> bool:
    """Return whether this is one message (or nothing that could be a list of them)."""
    return isinstance(messages, str | Mapping) or not isinstance(messages, Iterable)
