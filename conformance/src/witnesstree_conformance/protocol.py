"""What a subject answers: the few verbs of a memory store, and the raw access that an attacker of its files would have.

A subject is any memory store behind :class:`Subject`. Its :class:`Raw` plays the attacker. Everything an adapter can't do raises
:class:`NotApplicable` with a reason, which ends up in the report. ``PROTOCOL.md`` explains each verb with an example.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

PROTOCOL_VERSION = 1
ZONES = ("store", "state", "keys", "witness")
TIERS = ("A", "B", "C", "E")
Item = Mapping[str, Any]
"""One entry as the tool returns it: every field that it returns, as JSON values; ``text`` holds the words."""


class NotApplicable(Exception):
    """The subject has nothing that this attack could touch; the message says why, in a few words."""


class Refusal(Exception):
    """An adapter raises this when the tool's own answer carries a documented mark that integrity was violated."""


@dataclass(frozen=True)
class Place:
    """The folders of one run. Which of them an attacker may write is what tiers are about.

    ``store`` is the tool's own data (tier A: its main files; tier B: all of it). ``state`` is the client's home and configuration
    (tier C). ``keys`` is for secrets (tier E). ``witness`` stands for another machine: no tier may write it.
    """

    root: Path
    store_name: str = "store"

    @property
    def store(self) -> Path:
        """The tool's data."""
        return self.root / self.store_name

    @property
    def state(self) -> Path:
        """The client's home; ``$HOME`` of every phase."""
        return self.root / "state"

    @property
    def keys(self) -> Path:
        """The client's secrets."""
        return self.root / "keys"

    @property
    def witness(self) -> Path:
        """A folder on another machine, so to say."""
        return self.root / "witness"

    @property
    def canary(self) -> Path:
        """A file that a payload makes when the tool runs it. Nobody else makes it."""
        return self.root / "canary"

    def other(self) -> Place:
        """Return a place of the same client with another store."""
        return replace(self, store_name="store-other")


@dataclass(frozen=True)
class Entry:
    """What the suite asks a subject to remember.

    ``channel`` says how the words came: ``user`` (said by the owner), ``external`` (a document, labelled as one), ``laundered``
    (labelled ``user``, without the owner's key) and ``agent`` (labelled ``user``, by the agent's own valid credentials).
    ``claims`` is what the words say about themselves; an adapter hands it over as the metadata that a caller may give. A label
    that the application sets itself wins.
    """

    owner: str
    text: str
    at: int = 1_700_000_000
    session: str = "s1"
    channel: str = "user"
    claims: Mapping[str, Any] = field(default_factory=dict)


