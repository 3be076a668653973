"""Pins: the verdicts that were measured and looked at. A run that differs, for better or worse, has to be looked at again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from witnesstree_conformance.subjects import file_name
from witnesstree_conformance.verdicts import HELD, NOT_APPLICABLE

Json = dict[str, Any]
BY_CHANCE = frozenset({"crash_in_the_middle", "two_writers"})
"""Controls that depend on which of two processes is faster: what they find is reported, and can't be pinned."""


class PinsError(Exception):
    """There are no pins for a subject, or the file is none; the message says what to do."""


def pins_of(result: Mapping[str, Any]) -> Json:
    """Return what is pinned of a result: version, level, controls, and a word per cell."""
    return {
        "name": result["name"],
        "version": result.get("version", ""),
        "level": result["rating"]["level"],
        "controls": {c["control"]: c["passed"] for c in result["controls"] if c["control"] not in BY_CHANCE},
        "at_rest": {row["tier"]: {cell["attack"]: _word(cell) for cell in row["cells"]} for row in result["rows"]},
        "in_use": {in_use_name(cell): cell["verdict"] for cell in result.get("in_use", [])},
    }


def _word(cell: Mapping[str, Any]) -> str:
    """Return read verdict, audit verdict and, for a sweep, the fields whose change reached the reader."""
    word = str(cell["verdict"])
    if cell.get("audit"):
        word = f"{cell.get('read', word)}, audit {cell['audit']}"
    unheld = sorted(f["field"] for f in cell.get("fields", ()) if f["verdict"] not in HELD | {NOT_APPLICABLE})
    return f"{word}: {', '.join(unheld)}" if unheld else word


def in_use_name(cell: Mapping[str, Any]) -> str:
    """Return what tells a cell of a memory attack from all others."""
    return "/".join(str(cell[key]) for key in ("attack", "id", "channel", "mutation", "language") if cell.get(key))


def differences(pins: Mapping[str, Any], result: Mapping[str, Any]) -> list[str]:
    """Return in what a result differs from its pins, in either direction, one line each.

    What a partial run did not measure is no difference, but for the version.
    """
    now = pins_of(result)
    if result.get("error"):
        return [f"not measured: {result['error']}"]
    lines = [f"{key}: was {pins[key]!r}, is {now[key]!r}" for key in ("version",) if pins[key] != now[key]]
    for key in ("controls", "in_use"):
        lines += _unlike(key, pins.get(key, {}), now[key])
    for tier, cells in now["at_rest"].items():
        lines += _unlike(f"tier {tier}", pins["at_rest"].get(tier, {}), cells)
    return lines


def _unlike(where: str, was: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    return [f"{where} {key}: was {was.get(key)!r}, is {value!r}" for key, value in now.items() if was.get(key, ...) != value]


def missing(pins: Mapping[str, Any], result: Mapping[str, Any]) -> list[str]:
    """Return what is pinned and was not measured: for full runs."""
    now = pins_of(result)
    gone = [f"{key} {name}" for key in ("controls", "in_use") for name in pins.get(key, {}) if name not in now[key]]
    for tier, cells in pins["at_rest"].items():
        gone += [f"tier {tier} {name}" for name in cells if name not in now["at_rest"].get(tier, {})]
    return [f"{name}: pinned, but not measured" for name in gone]


def file_of(folder: Path, name: str) -> Path:
    """Return the file with a subject's pins."""
    return folder / f"{file_name(name)}.json"


def read(folder: Path, name: str) -> Json:
    """Return a subject's pins.

    Raises:
        PinsError: there are none.
    """
    path = file_of(folder, name)
    try:
        pins = json.loads(path.read_text())
    except FileNotFoundError as error:
        raise PinsError(f"{path} does not exist; write it with 'wtree-conformance pin RESULTS --to {folder}'") from error
    except ValueError as error:
        raise PinsError(f"{path} is no JSON: {error}") from error
    if not isinstance(pins, dict) or not {"version", "controls", "at_rest"} <= set(pins):
        raise PinsError(f"{path} holds no pins")
    return pins


def write(folder: Path, result: Mapping[str, Any]) -> Path:
    """Write a subject's pins; return the file."""
    folder.mkdir(parents=True, exist_ok=True)
    path = file_of(folder, str(result["name"]))
    path.write_text(json.dumps(pins_of(result), indent=1, ensure_ascii=False) + "\n")
    return path
