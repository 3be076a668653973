"""What every byte of the folders of a test says, as somebody with the disk in hand would look."""

from __future__ import annotations

from pathlib import Path


def files_with(token: str, *folders: Path) -> list[str]:
    """Return the files under the folders that hold a token in UTF-8 or UTF-16, in their bytes or in their name."""
    needles = [token.encode(), token.encode("utf-16-le"), token.encode("utf-16-be")]
    found = []
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if token in path.name:
                found.append(f"{path} (name)")
            if path.is_file():
                data = path.read_bytes()
                if any(needle in data for needle in needles):
                    found.append(str(path))
    return found
