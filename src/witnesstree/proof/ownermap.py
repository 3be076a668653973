"""The owner map: a Merkle radix tree from owner key to leaf, so that one root binds every owner's rows (``docs/spec/log.md``).

A key is 32 nibbles (16 bytes). A subtree with one leaf *is* that leaf; any other inner node has 16 slots. Both presence and
absence of an owner follow from the one path of nodes to it. Owners are only added and changed, never removed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Final

from witnesstree.errors import LogError

EMPTY: Final = bytes(32)
SLOT: Final = 49
NODE_BYTES: Final = 16 * SLOT

_sha256 = hashlib.sha256

NodeReader = Callable[[bytes], bytes | None]
"""Given a path (one byte per nibble), return the stored node or None."""


def leaf_slot(owner: bytes, leaf: bytes) -> bytes:
    """Return the 49-byte slot of a leaf: 0x01 ‖ owner key ‖ SHA-256(0x00 ‖ owner ‖ leaf)."""
    return b"\x01" + owner + _sha256(b"\x00" + owner + leaf).digest()


def _node_slot(node: bytes) -> bytes:
    return b"\x02" + bytes(16) + _sha256(b"\x01" + node).digest()


_NIBBLE_OF_DIGIT: Final = bytes(int(chr(c), 16) if chr(c) in "0123456789abcdef" else 0 for c in range(256))


def map_root(root_node: bytes | None) -> bytes:
    """Return the root hash of a map whose top node is ``root_node`` (None: empty)."""
    return EMPTY if root_node is None else _sha256(b"\x01" + root_node).digest()


def nibbles(owner: bytes) -> bytes:
    """Return the owner key as 32 bytes of one nibble each."""
    return owner.hex().encode().translate(_NIBBLE_OF_DIGIT)


def _altered() -> LogError:
    return LogError("the owner map does not lead to the signed root; run 'wtree audit'", reason="map_altered")


def find_slot(root: bytes, owner: bytes, read: NodeReader) -> bytes | None:
    """Return the verified leaf slot of an owner, or None if the map proves that the owner has no rows.

    Raises:
        LogError: a node on the path is missing or altered (edits edit-I2 and edit-I5).
    """
    if root == EMPTY:
        return None
    expected, path, digits = root, b"", nibbles(owner)
    for depth in range(32):
        node = read(path)
        if node is None or len(node) != NODE_BYTES or _sha256(b"\x01" + node).digest() != expected:
            raise _altered()
        slot = node[digits[depth] * SLOT : (digits[depth] + 1) * SLOT]
        if slot[0] == 0:
            return None
        if slot[0] == 1:
            return slot if slot[1:17] == owner else None
        expected, path = slot[17:], path + digits[depth : depth + 1]
    raise _altered()


def update_map(root: bytes, changes: dict[bytes, bytes], read: NodeReader) -> tuple[bytes, dict[bytes, bytes]]:
    """Put leaves into the map; return the new root and the nodes to write, by path.

    Args:
        root: the verified root before.
        changes: owner key → encoded leaf.
        read: reads a stored node; every node read is checked against its parent.

    Raises:
        LogError: a node on a path is missing or altered.
    """
    if not changes:
        return root, {}
    nodes: dict[bytes, bytearray] = {}

    def load(path: bytes, expected: bytes) -> bytearray:
        if path not in nodes:
            node = read(path)
            if node is None or len(node) != NODE_BYTES or _sha256(b"\x01" + node).digest() != expected:
                raise _altered()
            nodes[path] = bytearray(node)
        return nodes[path]

    if root == EMPTY:
        nodes[b""] = bytearray(NODE_BYTES)
    for owner, leaf in changes.items():
        _put(nodes, load, root, nibbles(owner), leaf_slot(owner, leaf))
    for path in sorted(nodes, key=len, reverse=True):
        if path:
            digit = path[-1]
            nodes[path[:-1]][digit * SLOT : (digit + 1) * SLOT] = _node_slot(bytes(nodes[path]))
    written = {path: bytes(node) for path, node in nodes.items()}
    return map_root(written[b""]), written


def _put(
    nodes: dict[bytes, bytearray],
    load: Callable[[bytes, bytes], bytearray],
    root: bytes,
    digits: bytes,
    slot: bytes,
) -> None:
    path, expected = b"", root
    while True:
        node = load(path, expected)
        digit = digits[len(path)]
        place = slice(digit * SLOT, (digit + 1) * SLOT)
        there = bytes(node[place])
        if there[0] == 0 or (there[0] == 1 and there[1:17] == slot[1:17]):
            node[place] = slot
            return
        path += digits[len(path) : len(path) + 1]
        if there[0] == 1:
            other = nibbles(there[1:17])[len(path)]
            deeper = bytearray(NODE_BYTES)
            deeper[other * SLOT : (other + 1) * SLOT] = there
            nodes[path] = deeper
            node[place] = _node_slot(bytes(deeper))
            expected = b""
        else:
            expected = there[17:]
