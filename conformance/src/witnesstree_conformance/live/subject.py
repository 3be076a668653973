"""A live server as a subject: no files, so no attacks at rest; what it answers is attacked like everybody else's."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from witnesstree_conformance.live.connect import MISSING, Connection, connect
from witnesstree_conformance.live.settings import Settings, at
from witnesstree_conformance.protocol import ZONES, Entry, Item, NotApplicable, Place, Raw, Subject

JOURNAL, STATE = "journal.jsonl", "live.json"
Json = dict[str, Any]


class Live(Subject):
    """A server that is running. Nothing of it can be copied or put back, so the suite writes under owners of its own.

    ``restore`` takes fresh owners. When the store is opened next, they are told what the copy had been told: a journal of it
    lies in the store's folder and is copied with it.
    """

    kind = "server"
    tiers: ClassVar[tuple[str, ...]] = ()
    refusals: ClassVar[tuple[str, ...]] = ("IntegrityRefused",)
    settings: ClassVar[Settings]

    @classmethod
    def version(cls) -> str:
        """Return what the settings say."""
        return cls.settings.version

    # --- the journal -----------------------------------------------------------------------------------------
    def _state(self, place: Place) -> Json:
        file = place.store / STATE
        if not file.exists():
            file.write_text(json.dumps({"prefix": f"wtc-{secrets.token_hex(6)}-", "ids": {}}))
        state: Json = json.loads(file.read_text())
        return state

    def restore(self, place: Place, name: str, zones: Sequence[str] = ZONES, *, main_only: bool = False) -> None:
        """Put the journal back. If more was told since, it is told again, for owners that the server has not seen."""
        told, state = _text(place.store / JOURNAL), _text(place.store / STATE)
        super().restore(place, name, zones, main_only=main_only)
        if state and _text(place.store / JOURNAL) == told:
            (place.store / STATE).write_text(state)
        else:
            (place.store / STATE).unlink(missing_ok=True)

    def open(self, place: Place) -> None:
        """Connect; tell the server again what this store had been told, if its owners are new."""
        self._connection: Connection = connect(self.settings)
        self._journal = place.store / JOURNAL
        is_new = not (place.store / STATE).exists()
        self._known = self._state(place)
        self._file = place.store / STATE
        if is_new and self._journal.exists():
            for line in self._journal.read_text().splitlines():
                self._tell_again(**json.loads(line))
            self._file.write_text(json.dumps(self._known))

    def close(self) -> None:
        """Disconnect."""
        self._connection.close()

    # --- verbs -----------------------------------------------------------------------------------------------
    def remember(self, entry: Entry) -> str:
        """Tell the server; write down what it was told."""
        id = self._tell(entry)
        self._note("remember", id, **vars(entry) | {"claims": dict(entry.claims)})
        return id

    def _note(self, verb: str, id: str, **values: Any) -> None:
        with self._journal.open("a") as journal:
            journal.write(json.dumps({"verb": verb, "id": id, "values": values}) + "\n")

    def _tell_again(self, verb: str, id: str, values: Json) -> None:
        if verb == "remember":
            self._known["ids"][id] = self._tell(Entry(**values))
        else:
            self._call(verb, id=self._id(id), owner=self._owner(values.pop("owner")), **values)

    def _tell(self, entry: Entry) -> str:
        answer = self._call(
            "remember",
            owner=self._owner(entry.owner),
            text=entry.text,
            at=entry.at,
            session=entry.session,
            channel=self.settings.channels[entry.channel],
        )
        return str(at(answer, self.settings.verbs["remember"].id))

    def recall(self, owner: str) -> Sequence[Item]:
        """Return all entries of an owner."""
        return self._items("recall", owner=self._owner(owner))

    def search(self, owner: str, query: str, k: int) -> Sequence[Item]:
        """Return what the server finds."""
        return self._items("search", owner=self._owner(owner), query=query, k=k)[:k]

    def get(self, id: str, owner: str) -> Item | None:
        """Return one entry."""
        answer = self._call("get", id=self._id(id), owner=self._owner(owner))
        return None if answer is MISSING or answer is None else self._item("get", at(answer, self.settings.verbs["get"].items))

    def context(self, owner: str, query: str) -> str:
        """Return the string for a prompt."""
        answer = self._call("context", owner=self._owner(owner), query=query)
        return str(answer if isinstance(answer, str) else at(answer, self.settings.verbs["context"].text))

    def recall_anyone(self, query: str) -> Sequence[Item]:
        """Read without an owner."""
        return self._items("recall_anyone", query=query, k=50)

    def audit(self) -> Sequence[str]:
        """Run the server's own verification."""
        return [str(finding) for finding in at(self._call("audit"), self.settings.verbs["audit"].items)]

    def update(self, id: str, owner: str, text: str) -> None:
        """Replace the words of an entry."""
        self._note("update", id, owner=owner, text=text)
        self._must("update", id=self._id(id), owner=self._owner(owner), text=text)

    def erase(self, id: str, owner: str) -> None:
        """Delete an entry."""
        self._note("erase", id, owner=owner)
        self._must("erase", id=self._id(id), owner=self._owner(owner))

    def raw(self, place: Place, tier: str) -> Raw:
        """Say why not."""
        raise NotApplicable("the files of a live server are out of reach")

    # --- calls -----------------------------------------------------------------------------------------------
    def _owner(self, owner: str) -> str:
        return f"{self._known['prefix']}{owner}"

    def _id(self, id: str) -> str:
        return str(self._known["ids"].get(id, id))

    def _call(self, name: str, **values: Any) -> Any:
        verb = self.settings.verbs.get(name)
        if verb is None:
            raise NotApplicable(f"the settings name no call for '{name}'")
        return self._connection.call(verb, values)

    def _must(self, name: str, **values: Any) -> None:
        if self._call(name, **values) is MISSING:
            raise KeyError(f"the server knows no entry {values['id']}")

    def _items(self, name: str, **values: Any) -> list[Item]:
        answer = self._call(name, **values)
        if answer is MISSING or answer is None:
            return []
        return [self._item(name, item) for item in at(answer, self.settings.verbs[name].items)]

    def _item(self, name: str, item: Any) -> Item:
        """Return every field of an entry, with its words as ``text``."""
        if isinstance(item, str):
            return {"text": item}
        fields = item if isinstance(item, Mapping) else {"entry": item}
        return {**fields, "text": at(item, self.settings.verbs[name].text)}


def _text(file: Path) -> str:
    return file.read_text() if file.exists() else ""


def live_class(settings: Settings) -> type[Live]:
    """Return the subject for a server."""
    way = settings.url or settings.mcp_url or " ".join(Path(word).name for word in settings.mcp_command)
    named = {"settings": settings, "title": settings.title, "config": f"live, {way}"}
    return type("LiveServer", (Live,), named | ({"audit_name": "its audit call"} if "audit" in settings.verbs else {}))
