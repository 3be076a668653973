"""What may be served when rows are bad or missing: only what no withheld row could have changed (edit-I2, edit-I7)."""

from __future__ import annotations

from witnesstree.errors import LogError
from witnesstree.flow.head import TrustedHead
from witnesstree.proof.encoding import OP_AT
from witnesstree.proof.keys import StoreKeys
from witnesstree.proof.merkle import leaf_hash, tree_root
from witnesstree.proof.seal import make_seal
from witnesstree.stores.base import Snapshot
from witnesstree.types.facts import audit_facts
from witnesstree.types.tombstone import read_tombstone
from witnesstree.types.trust import Kind, Op
from witnesstree.types.wire import decode

_HARMLESS = (Op.COMMIT, Op.ADD)
"""Entries whose missing row can't be a correction, withdrawal or erasure of another one."""


def horizon(keys: StoreKeys, snapshot: Snapshot, trusted: TrustedHead) -> int:
    """Return the newest log position whose row is gone or bad and may have changed an older memory; -1 if there is none.

    A memory whose newest version stands at or before it may be outdated: a correction, withdrawal or erasure may be what is
    missing. The log says what each position was; it is checked whole against the signed root first.

    Raises:
        LogError: the log itself does not give the signed root.
    """
    entries = list(snapshot.entries(0, trusted.size))
    if len(entries) != trusted.size or tree_root([leaf_hash(entry) for entry in entries]) != trusted.state.root:
        raise LogError("rows are bad and the log is altered too: nothing can be told apart any more", reason="log_altered")
    explained: set[int] = set()
    for row in snapshot.all_rows():
        if not row.owner or not row.content or make_seal(keys, row.owner, row.seq, row.content, row.vector) != row.seal:
            continue
        explained.add(row.seq)
        if audit_facts(row.content).kind == Kind.TOMBSTONE:
            for first, last in read_tombstone(decode(row.content).payload)[1]:
                explained.update(range(first, last + 1))
    unexplained = (seq for seq, entry in enumerate(entries) if entry[OP_AT] not in _HARMLESS and seq not in explained)
    return max(unexplained, default=-1)