class Raw:
    """The attacker's access to a store at rest, without the tool. One instance per edit; ``tier`` says which zones he may write.

    Every verb does the strongest edit that the tier allows: copies of the words in an index follow, and hashes that need no
    key are
    computed anew. ``weak=True`` edits the main row alone. ``note`` records the exact edit for the report.
    """

    def __init__(self, place: Place, tier: str) -> None:
        """Take the place and the tier."""
        self.place = place
        self.tier = tier
        self.trace: list[str] = []

    def note(self, edit: str) -> None:
        """Record an edit, as exactly as a reader needs it to repeat it."""
        self.trace.append(edit)

    def close(self) -> None:
        """Make the edits durable and let go of the files."""

    def entries(self, owner: str) -> list[str]:
        """Return the slots (keys) of an owner's entries, oldest first."""
        raise NotImplementedError

    def change_text(self, slot: str, old: str, new: str, *, weak: bool = False) -> None:
        """Replace words in an entry by as many others."""
        raise NotApplicable("the adapter has no way to edit the words")

    def remove(self, slots: Sequence[str], *, weak: bool = False) -> None:
        """Delete entries with all that belongs to them."""
        raise NotApplicable("the adapter has no way to delete an entry")

    def swap(self, first: str, second: str) -> None:
        """Let two entries change places: each slot holds the other's content."""
        raise NotApplicable("entries have no order")

    def forge(self, like: str, old: str, new: str, *, weak: bool = False) -> None:
        """Add an entry that nobody wrote: a copy of ``like`` with other words, as the newest."""
        raise NotApplicable("the adapter has no way to insert an entry")

    def copy_over(self, source: str, target: str) -> None:
        """Put the genuine bytes of one entry into another's slot, perhaps another owner's."""
        raise NotApplicable("the adapter has no way to copy an entry")

    def duplicate(self, slot: str) -> None:
        """Add a second copy of a genuine entry under a fresh id, as the newest."""
        raise NotApplicable("an id can hold one entry only")

    def reinsert(self, slot: str) -> None:
        """Delete an entry and insert exactly the same values."""
        raise NotApplicable("the adapter has no way to insert an entry")

    def move(self, slot: str, owner: str) -> None:
        """Give an entry to another owner."""
        raise NotApplicable("the store has no owners")

    def set_time(self, slot: str) -> None:
        """Change when an entry was said."""
        raise NotApplicable("the store keeps no time")

    def set_author(self, slot: str) -> None:
        """Change who said it: author, source, provenance, role."""
        raise NotApplicable("the store keeps no author")

    def set_trust(self, slot: str) -> None:
        """Raise authority, trust, importance or whatever decides how much an entry counts."""
        raise NotApplicable("the store keeps no trust")

    def hide(self, slot: str) -> None:
        """Hide an entry by its status, expiry, quarantine or visibility."""
        raise NotApplicable("the store has no status")

    def unindex(self, slot: str) -> None:
        """Take an entry out of the index of words or keys; its row stays."""
        raise NotApplicable("the store has no index of its own")

    def change_index(self, slot: str, old: str, new: str) -> None:
        """Change the words in the index only."""
        raise NotApplicable("the store has no index of its own")

    def change_vector(self, slot: str) -> None:
        """Change the vector of an entry only."""
        raise NotApplicable("the store has no vectors")

    def swap_vectors(self, first: str, second: str) -> None:
        """Let two entries change vectors."""
        raise NotApplicable("the store has no vectors")

    def edit_log(self) -> None:
        """Change one entry of the history or log; rows stay."""
        raise NotApplicable("the store has no log")

    def cut_log(self) -> None:
        """Cut the newest entry off the log only."""
        raise NotApplicable("the store has no log")

    def cut_log_and_rows(self, slots: Sequence[str]) -> None:
        """Delete entries together with all that the log holds about them."""
        raise NotApplicable("the store has no log")

    def cut_log_and_head(self, slots: Sequence[str]) -> None:
        """Delete the newest entries, their log entries, and put the head back to what it said before them."""
        raise NotApplicable("the store has no log with a head")

    def empty_log(self) -> None:
        """Delete every entry of the log."""
        raise NotApplicable("the store has no log")

    def plaintext(self, slot: str, text: str) -> None:
        """Put a row in plain text into a store that encrypts or signs its rows."""
        raise NotApplicable("the store neither encrypts nor signs")

    def older_format(self, slot: str, text: str) -> None:
        """Put a row in an older or weaker format that the tool still reads, without what protects the newer one."""
        raise NotApplicable("the store has one format")

    def swap_ciphertexts(self, first: str, second: str) -> None:
        """Let two rows change what is encrypted or sealed in them."""
        raise NotApplicable("the store does not encrypt")

    def plant_code(self, slot: str, canary: Path, *, silent: bool) -> None:
        """Plant a harmless payload that makes ``canary`` if reading runs it; ``silent``: the answer stays valid."""
        raise NotApplicable("the format holds no code: plain JSON, text or numbers")

    def spoil(self, slot: str) -> None:
        """Make one entry unreadable."""
        raise NotApplicable("the adapter has no way to edit the bytes")

    def fields(self) -> list[str]:
        """Name every stored field, for the sweep."""
        raise NotApplicable("the adapter names no fields")

    def flip(self, field: str) -> None:
        """Change one stored field to another value of the same type."""
        raise NotImplementedError

    def plant_trigger(self) -> None:
        """Plant a trigger or rule that alters what is written from now on."""
        raise NotApplicable("the store is no database with triggers")

    def plant_view(self, old: str, new: str) -> None:
        """Put a view in the place of the main table; the view shows other words."""
        raise NotApplicable("the store is no database with views")

    def plant_index(self) -> None:
        """Plant an index that lies: rows are there, but look-ups don't find them."""
        raise NotApplicable("the store is no database with indexes")

    def plant_journal(self, slot: str, old: str, new: str) -> None:
        """Plant a journal beside the store that changes it when the tool opens it."""
        raise NotApplicable("the store has no journal")


