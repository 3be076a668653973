"""Live servers, measured by what they answer over HTTP or MCP; a settings file says which request is which verb."""

from __future__ import annotations

from witnesstree_conformance.live.settings import Settings, SettingsError, read
from witnesstree_conformance.live.subject import Live, live_class

__all__ = ["Live", "Settings", "SettingsError", "live_class", "read"]
