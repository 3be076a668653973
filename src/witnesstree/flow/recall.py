"""The one retrieval path of every verb and door: policy filter, verified view, rank, fetch, verify again, fence."""

from __future__ import annotations

import base64
import json
import re
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice

import numpy as np
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from numpy.typing import NDArray

from witnesstree.errors import InputError, NotFoundError, SealError
from witnesstree.flow.aliases import confirmed_aliases
from witnesstree.flow.fetching import Fetching, fetch_record
from witnesstree.flow.fusion import Scored, rank
from witnesstree.flow.meaning import Meaning
from witnesstree.flow.verified import VerifiedStore
from witnesstree.flow.view import View
from witnesstree.proof.encoding import commit_to
from witnesstree.proof.mac import hmac_sha256
from witnesstree.rules.alias import expand
from witnesstree.rules.asking import Asking
from witnesstree.rules.budget import count_tokens, cut_to_tokens
from witnesstree.rules.fence import fence, inert
from witnesstree.rules.policy import Filter, Where, is_match, version_as_of
from witnesstree.types.facts import RowFacts
from witnesstree.types.limits import MAX_BUDGET_TOKENS, MAX_QUERY_CHARS, MAX_QUERY_TERMS, MAX_RESULTS
from witnesstree.types.principal import Principal
from witnesstree.types.result import Hit, Memo, Page, SearchResult, memo_fields
from witnesstree.types.trust import Authority, Status, Trust

TRACE_FORMAT = b"\x01"
FIRST_SORTED = 64
"""Best documents that are sorted before the rest is looked at."""


@dataclass(frozen=True, slots=True)
class Question:
    """A checked search: whose memory, which words, which filter, how many."""

    principal: Principal
    query: str
    filter: Filter
    k: int = 10
    where: Where | None = None
    budget_tokens: int | None = None


def parse_id(value: object) -> bytes:
    """Return the 16 bytes of a memory id.

    Raises:
        NotFoundError: it can't be the id of any memory; the same answer as for an id that never existed (threat T-I8).
    """
    if isinstance(value, str) and len(value) == 32:
        try:
            return bytes.fromhex(value)
        except ValueError:
            pass
    raise NotFoundError(
        "there is no memory with this id; ids are 32 hex digits",
        id=value[:64] if isinstance(value, str) else type(value).__name__,
    )


