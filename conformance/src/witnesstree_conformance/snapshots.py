"""Copies of a run's folders: kept under a name, put back at the same absolute paths."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

from witnesstree_conformance.protocol import ZONES, Place


def _kept(place: Place, name: str) -> Path:
    return place.root.parent / f"{place.root.name}.kept" / name


def _zone_folders(place: Place, zones: Sequence[str]) -> dict[str, Path]:
    return {zone: (place.store if zone == "store" else place.root / zone) for zone in zones}


def make_zones(place: Place) -> None:
    """Make the folders of a place."""
    for folder in _zone_folders(place, ZONES).values():
        folder.mkdir(parents=True, exist_ok=True)


def save(place: Place, name: str) -> None:
    """Copy every zone, sidecars of databases included. Nothing may be open."""
    kept = _kept(place, name)
    shutil.rmtree(kept, ignore_errors=True)
    for zone, folder in _zone_folders(place, ZONES).items():
        shutil.copytree(folder, kept / zone, symlinks=True)


def destroy(place: Place, zones: Sequence[str], spared: Iterable[Path] = ()) -> None:
    """Empty zones; the folders themselves stay, and so does what is spared."""
    keep = set(spared)
    for folder in _zone_folders(place, zones).values():
        for path in list(folder.iterdir()) if folder.exists() else []:
            if path in keep:
                continue
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()


def restore(place: Place, name: str, zones: Sequence[str] = ZONES, spared: Iterable[Path] = ()) -> None:
    """Put zones back as they were saved under a name; what is spared stays as it is now."""
    keep = list(spared)
    destroy(place, zones, keep)
    kept = _kept(place, name)
    for zone, folder in _zone_folders(place, zones).items():
        folder.mkdir(parents=True, exist_ok=True)
        source = kept / zone
        for path in source.iterdir():
            target = folder / path.name
            if target in keep:
                continue
            if path.is_dir() and not path.is_symlink():
                shutil.copytree(path, target, symlinks=True)
            else:
                shutil.copy2(path, target, follow_symlinks=False)
    if "store" in zones and place.canary.exists():
        os.unlink(place.canary)


def save_foreign(place: Place) -> None:
    """Move the other store to where ``restore(place, "foreign")`` finds it; state and keys are copied as they are now."""
    save(place, "foreign")
    kept = _kept(place, "foreign") / "store"
    shutil.rmtree(kept)
    shutil.move(place.other().store, kept)
