"""The log's Merkle tree (RFC 6962 and 9162): frontier, root, inclusion and consistency proofs. Pure functions.

A *frontier* is the list of roots of the perfect subtrees that make up a tree of ``size`` leaves, largest first. It is all
that is needed to append, and it takes at most 64 hashes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

from witnesstree.errors import PackError

_sha256 = hashlib.sha256
EMPTY_ROOT = _sha256(b"").digest()


def leaf_hash(entry: bytes) -> bytes:
    """Return the hash of a leaf: SHA-256(0x00 ‖ entry)."""
    return _sha256(b"\x00" + entry).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Return the hash of an inner node: SHA-256(0x01 ‖ left ‖ right)."""
    return _sha256(b"\x01" + left + right).digest()


def extend(frontier: Sequence[bytes], size: int, entries: Iterable[bytes]) -> tuple[list[bytes], int]:
    """Append entries to a tree of ``size`` leaves; return the new frontier and size."""
    peaks = list(frontier)
    for entry in entries:
        node = _sha256(b"\x00" + entry).digest()
        carry = size
        while carry & 1:
            node = _sha256(b"\x01" + peaks.pop() + node).digest()
            carry >>= 1
        peaks.append(node)
        size += 1
    return peaks, size


def frontier_root(frontier: Sequence[bytes]) -> bytes:
    """Return the root of the tree with this frontier."""
    if not frontier:
        return EMPTY_ROOT
    root = frontier[-1]
    for peak in reversed(frontier[:-1]):
        root = node_hash(peak, root)
    return root


def tree_root(hashes: Sequence[bytes]) -> bytes:
    """Return the root over leaf hashes."""
    if not hashes:
        return EMPTY_ROOT
    level = list(hashes)
    while len(level) > 1:
        paired = [node_hash(level[i], level[i + 1]) for i in range(0, len(level) - 1, 2)]
        level = paired + level[len(paired) * 2 :]
    return level[0]


def _split(n: int) -> int:
    return 1 << (n - 1).bit_length() - 1


def inclusion_proof(hashes: Sequence[bytes], index: int) -> list[bytes]:
    """Return the audit path of leaf ``index`` in the tree over leaf hashes (RFC 6962 section 2.1.1)."""
    if len(hashes) <= 1:
        return []
    k = _split(len(hashes))
    if index < k:
        return [*inclusion_proof(hashes[:k], index), tree_root(hashes[k:])]
    return [*inclusion_proof(hashes[k:], index - k), tree_root(hashes[:k])]


def verify_inclusion(leaf: bytes, index: int, size: int, proof: Sequence[bytes], root: bytes) -> bytes:
    """Return ``root`` if ``leaf`` (a leaf hash) is at ``index`` in the tree of ``size`` with that root (RFC 9162 2.1.3.2).

    Raises:
        PackError: it is not (reason ``bad_inclusion``).
    """
    if not 0 <= index < size:
        raise PackError(f"leaf {index} can't be in a tree of {size}", reason="bad_inclusion")
    fn, sn, node = index, size - 1, leaf
    for sibling in proof:
        if sn == 0:
            raise PackError("the inclusion proof is too long", reason="bad_inclusion")
        if fn & 1 or fn == sn:
            node = node_hash(sibling, node)
            while fn and not fn & 1:
                fn, sn = fn >> 1, sn >> 1
        else:
            node = node_hash(node, sibling)
        fn, sn = fn >> 1, sn >> 1
    if sn != 0 or node != root:
        raise PackError("the inclusion proof does not lead to the signed root", reason="bad_inclusion")
    return root


def consistency_proof(hashes: Sequence[bytes], old_size: int) -> list[bytes]:
    """Return the proof that the first ``old_size`` leaves are a prefix of the tree (RFC 6962 section 2.1.2)."""
    if not 0 < old_size < len(hashes):
        return []

    def sub(m: int, part: Sequence[bytes], complete: bool) -> list[bytes]:
        if m == len(part):
            return [] if complete else [tree_root(part)]
        k = _split(len(part))
        if m <= k:
            return [*sub(m, part[:k], complete), tree_root(part[k:])]
        return [*sub(m - k, part[k:], False), tree_root(part[:k])]

    return sub(old_size, hashes, True)


def verify_consistency(old_size: int, old_root: bytes, size: int, root: bytes, proof: Sequence[bytes]) -> bytes:
    """Return ``root`` if the tree of ``size`` extends the tree of ``old_size`` (RFC 9162 section 2.1.4.2).

    Raises:
        PackError: it does not (reason ``bad_consistency``).
    """
    bad = PackError("the two checkpoints are not of one log", reason="bad_consistency")
    if not 0 <= old_size <= size:
        raise bad
    if old_size in (0, size):
        if proof or (old_size == size and old_root != root):
            raise bad
        return root
    path = list(proof)
    if old_size & (old_size - 1) == 0:
        path.insert(0, old_root)
    if not path:
        raise bad
    fn, sn = old_size - 1, size - 1
    while fn & 1:
        fn, sn = fn >> 1, sn >> 1
    first = second = path[0]
    for node in path[1:]:
        if sn == 0:
            raise bad
        if fn & 1 or fn == sn:
            first, second = node_hash(node, first), node_hash(node, second)
            while fn and not fn & 1:
                fn, sn = fn >> 1, sn >> 1
        else:
            second = node_hash(second, node)
        fn, sn = fn >> 1, sn >> 1
    if sn != 0 or first != old_root or second != root:
        raise bad
    return root