def check_count(value: object, field: str) -> int:
    """Return a number of results between 1 and ``MAX_RESULTS``.

    Raises:
        InputError: anything else.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MAX_RESULTS:
        raise InputError(f"{field} must be a whole number from 1 to {MAX_RESULTS}", field=field)
    return value


def check_query(value: object) -> str:
    """Return the query text; any characters are allowed and mean themselves (threat T-I3).

    Raises:
        InputError: no text, or too long.
    """
    if not isinstance(value, str):
        raise InputError(f"query must be text, not {type(value).__name__}", field="query")
    if len(value) > MAX_QUERY_CHARS:
        raise InputError(f"query is longer than {MAX_QUERY_CHARS} characters", field="query")
    return value


def check_budget(value: object) -> int | None:
    """Return a token budget, or None.

    Raises:
        InputError: not a whole number from 1 to ``MAX_BUDGET_TOKENS``.
    """
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MAX_BUDGET_TOKENS:
        raise InputError(f"budget_tokens must be a whole number from 1 to {MAX_BUDGET_TOKENS}", field="budget_tokens")
    return value


def select(view: View, wanted: Filter, after: int = -1) -> Iterator[RowFacts]:
    """Yield the versions of memories that a filter asks for, in the order in which the memories first came in.

    Args:
        view: the owner's view.
        wanted: the filter.
        after: only memories that first came in above this log position.
    """
    if wanted.travels:
        return _travel(view, wanted, after)
    found = map(view.facts, map(int, view.in_order(_narrowed(view, wanted), after)))
    return (facts for facts in found if is_match(facts, wanted))


def _narrowed(view: View, wanted: Filter) -> NDArray[np.bool_]:
    """Return one bool a document for what a filter of the present may let through; ``is_match`` has the last word."""
    columns = view.columns
    chosen = view.newest
    if not wanted.inactive:
        chosen &= view.visible
        chosen[view.over_at(wanted.now)] = False
    for field, names, text in (("session", columns.sessions, wanted.session), ("scope", columns.scopes, wanted.scope)):
        if text:
            chosen &= columns[field] == names.find(text)
    if wanted.kinds is not None:
        chosen &= np.isin(columns["kind"], list(wanted.kinds))
    if wanted.min_authority > Authority.NONE:
        chosen &= columns["authority"] >= wanted.min_authority
    if wanted.min_trust > Trust.REJECTED:
        chosen &= columns["trust"] >= wanted.min_trust
    return chosen


def _travel(view: View, wanted: Filter, after: int) -> Iterator[RowFacts]:
    for newest in map(view.facts, map(int, view.in_order(view.newest, after))):
        version = version_as_of(view.versions(newest.id), wanted)
        if version is not None and is_match(version, wanted):
            yield version


def search(store: VerifiedStore, question: Question) -> SearchResult:
    """Return the best memories for a query.

    Raises:
        IntegrityError: the caller's memory, the head or the schema is not what was written.
    """
    ask = partial(_asking, question.query)
    meaning = Meaning(store, question.principal.partition, ask)
    with store.reading() as reading:
        view = reading.view(question.principal.partition)
        fetching = Fetching(reading, view, question.where)
        asking = ask(view, fetching)
        hits: list[Hit] = []
        found = ranked(meaning, view, asking, question.filter) if asking.terms else iter(())
        while best := list(islice(found, question.k - len(hits))):
            for scored, record in zip(best, fetching.records([scored.facts for scored in best]), strict=True):
                if record is not None:
                    hits.append(Hit(**memo_fields(record), score=scored.score, signals=scored.signals()))
        size, withheld = reading.trusted.size, fetching.withheld
    return SearchResult(
        hits=tuple(hits),
        verified_through=size,
        integrity=integrity_of(store, withheld),
        withheld=withheld,
        notes=(*meaning.notes, *asking.notes),
        _trace=partial(make_trace, store, question, size, [hit.id for hit in hits]),
        _context=partial(make_context, store, hits, withheld, question.budget_tokens),
    )


def _asking(query: str, view: View, fetching: Fetching) -> Asking:
    """Return a query with the other names of what it names."""
    return Asking.of(expand(query, confirmed_aliases(view, fetching)), MAX_QUERY_TERMS)


def integrity_of(store: VerifiedStore, withheld: int) -> str:
    """Return the word that a result carries about how it was verified."""
    if withheld:
        return "quarantined"
    return "backup" if store.store.is_backup else "verified"


def ranked(meaning: Meaning, view: View, asking: Asking, wanted: Filter) -> Iterator[Scored]:
    """Yield every relevant memory, best first; the filter decides before ranking (threat T-I1), and again on what is found."""
    found = rank(view, asking, visible_to(view, wanted), meaning.of(view))
    return (scored for scored in found if is_match(scored.facts, wanted))


def visible_to(view: View, wanted: Filter) -> NDArray[np.bool_]:
    """Return one bool a document: whether the filter lets it take part."""
    if wanted.is_plain:
        visible = view.visible
        over = view.over_at(wanted.now)
        if over:
            visible = visible.copy()
            visible[over] = False
        return visible
    if not wanted.travels:
        return _narrowed(view, wanted)
    visible = np.zeros(view.columns.count, np.bool_)
    visible[[facts.document for facts in select(view, wanted)]] = True
    return visible


def make_trace(store: VerifiedStore, question: Question, size: int, ids: list[str]) -> str:
    """Return a sealed token (AES-256-GCM) that holds whose search it was, its words, the log size and the results.

    The caller keeps it and hands it back with feedback; the store keeps nothing of a search.
    """
    body = json.dumps([question.principal.partition, question.query, size, ids], separators=(",", ":")).encode()
    nonce = secrets.token_bytes(12)
    return base64.urlsafe_b64encode(TRACE_FORMAT + nonce + _trace_cipher(store).encrypt(nonce, body, TRACE_FORMAT)).decode()


def open_trace(store: VerifiedStore, token: object) -> tuple[str, str, int, list[str]]:
    """Return partition, query, log size and ids of a token that ``make_trace`` of this store gave.

    Raises:
        InputError: any other token.
    """
    try:
        data = base64.urlsafe_b64decode(str(token).encode())
        body = _trace_cipher(store).decrypt(data[1:13], data[13:], TRACE_FORMAT if data[:1] == TRACE_FORMAT else b"")
    except (ValueError, InvalidTag):
        raise InputError("trace_id is not one that a search of this store gave", field="trace_id") from None
    partition, query, size, ids = json.loads(body)
    return partition, query, size, ids


def _trace_cipher(store: VerifiedStore) -> AESGCM:
    return AESGCM(hmac_sha256(store.keys.cache, b"trace"))


def make_context(
    store: VerifiedStore, hits: Sequence[Hit], withheld: int, default_budget: int | None, budget_tokens: int | None
) -> str:
    """Return hits as fenced inert lines within a budget that includes the fence.

    Raises:
        InputError: the budget is malformed or too small for the fence itself.
    """
    budget = check_budget(budget_tokens) or default_budget
    lines = [_line(number, hit) for number, hit in enumerate(hits, 1)]
    count = "1 memory is" if withheld == 1 else f"{withheld} memories are"
    notes = [f"({count} withheld: the integrity check failed.)"] if withheld else []
    marker = commit_to(store.keys.cache, b"fence", "\n".join([*notes, *lines]).encode())[:9].hex()
    if budget is None:
        return fence([*notes, *lines], marker)
    kept: list[str] = list(notes)
    if count_tokens(fence(kept, marker)) > budget:
        raise InputError(f"a budget of {budget} tokens is too small for the fence itself", field="budget_tokens")
    for line in lines:
        room = budget - count_tokens(fence([*kept, ""], marker)) - 1
        if count_tokens(line) <= room:
            kept.append(line)
            continue
        if room >= 16:
            kept.append(cut_to_tokens(line, room - 2) + " …")
        break
    return fence(kept, marker)


def _line(number: int, hit: Memo) -> str:
    who = f"{hit.role} {inert(hit.name)}".strip()
    return f"{number}. ({who}, {hit.at or 'time unknown'}, {hit.authority}, {hit.trust}) {inert(hit.text)}"


def current_version(view: View, wanted: bytes) -> RowFacts:
    """Return the newest version of a memory that is not withdrawn.

    Raises:
        NotFoundError: there is none. SealError: there may be one among the rows that are withheld.
    """
    facts = view.current(wanted)
    if facts is None or facts.status == Status.RETRACTED:
        raise _absent(view, wanted)
    return facts


def _absent(view: View, wanted: bytes) -> NotFoundError | SealError:
    if view.withheld:
        return SealError(f"memory {wanted.hex()} is not among those that verify; {view.withheld} are withheld", reason="withheld")
    return NotFoundError(f"there is no memory {wanted.hex()}", id=wanted.hex())


def get(store: VerifiedStore, memory_id: object, principal: Principal) -> Memo:
    """Return the current version of a memory.

    Raises:
        NotFoundError: never existed, erased, withdrawn, or another user's. SealError: its row does not verify.
    """
    wanted = parse_id(memory_id)
    with store.reading() as reading:
        view = reading.view(principal.partition)
        return Memo(**memo_fields(fetch_record(reading, view, current_version(view, wanted))))


def history(store: VerifiedStore, memory_id: object, principal: Principal) -> tuple[Memo, ...]:
    """Return every version of a memory, oldest first, whole.

    Raises:
        NotFoundError: see ``get``; withdrawn memories keep their history for their owner.
    """
    wanted = parse_id(memory_id)
    with store.reading() as reading:
        view = reading.view(principal.partition)
        versions = view.versions(wanted)
        if not versions:
            raise _absent(view, wanted)
        return tuple(Memo(**memo_fields(fetch_record(reading, view, facts))) for facts in versions)


@dataclass(frozen=True, slots=True)
class Listing:
    """A checked request for a page."""

    principal: Principal
    filter: Filter
    limit: int = 100
    after: int = -1
    where: Where | None = None
    status: Status | None = None


def parse_cursor(value: object) -> int:
    """Return the log position that a page continues after.

    Raises:
        InputError: not a cursor that ``list`` gave.
    """
    if value is None:
        return -1
    try:
        text = base64.urlsafe_b64decode(str(value).encode()).decode()
    except ValueError:
        text = ""
    if not re.fullmatch(r"after:[0-9]{1,18}", text, re.ASCII):
        raise InputError("cursor is not one that an earlier page gave", field="cursor")
    return int(text.removeprefix("after:"))


def list_page(store: VerifiedStore, request: Listing) -> Page:
    """Return one page of memories in the order in which they first came in; an update does not move one.

    Raises:
        IntegrityError: the caller's memory, the head or the schema is not what was written.
    """
    with store.reading() as reading:
        view = reading.view(request.principal.partition)
        items: list[Memo] = []
        last = request.after
        fetching = Fetching(reading, view, request.where)
        more = False
        for facts in select(view, request.filter, request.after):
            if request.status is not None and facts.status != request.status:
                continue
            if len(items) >= request.limit:
                more = True
                break
            record = fetching.record(facts)
            if record is not None:
                items.append(Memo(**memo_fields(record)))
                last = facts.first_seq
    cursor = base64.urlsafe_b64encode(f"after:{last}".encode()).decode() if more else None
    return Page(tuple(items), cursor, integrity_of(store, fetching.withheld), fetching.withheld)
