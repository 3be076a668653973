"""The trusted head: a signed checkpoint that extends everything this process and its anchor have seen."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from witnesstree.anchors.base import AnchorState
from witnesstree.errors import LogError, UnsupportedError
from witnesstree.proof.checkpoint import verify_checkpoint
from witnesstree.proof.encoding import ENTRY_FORMAT, decode_entry
from witnesstree.proof.keys import StoreKeys
from witnesstree.proof.merkle import extend, frontier_root
from witnesstree.stores.base import Snapshot
from witnesstree.types.batch import Head
from witnesstree.types.trust import Op


@dataclass(frozen=True, slots=True)
class TrustedHead:
    """A head that was verified: what the store said, and what follows from it."""

    head: Head
    state: AnchorState
    map_root: bytes

    @property
    def size(self) -> int:
        """Number of log entries."""
        return self.state.size


def verify_head(keys: StoreKeys, snapshot: Snapshot, known: Iterable[AnchorState]) -> TrustedHead:
    """Return the store's head if it is genuine and extends every known head.

    Args:
        keys: the store's keys.
        snapshot: what the store shows.
        known: heads seen before, by this process and by its anchor.

    Raises:
        LogError: head or log cut, altered, forked, rolled back, or of another store (edits edit-I5 and edit-I6).
    """
    head = snapshot.head()
    if head.store_id != keys.store_id:
        raise LogError("another store lies at this place; run 'wtree doctor'", reason="store_replaced")
    checkpoint = verify_checkpoint(head.note, keys.store_id, keys.public_key)
    frontier = [head.frontier[i : i + 32] for i in range(0, len(head.frontier), 32)]
    size = checkpoint.size
    if size < 1 or len(frontier) != (size - 1).bit_count() or len(head.frontier) % 32:
        raise LogError("the store's head does not fit its log", reason="head_invalid")
    commit = next(snapshot.entries(size - 1, size), None)
    if commit is None:
        raise LogError("the end of the log is missing; restore a backup", reason="log_cut")
    peaks, _ = extend(frontier, size - 1, [commit])
    if frontier_root(peaks) != checkpoint.root:
        raise LogError("the log's last entry is not the one that was signed", reason="log_altered")
    if commit[:1] > bytes([ENTRY_FORMAT]):
        raise UnsupportedError("the log was written by a newer version; upgrade this program", reason="newer_format")
    entry = decode_entry(commit)
    if entry.op is not Op.COMMIT or entry.seq != size - 1:
        raise LogError("the log does not end with a commit", reason="log_altered")
    state = AnchorState(size, checkpoint.root, tuple(peaks))
    _verify_extension(snapshot, list(known), state)
    return TrustedHead(head, state, entry.after)


def _verify_extension(snapshot: Snapshot, known: list[AnchorState], state: AnchorState) -> None:
    """Walk from the earliest known head over the later ones to ``state``; each must lie on one history."""
    steps = [*sorted(known, key=lambda k: k.size), state]
    for before, after in pairwise(steps):
        if before.size > after.size or (before.size > state.size):
            break
        _verify_step(snapshot, before, after)
    newest = max((k.size for k in known), default=0)
    if newest > state.size:
        raise LogError(
            f"the store was rolled back: it has {state.size} log entries, {newest} were seen before;"
            " restore the newest copy, or run 'wtree doctor'",
            reason="rollback",
            size=state.size,
            expected=newest,
        )


def _verify_step(snapshot: Snapshot, before: AnchorState, after: AnchorState) -> None:
    if before.size == after.size:
        if before.root != after.root:
            raise LogError("the store has another history of the same length; run 'wtree doctor'", reason="fork")
        return
    peaks, size = extend(before.frontier, before.size, snapshot.entries(before.size, after.size))
    if size != after.size:
        raise LogError(f"log entries are missing after position {before.size}; restore a backup", reason="log_cut")
    if frontier_root(peaks) != after.root:
        raise LogError("the store's history differs from what was seen before; run 'wtree doctor'", reason="fork")
