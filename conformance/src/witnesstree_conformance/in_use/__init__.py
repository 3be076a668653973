"""Attacks on a memory in use: the attacker has no access to files; he only gets words stored, or asks as another owner."""

from __future__ import annotations

from collections.abc import Mapping

from witnesstree_conformance.in_use import bleed, hijack, indirect, injection
from witnesstree_conformance.in_use.scene import MemoryAttack

IN_USE: Mapping[str, MemoryAttack] = {
    attack.id: attack for module in (injection, bleed, hijack, indirect) for attack in module.ATTACKS
}

__all__ = ["IN_USE", "MemoryAttack"]
