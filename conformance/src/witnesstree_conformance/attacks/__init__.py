"""Every attack on a store at rest, in the order in which reports show them."""

from __future__ import annotations

from collections.abc import Mapping

from witnesstree_conformance.attacks import content, files, indexes, loading, log, schema
from witnesstree_conformance.attacks.attack import Attack

AT_REST: Mapping[str, Attack] = {
    attack.id: attack for module in (content, indexes, log, loading, schema, files) for attack in module.ATTACKS
}
CORE = ("tamper", "truncate", "delete_middle", "reorder", "forge")
"""The five edits that every published method has. A row where one of them is not applicable can't be conformant."""

__all__ = ["AT_REST", "CORE", "Attack"]
