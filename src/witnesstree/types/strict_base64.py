"""Base64 of RFC 4648 with exactly one text for each byte string: what is signed as text can't be respelled unnoticed."""

from __future__ import annotations

import base64
import binascii


def to_base64(data: bytes) -> str:
    """Return ``data`` in the padded standard alphabet."""
    return base64.b64encode(data).decode()


def from_base64(text: str) -> bytes:
    """Return the bytes whose ``to_base64`` is ``text``.

    Raises:
        ValueError: anything else; also stray bits under the last letter, which ordinary decoders drop (RFC 4648, 3.5).
    """
    try:
        data = base64.b64decode(text, validate=True)
    except (ValueError, TypeError, binascii.Error):
        raise ValueError("not base64") from None
    if to_base64(data) != text:
        raise ValueError("not the one base64 text of these bytes")
    return data
