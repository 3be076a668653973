"""Unicode normal forms in linear time: normalising is quadratic in a run of combining marks, so long texts are cut first."""

from __future__ import annotations

import re
import unicodedata
from typing import Final, Literal

PIECE: Final = 400
"""Characters that are normalised at once, if a good place to cut follows soon."""
_COMPOSES: Final = "\u1160-\u11ff\uff9e\uff9f"
"""Letters that may melt into the one before them: Hangul vowels and finals, half-width voicing marks."""
_STARTS: Final = rf"(?![{_COMPOSES}])[\w\s]"
_PIECES: Final = re.compile(rf"(?s).{{1,{PIECE}}}(?:(?:(?!{_STARTS}).){{0,{PIECE}}}(?={_STARTS}|\Z)|)")
"""Cut before a letter, digit or space. Only a run of more than ``PIECE`` marks is cut inside; no language has one."""


def normal_form(form: Literal["NFC", "NFD", "NFKC", "NFKD"], text: str) -> str:
    """Return ``text`` in a normal form (Unicode Standard Annex 15)."""
    if len(text) <= PIECE:
        return unicodedata.normalize(form, text)
    return "".join(unicodedata.normalize(form, piece) for piece in _PIECES.findall(text))
