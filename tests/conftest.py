"""Fixtures that every suite shares: a home of its own for each test."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keys, anchors and caches of this test only."""
    folder = tmp_path / "home"
    monkeypatch.setenv("WITNESSTREE_HOME", str(folder))
    ours = ("KEY", "USER", "STORE", "EMBEDDER", "EMBEDDER_KEY", "EMBEDDER_FLOOR")
    for name in (*(f"WITNESSTREE_{word}" for word in ours), "OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    return folder
