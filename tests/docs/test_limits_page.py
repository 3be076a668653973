"""The table of limits in docs/quickstart.md holds every limit with its value."""

import re
from pathlib import Path

from witnesstree.types import limits

PAGE = Path(__file__).resolve().parents[2] / "docs" / "quickstart.md"


def test_the_table_of_limits_is_complete_and_right():
    """Who changes a limit changes the page."""
    rows = re.findall(r"^\| `([A-Z_]+)` \| ([\d,.]+) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    shown = {name: float(value.replace(",", "")) for name, value in rows}
    assert shown == {name: float(value) for name, value in vars(limits).items() if name.isupper()}
