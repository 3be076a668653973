"""The facade: one object, one set of verbs, the same names at every door."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

from witnesstree.config import read_settings
from witnesstree.errors import InputError, UnsupportedError
from witnesstree.flow import answer as answering
from witnesstree.flow import audit as auditing
from witnesstree.flow import exchange, ingest, recall, relocate
from witnesstree.flow import forget as erasing
from witnesstree.flow import reindex as reindexing
from witnesstree.flow.home import ANCHOR_FORMS, Home
from witnesstree.flow.items import split_input
from witnesstree.flow.opening import Terms, memory_store, open_verified, utc_now
from witnesstree.flow.verified import Clock, VerifiedStore
from witnesstree.providers import as_embedder
from witnesstree.providers.base import Embedder
from witnesstree.rules.alias import check_alias
from witnesstree.rules.policy import compile_where, parse_filter
from witnesstree.stores import path_text, place_of
from witnesstree.stores.ram import RamStore
from witnesstree.types.flag import check_flag
from witnesstree.types.message import Message
from witnesstree.types.principal import Principal, normalise_name
from witnesstree.types.result import (
    AddResult,
    Answer,
    AuditReport,
    Change,
    ErasureReceipt,
    Memo,
    Page,
    Problem,
    Quote,
    Reindexed,
    SearchResult,
)
from witnesstree.types.trust import Kind, Op, Status

__all__ = ["Memory"]


class Memory:
    """An open memory. Use it as a context manager, from any number of threads; open it again after a fork."""

    def __init__(
        self, store: VerifiedStore, home: Home | None, terms: Terms, *, user: str = "", agent: str = "", scope: str = ""
    ) -> None:
        """Wrap an open store; use ``Memory.open`` instead."""
        self._store = store
        self._home = home
        self._terms = terms
        self._user = user
        self._agent = agent
        self._scope = scope

    @classmethod
    def open(
        cls,
        url: str | os.PathLike[str],
        *,
        user: str | None = None,
        agent: str | None = None,
        scope: str | None = None,
        key: str = "",
        anchor: str = "",
        on_tamper: str = "raise",
        embedder: str | Embedder | None = None,
        clock: Clock = utc_now,
        unsafe_no_anchor: bool = False,
        create: bool = True,
        examine: bool = False,
    ) -> Memory:
        """Open the memory at a place, making it if nothing was there before.

        Args:
            url: a path, ``sqlite:///path``, or ``ram:`` for one that lives in this process only.
            user: default user of the verbs.
            agent: default agent of the verbs; it becomes the actor in the log.
            scope: default scope label of the verbs.
            key: 64 hex digits, a recovery phrase, the path of a key file, or ``keyring``; the home's own key if empty.
            anchor: ``"file"``: the head is remembered in the state folder; ``"file:FOLDER"``: in that folder too, which lies on
                another disk or machine, so that who takes the state folder can't put an older copy back (tier C); what the
                environment says, or ``"file"``, if not given.
            on_tamper: ``"raise"``, or ``"quarantine"`` to withhold what does not verify and say how much.
            embedder: what compares by meaning: ``"local"`` (offline), ``"none"`` (words only), ``"openai:MODEL"``,
                ``"http://HOST:PORT/PATH#MODEL"``, or an ``Embedder``; what the environment says, or ``"local"``, if not given.
            clock: gives the present instant (for tests).
            unsafe_no_anchor: go without an anchor; an older copy put back can't be noticed then.
            create: make the store if it does not exist.
            examine: open also what does not verify, for ``audit`` and ``repair``; every other verb still refuses.

        Raises:
            IntegrityError: what lies there is not what was written. InputError, StoreError: it can't be opened.
        """
        _check_terms(on_tamper, anchor, key)
        if check_flag(unsafe_no_anchor, "unsafe_no_anchor"):
            warnings.warn("unsafe_no_anchor: an older copy of the store put back can't be noticed", stacklevel=2)
        settings = read_settings()
        terms = Terms(
            quarantine=on_tamper == "quarantine",
            use_anchor=not unsafe_no_anchor,
            create=check_flag(create, "create"),
            clock=clock,
            examine=check_flag(examine, "examine"),
            embedder=as_embedder(settings.embedder if embedder is None else embedder, settings),
        )
        names = {
            "user": normalise_name(user, "user", required=False),
            "agent": normalise_name(agent, "agent", required=False),
            "scope": normalise_name(scope, "scope", required=False),
        }
        url = path_text(url)
        if url == "ram:":
            return cls(memory_store(RamStore, terms), None, terms, **names)
        home = Home.at(settings, key, anchor)
        return cls(open_verified(url, home, terms), home, terms, **names)

    def __enter__(self) -> Self:
        """Return the memory itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Finish pending erasures, write caches, release the store; closing twice is allowed."""
        self._store.close()

    @property
    def place(self) -> str:
        """Where the store lies."""
        return self._store.store.place

    @property
    def store_id(self) -> str:
        """The store's id, 32 hex digits."""
        return self._store.keys.store_id.hex()

    @property
    def verifier_key(self) -> str:
        """The public key that checks this store's checkpoints, proofs and receipts (C2SP verifier key)."""
        return auditing.verifier_key_of(self._store)

    def _principal(self, user: object, agent: object = None) -> Principal:
        whose = user if user is not None else self._user
        if whose == "" and user is None:
            raise InputError("say whose memory it is: user=…, here or in Memory.open", field="user")
        return Principal.of(whose, agent if agent is not None else self._agent)

    def _scope_or_default(self, scope: object) -> str:
        return normalise_name(scope if scope is not None else self._scope, "scope", required=False)

    # -- remember ---------------------------------------------------------------------------------------------------------

    def add(
        self,
        messages: str | Message | Mapping[str, Any] | Iterable[object],
        *,
        user: str | None = None,
        agent: str | None = None,
        session: str | None = None,
        scope: str | None = None,
        at: object = None,
        metadata: Mapping[str, Any] | None = None,
        hold: bool = False,
    ) -> AddResult:
        """Keep messages verbatim; each becomes one memory that can be found, quoted, corrected, proven and erased.

        Args:
            messages: text, ``Message``, dict ``{role, content, name?, at?, id?, session?, metadata?}``, or a list of them.
            user: whose memory.
            agent: who hands it in.
            session: conversation for messages that name none.
            scope: label for later filtering.
            at: instant for messages that name none.
            metadata: JSON data for messages that have none.
            hold: put them into the inbox until ``approve``.

        Returns:
            Ids in input order, what happened to each, and which were rejected and why. A list keeps its good items.

        Raises:
            InputError: a single message, or an argument, is malformed. StoreError: nothing was kept.
        """
        is_single = ingest.is_single(messages)
        items = [self._with_defaults(item, at, metadata) for item in ingest.as_messages(messages)]
        arrival = ingest.Arrival(
            principal=self._principal(user, agent),
            session=normalise_name(session, "session", required=False),
            scope=self._scope_or_default(scope),
            hold=check_flag(hold, "hold"),
        )
        result = ingest.add(self._store, items, arrival)
        if is_single and result.rejected:
            raise InputError(result.rejected[0].message, field=result.rejected[0].field)
        return result

    @staticmethod
    def _with_defaults(item: object, at: object, metadata: Mapping[str, Any] | None) -> object:
        if at is None and metadata is None:
            return item
        if isinstance(item, str):
            return Message(item, at=at, metadata=metadata or {})
        if isinstance(item, Message):
            return replace(item, at=at if item.at is None else item.at, metadata=item.metadata or metadata or {})
        if isinstance(item, Mapping):
            return {"at": at, "metadata": metadata or {}} | {key: value for key, value in item.items() if value is not None}
        return item

    def alias(self, alias: str, name: str, *, user: str | None = None, agent: str | None = None, hold: bool = False) -> Change:
        """Keep that two names mean the same: ``alias("my sister", "Ana")``. Questions with one name find what has the other.

        It is a memory like others: listed, corrected, exported, erased. What an agent proposes waits for ``approve``.

        Args:
            alias: one name, up to 200 characters.
            name: the other one.
            user: whose memory.
            agent: who proposes it; it then waits in the inbox.
            hold: let it wait in the inbox in any case.

        Raises:
            InputError: a name is malformed, or says nothing by which it could be found.
        """
        principal = self._principal(user, agent)
        arrival = ingest.Arrival(principal, hold=check_flag(hold, "hold") or bool(principal.agent), kind=Kind.ALIAS)
        result = ingest.add(self._store, [check_alias(alias, name).text], arrival)
        return replace(result.changes[0], anchor_behind=result.anchor_behind)

    # -- find and read ----------------------------------------------------------------------------------------------------

    def search(
        self,
        query: str,
        *,
        user: str | None = None,
        agent: str | None = None,
        session: str | None = None,
        scope: str | None = None,
        k: int = 10,
        kinds: str | Iterable[str] | None = None,
        min_authority: str | None = None,
        min_trust: str | None = None,
        as_of: object = None,
        recorded_as_of: object = None,
        where: Mapping[str, Any] | None = None,
        budget_tokens: int | None = None,
    ) -> SearchResult:
        """Return the memories that match a query best, verified.

        Args:
            query: any text; every character means itself.
            user: whose memory.
            agent: who asks.
            session: only this conversation.
            scope: only this scope label.
            k: how many at most, 1 to 1000.
            kinds: only these kinds.
            min_authority: at least ``unendorsed``, ``attested`` or ``authorized``.
            min_trust: at least ``contested``, ``candidate`` or ``verified``.
            as_of: what was true at this instant.
            recorded_as_of: what was known at this instant.
            where: filter (``docs/quickstart.md``).
            budget_tokens: default budget of ``.context()``.

        Raises:
            IntegrityError: this user's memory, the head or the schema is not what was written; nothing is returned.
        """
        return recall.search(
            self._store,
            self._question(
                query,
                user=user,
                agent=agent,
                session=session,
                scope=scope,
                k=k,
                kinds=kinds,
                min_authority=min_authority,
                min_trust=min_trust,
                as_of=as_of,
                recorded_as_of=recorded_as_of,
                where=where,
                budget_tokens=budget_tokens,
            ),
        )

    def _question(
        self, query: str, *, user: object, agent: object, k: int, where: object, budget_tokens: object, **filters: Any
    ) -> recall.Question:
        session = normalise_name(filters.pop("session"), "session", required=False)
        scope = self._scope_or_default(filters.pop("scope"))
        return recall.Question(
            principal=self._principal(user, agent),
            query=recall.check_query(query),
            filter=parse_filter(now=self._store.now(), session=session, scope=scope, **filters),
            k=recall.check_count(k, "k"),
            where=compile_where(where),
            budget_tokens=recall.check_budget(budget_tokens),
        )

    def get(self, id: str, *, user: str | None = None) -> Memo:
        """Return the current version of a memory.

        Raises:
            NotFoundError: it never existed, was withdrawn or erased, or is another user's; the answer is the same.
        """
        return recall.get(self._store, id, self._principal(user))

    def list(
        self,
        *,
        user: str | None = None,
        limit: int = 100,
        cursor: str | None = None,
        include_inactive: bool = False,
        session: str | None = None,
        scope: str | None = None,
        where: Mapping[str, Any] | None = None,
    ) -> Page:
        """Return one page of memories, oldest first; pass its ``cursor`` for the next one.

        Raises:
            InputError: ``limit`` or ``cursor`` is malformed. IntegrityError: see ``search``.
        """
        return recall.list_page(
            self._store,
            recall.Listing(
                principal=self._principal(user),
                filter=parse_filter(
                    now=self._store.now(),
                    session=normalise_name(session, "session", required=False),
                    scope=self._scope_or_default(scope),
                    inactive=check_flag(include_inactive, "include_inactive"),
                ),
                limit=recall.check_count(limit, "limit"),
                after=recall.parse_cursor(cursor),
                where=compile_where(where),
            ),
        )

    def evidence(self, id: str, *, user: str | None = None) -> tuple[Quote, ...]:
        """Return the verbatim quotes that a memory rests on, with their places."""
        return self.get(id, user=user).evidence

    def history(self, id: str, *, user: str | None = None) -> tuple[Memo, ...]:
        """Return every version of a memory, oldest first, nothing shortened."""
        return recall.history(self._store, id, self._principal(user))

    def answer(
        self,
        question: str,
        *,
        user: str | None = None,
        agent: str | None = None,
        session: str | None = None,
        scope: str | None = None,
        kinds: str | Iterable[str] | None = None,
        min_authority: str | None = None,
        min_trust: str | None = None,
        as_of: object = None,
        recorded_as_of: object = None,
        where: Mapping[str, Any] | None = None,
    ) -> Answer:
        """Answer with the best-supported verbatim quote and its citation, or abstain.

        Takes the filters of ``search``.

        Raises:
            IntegrityError: see ``search``.
        """
        wanted = self._question(
            question,
            user=user,
            agent=agent,
            session=session,
            scope=scope,
            k=1,
            kinds=kinds,
            min_authority=min_authority,
            min_trust=min_trust,
            as_of=as_of,
            recorded_as_of=recorded_as_of,
            where=where,
            budget_tokens=None,
        )
        return answering.answer(self._store, wanted)

    # -- correct ----------------------------------------------------------------------------------------------------------

    def update(
        self,
        id: str,
        text: str | None = None,
        *,
        user: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        expected_version: int | None = None,
    ) -> Change:
        """Correct a memory: a new version in the user's words; older ones stay in its history. What is not given stays.

        Raises:
            NotFoundError: no such memory. ConflictError: it is not at ``expected_version`` any more.
        """
        if text is None and metadata is None:
            raise InputError("give a new text or new metadata", field="text")
        if metadata is not None and not isinstance(metadata, Mapping):
            raise InputError("metadata must be a JSON object", field="metadata")
        step = ingest.Step(Op.UPDATE, text, None if metadata is None else dict(metadata), expected_version)
        return ingest.change(self._store, id, self._principal(user), step)

    def retract(self, id: str, *, user: str | None = None, expected_version: int | None = None) -> Change:
        """Withdraw a memory: it is not found any more, and stays in its history; ``forget`` erases."""
        return ingest.change(self._store, id, self._principal(user), ingest.Step(Op.RETRACT, expected_version=expected_version))

    def inbox(self, *, user: str | None = None, limit: int = 100, cursor: str | None = None) -> Page:
        """Return one page of what waits for its owner's approval."""
        return recall.list_page(
            self._store,
            recall.Listing(
                principal=self._principal(user),
                filter=parse_filter(now=self._store.now(), inactive=True),
                limit=recall.check_count(limit, "limit"),
                after=recall.parse_cursor(cursor),
                status=Status.HELD,
            ),
        )

    def approve(self, id: str, *, user: str | None = None) -> Change:
        """Let a held memory take effect."""
        return ingest.change(self._store, id, self._principal(user), ingest.Step(Op.APPROVE))

    # -- erase ------------------------------------------------------------------------------------------------------------

    def forget(
        self,
        id: str | None = None,
        *,
        user: str | None = None,
        session: str | None = None,
        where: Mapping[str, Any] | None = None,
        everything: bool = False,
        dry_run: bool = False,
    ) -> ErasureReceipt:
        """Erase memories with all their versions from every byte of the store and its caches; return a signed receipt.

        Give exactly one of ``id``, ``session``, ``where`` and ``everything``.

        Raises:
            InputError: none or several of them. NotFoundError: no memory with this id.
        """
        choice = erasing.Choice(
            memory_id=id,
            session=None if session is None else normalise_name(session, "session"),
            where=compile_where(where),
            everything=check_flag(everything, "everything"),
        )
        state = None if self._home is None else self._home.state
        return erasing.forget(self._store, state, choice, self._principal(user), dry_run=check_flag(dry_run, "dry_run"))

    # -- prove ------------------------------------------------------------------------------------------------------------

    def audit(self, *, progress: Callable[[int, int], None] | None = None) -> AuditReport:
        """Check everything there is and report every finding."""
        return auditing.audit(self._store, progress)

    def prove(self, id: str, *, user: str | None = None) -> str:
        """Return an offline proof (c2sp tlog-proof) that a memory stands in the signed log exactly so."""
        return auditing.prove(self._store, id, self._principal(user))

    def checkpoint(self) -> str:
        """Return the signed head of the log (C2SP checkpoint)."""
        return auditing.checkpoint(self._store)

    def repair(self) -> tuple[Problem, ...]:
        """Rebuild what is derived; return what can't be rebuilt and needs a backup."""
        return auditing.repair(self._store)

    def reindex(self, *, progress: Callable[[int, int], None] | None = None) -> Reindexed:
        """Give every memory the vector of the embedder that this memory was opened with; fill those that are missing.

        It may be interrupted and run again: what was computed is kept. Readers see the old vectors until all are there.

        Args:
            progress: called with (rows done, rows in all).

        Raises:
            IntegrityError: the store does not verify; nothing is changed. ProviderError: the embedder gives no vectors.
        """
        return reindexing.reindex(self._store, progress)

    # -- move -------------------------------------------------------------------------------------------------------------

    def export(self, *, user: str | None = None) -> str:
        """Return a user's whole memory as signed JSON lines."""
        return "\n".join(exchange.export_lines(self._store, self._principal(user))) + "\n"

    def import_(
        self,
        data: object,
        *,
        user: str | None = None,
        agent: str | None = None,
        session: str | None = None,
        scope: str | None = None,
        hold: bool = False,
        origin: str = "",
        progress: Callable[[int], None] | None = None,
    ) -> AddResult:
        """Bring in chat messages (list, JSON lines, JSON array, or the ``Path`` of a file of these) or an export.

        Nothing gains authority by it.

        Running it again adds nothing twice; what was erased stays away.

        Raises:
            InputError: neither of these formats.
        """
        arrival = ingest.Arrival(
            principal=self._principal(user, agent),
            session=normalise_name(session, "session", required=False),
            scope=self._scope_or_default(scope),
            hold=check_flag(hold, "hold"),
            is_import=True,
            origin=normalise_name(origin, "origin", required=False),
        )
        marks = set() if self._home is None else self._home.state.marks()
        items = split_input(data)
        return exchange.import_items(self._store, items, arrival, marks=marks, progress=progress)

    def backup(self, path: str | os.PathLike[str]) -> None:
        """Write a consistent copy that can only be read, or restored from."""
        target = place_of(path_text(path))
        with self._store.reading():
            pass
        self._store.store.backup(target)

    @staticmethod
    def restore(
        backup: str | os.PathLike[str], target: str | os.PathLike[str], *, key: str = "", clock: Clock = utc_now
    ) -> AuditReport:
        """Make a new store at ``target`` from a backup, after checking all of it; erased memories stay erased."""
        return relocate.restore(path_text(backup), path_text(target), Home.at(read_settings(), key), Terms(clock=clock))

    def fork(self, target: str | os.PathLike[str]) -> AuditReport:
        """Make a new store at ``target`` that begins with this memory and knows where it came from."""
        return relocate.fork(self._store, path_text(target), self._needs_home(), self._terms)

    def rotate_keys(self, *, lost_signer: bool = False) -> AuditReport:
        """Replace the store's keys: everything is checked, then sealed and signed anew in one transaction.

        Args:
            lost_signer: do it with a reader's key, since the signing key is lost; the log says so.

        Raises:
            AccessError: only a reader's key is here, and ``lost_signer`` was not given.
        """
        return relocate.rotate(self._store, self._needs_home(), lost_signer=check_flag(lost_signer, "lost_signer"))

    def _needs_home(self) -> Home:
        if self._home is None:
            raise UnsupportedError("a memory in this process only has no keys or files of its own", reason="ram")
        return self._home


def _check_terms(on_tamper: object, anchor: object, key: object) -> None:
    if on_tamper not in ("raise", "quarantine"):
        raise InputError('on_tamper must be "raise" or "quarantine"', field="on_tamper")
    if not isinstance(anchor, str):
        raise InputError(ANCHOR_FORMS, field="anchor")
    if not isinstance(key, str):
        raise InputError("key must be text: hex digits, a phrase, a path, or keyring", field="key")
