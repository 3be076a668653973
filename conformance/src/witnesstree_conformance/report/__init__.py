"""What a run leaves behind: one document of results with a published schema, and two ways to read it."""

from __future__ import annotations

from witnesstree_conformance.report.document import SCHEMA, ReportError, document, load
from witnesstree_conformance.report.html import html
from witnesstree_conformance.report.markdown import markdown

__all__ = ["SCHEMA", "ReportError", "document", "html", "load", "markdown"]