class Subject:
    """A memory store under test. Every phase (seed, read, audit, an honest operation) opens it in a fresh process.

    Class attributes describe it; an instance is made once per phase.
    """

    title: ClassVar[str] = ""
    kind: ClassVar[str] = "library"
    """``library``, ``server``, ``baseline``, ``model`` (shows a principle, is no product) or ``reference``."""
    refusals: ClassVar[tuple[str, ...]] = ()
    """Names of the exceptions that the tool documents as integrity refusals. Every other exception is a crash."""
    audit_name: ClassVar[str] = ""
    """The tool's own call that verifies the store, as users write it. Empty: it has none."""
    config: ClassVar[str] = ""
    """What was switched on, in a few words."""
    tiers: ClassVar[tuple[str, ...]] = ("A",)
    """The tiers that differ for this store:

    ``B`` if there are sidecars, ``C`` if it keeps state with the client, ``E`` with keys.
    """
    forks: ClassVar[bool] = True
    """False: the library can't run in a forked process; every phase starts a new interpreter."""

    @classmethod
    def version(cls) -> str:
        """Return the tool's version."""
        return ""

    @classmethod
    def load(cls) -> None:
        """Import what takes long. Called once, before phases are forked; opens nothing."""

    @classmethod
    def start(cls, place: Place) -> None:
        """Start a server that outlives the phases, if the store is one."""

    @classmethod
    def stop(cls, place: Place) -> None:
        """Stop what ``start`` started."""

    @classmethod
    def sidecars(cls, place: Place) -> list[Path]:
        """Return the files and folders of the store zone that only tier B may write."""
        return []

    # --- verbs -------------------------------------------------------------------------------------------------------------
    def open(self, place: Place) -> None:
        """Open or create the store, as the tool's documentation says."""
        raise NotImplementedError

    def close(self) -> None:
        """Close it in good order."""

    def remember(self, entry: Entry) -> str:
        """Store one entry; return its id."""
        raise NotImplementedError

    def recall(self, owner: str) -> Sequence[Item]:
        """Return all entries of an owner by the tool's ordinary read call, in its order, with every field."""
        raise NotImplementedError

    def search(self, owner: str, query: str, k: int) -> Sequence[Item]:
        """Return what the tool finds for a query, best first."""
        raise NotApplicable("the tool has no search")

    def get(self, id: str, owner: str) -> Item | None:
        """Return one entry by its id, asked for by ``owner``."""
        raise NotApplicable("the tool has no read by id")

    def context(self, owner: str, query: str) -> str:
        """Return the exact string that the tool offers for a prompt."""
        raise NotApplicable("the tool offers no string for a prompt")

    def recall_anyone(self, query: str) -> Sequence[Item]:
        """Read without naming an owner."""
        raise NotApplicable("the tool has no read without an owner")

    def audit(self) -> Sequence[str]:
        """Run the tool's own verification; return what it finds, nothing when all is well."""
        raise NotApplicable("the tool has no audit")

    def update(self, id: str, owner: str, text: str) -> None:
        """Replace the words of an entry by the tool's own verb."""
        raise NotApplicable("the tool has no update")

    def erase(self, id: str, owner: str) -> None:
        """Delete an entry by the tool's own verb."""
        raise NotApplicable("the tool has no delete")

    def compact(self) -> None:
        """Compact or vacuum by the tool's own verb."""
        raise NotApplicable("the tool has no compaction")

    def reindex(self) -> None:
        """Build the indexes anew by the tool's own verb."""
        raise NotApplicable("the tool has no re-index")

    def upgrade(self) -> None:
        """Run the tool's own migration."""
        raise NotApplicable("the tool has no migration call")

    # --- raw access ----------------------------------------------------------------------------------------------------------
    def raw(self, place: Place, tier: str) -> Raw:
        """Return the attacker's access to the closed store."""
        raise NotImplementedError

    def dump(self, place: Place) -> dict[str, str]:
        """Return what is stored as name → digest, without the tool: the proof that an edit landed, and where.

        The default reads SQLite files row by row, and all other files of the store, state and keys zones as bytes.
        """
        from witnesstree_conformance.dump import dump_files

        return dump_files(place)

    def size(self, place: Place) -> int:
        """Return how many bytes the store takes."""
        return sum(path.stat().st_size for path in place.store.rglob("*") if path.is_file())

    def save(self, place: Place, name: str) -> None:
        """Keep a copy of all zones but the witness under a name. Stores behind a server add their own copy."""
        from witnesstree_conformance.snapshots import save

        save(place, name)

    def restore(self, place: Place, name: str, zones: Sequence[str] = ZONES, *, main_only: bool = False) -> None:
        """Put zones back as they were saved, at the same paths; ``main_only`` leaves the sidecars as they are."""
        from witnesstree_conformance.snapshots import restore

        restore(place, name, zones, self.sidecars(place) if main_only else [])

    def save_foreign(self, place: Place) -> None:
        """Keep the store at ``place.other()`` under the name that the swap attack puts back, and take it away from there."""
        from witnesstree_conformance.snapshots import save_foreign

        save_foreign(place)

    def destroy(self, place: Place, zones: Sequence[str], *, main_only: bool = False) -> None:
        """Delete what is in the zones, as an attacker would."""
        from witnesstree_conformance.snapshots import destroy

        destroy(place, zones, self.sidecars(place) if main_only else [])
