"""One user's home: settings, keys, and the folders that remember stores from outside them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from witnesstree.anchors.base import Anchor
from witnesstree.anchors.file import FileAnchor
from witnesstree.anchors.pair import PairAnchor
from witnesstree.anchors.state import AnchorFolder, StateFolder
from witnesstree.errors import InputError, LogError, StoreError, UnsupportedError
from witnesstree.flow.keyring import KeyRing
from witnesstree.proof.keys import StoreKeys
from witnesstree.types.paths import expand
from witnesstree.types.settings import Settings

ANCHOR_FORMS = 'an anchor is "file", or "file:FOLDER" to remember the head in a second folder too, on another disk or machine'


@dataclass(frozen=True)
class Home:
    """Settings, state folder and keys; ``second`` is a second folder of anchors, if one was asked for."""

    settings: Settings
    state: StateFolder
    keyring: KeyRing
    second: AnchorFolder | None = None

    @classmethod
    def at(cls, settings: Settings, key: str = "", anchor: str = "") -> Home:
        """Return the home that the settings name, with a key handed in or from its files.

        Raises:
            UnsupportedError: no known form of anchor. StoreError: a folder can't be used.
        """
        state = StateFolder(settings.state)
        return cls(settings, state, KeyRing(state, key or settings.key), _second_folder(anchor or settings.anchor))

    def folders(self) -> list[AnchorFolder]:
        """Return the folders that remember stores: one or two."""
        return [self.state] if self.second is None else [self.state, self.second]

    def pinned(self, place: str) -> bytes | None:
        """Return the store id that belongs at a place; what any folder remembers counts.

        Raises:
            LogError: they remember two different stores.
        """
        known = {pinned for folder in self.folders() if (pinned := folder.pinned(place)) is not None}
        if len(known) > 1:
            raise LogError(
                f"the anchors remember two different stores at {place}; find out who changed the state folder,"
                " or run 'wtree doctor --forget-place'",
                reason="store_replaced",
            )
        return next(iter(known), None)

    def pin(self, place: str, store_id: bytes) -> None:
        """Remember which store belongs at a place."""
        for folder in self.folders():
            if folder.pinned(place) != store_id:
                folder.pin(place, store_id)
        if self.second is not None and not self.state.has_second(store_id):
            self.state.note_second(store_id, self.second.folder)

    def unpin(self, place: str) -> None:
        """Forget which store belongs at a place (an operator's act)."""
        for folder in self.folders():
            folder.unpin(place)

    def missing_anchor(self, store_id: bytes) -> Path | None:
        """Return the anchor of a known store that is not where it must be.

        A second folder may be empty the first time; from then on its anchor must be there whenever it is asked for.
        """
        required = [self.state]
        if self.second is not None and (self.state.has_second(store_id) or self.second.anchor_path(store_id).exists()):
            required.append(self.second)  # type: ignore[arg-type]  # both are folders of anchors
        return next((path for folder in required if not (path := folder.anchor_path(store_id)).exists()), None)

    def open_anchor(self, keys: StoreKeys) -> Anchor:
        """Open the anchor of a store, or both.

        Raises:
            StoreError: one can't be opened.
        """
        anchors = [FileAnchor(folder.anchor_path(keys.store_id), keys.anchor_mac, keys.store_id) for folder in self.folders()]
        return anchors[0] if len(anchors) == 1 else PairAnchor(*anchors)


def _second_folder(anchor: str) -> AnchorFolder | None:
    """Return the second folder that an anchor's name asks for. It is not made: a disk that is not there must not look empty."""
    if anchor in ("", "file"):
        return None
    kind, _, name = anchor.partition(":")
    if kind != "file" or not name:
        raise UnsupportedError(ANCHOR_FORMS, field="anchor")
    folder = Path(expand(name.removeprefix("//")))
    if not folder.is_absolute():
        raise InputError("the folder of a second anchor is an absolute path: file:/mnt/other/anchors", field="anchor")
    if not folder.is_dir():
        raise StoreError(f"the folder of the second anchor {folder} is not there; mount it or make it", reason="anchor_failed")
    return AnchorFolder(folder)
