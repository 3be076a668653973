"""Fixtures that every suite shares: a home of its own for each test."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keys, anchors and caches of this test only."""
    folder = tmp_path / "home"
    monkeypatch.setenv("WITNESSTREE_HOME", str(folder))
    for name in ("WITNESSTREE_KEY", "WITNESSTREE_USER", "WITNESSTREE_STORE"):
        monkeypatch.delenv(name, raising=False)
    return folder
