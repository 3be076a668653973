"""What comes in at a door: one turn of a conversation, a tool's result, a document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from witnesstree.errors import InputError
from witnesstree.types.instant import parse_instant
from witnesstree.types.limits import MAX_METADATA_BYTES, MAX_TEXT_BYTES
from witnesstree.types.principal import normalise_name
from witnesstree.types.trust import Role
from witnesstree.types.wire import canonical_json

ROLES: Final = {"user": Role.USER, "assistant": Role.ASSISTANT, "tool": Role.TOOL, "document": Role.DOCUMENT} | {
    "system": Role.SYSTEM,
    "ai": Role.ASSISTANT,
    "human": Role.USER,
    "function": Role.TOOL,
}
"""Accepted role words; the last three are aliases used by common chat formats."""
_FIELDS: Final = {"role", "content", "text", "name", "at", "id", "metadata", "session"}


@dataclass(frozen=True, slots=True)
class Message:
    """One turn.

    Args:
        text: the words, kept verbatim.
        role: who spoke, one of ``ROLES``.
        name: the speaker's name, if it is not the account's user.
        at: when it was said: aware datetime or ISO-8601 text with an offset.
        id: the sender's own id of the message; a repeated id with the same text is one memory.
        session: the conversation it belongs to; the call's ``session`` when empty.
        metadata: plain JSON data, at most 16 KiB.
    """

    text: str
    role: str = "user"
    name: str | None = None
    at: object = None
    id: str | None = None
    session: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CheckedMessage:
    """A message whose every field was checked and normalised."""

    text: str
    role: Role
    name: str
    said_at: int | None
    id: str
    session: str
    metadata: dict[str, Any]


def to_message(value: object) -> Message:
    """Return the message that a str, dict or ``Message`` stands for.

    Raises:
        InputError: another type, unknown fields, or text that is no string.
    """
    if isinstance(value, Message):
        return value
    if isinstance(value, str):
        return Message(value)
    if not isinstance(value, Mapping):
        raise InputError(f"a message must be text, a dict or a Message, not {type(value).__name__}", field="messages")
    unknown = [str(key) for key in value if key not in _FIELDS]
    if unknown:
        raise InputError(f"a message has an unknown field: {unknown[0][:40]!r}", field="messages")
    if "content" in value and "text" in value:
        raise InputError("a message has both content and text; give one", field="content")
    rest = {key: value[key] for key in ("name", "at", "id", "session") if value.get(key) is not None}
    return Message(
        text=value.get("content", value.get("text")),
        role=value.get("role", "user"),
        metadata={} if value.get("metadata") is None else value["metadata"],
        **rest,
    )


def check_message(value: object) -> CheckedMessage:
    """Return the checked form of a message.

    Raises:
        InputError: naming the field and the limit (threats T-D4 and T-D5).
    """
    message = to_message(value)
    if not isinstance(message.role, str) or message.role not in ROLES:
        raise InputError(f"role must be one of {', '.join(list(ROLES)[:5])}", field="role")
    metadata = message.metadata
    if not isinstance(metadata, Mapping):
        raise InputError("metadata must be a JSON object", field="metadata")
    if metadata and len(canonical_json(dict(metadata))) > MAX_METADATA_BYTES:
        raise InputError(f"metadata is larger than {MAX_METADATA_BYTES} bytes of JSON", field="metadata")
    return CheckedMessage(
        text=check_text(message.text, "content"),
        role=ROLES[message.role],
        name=normalise_name(message.name, "name", required=False),
        said_at=parse_instant(message.at, "at"),
        id=normalise_name(message.id, "id", required=False),
        session=normalise_name(message.session, "session", required=False),
        metadata=dict(metadata),
    )


def check_text(value: object, field: str) -> str:
    """Return the text unchanged if it can be kept verbatim.

    Raises:
        InputError: no text, blank, a lone surrogate, a NUL, or longer than ``MAX_TEXT_BYTES``.
    """
    if not isinstance(value, str):
        raise InputError(f"{field} must be text, not {type(value).__name__}", field=field)
    if not value.strip():
        raise InputError(f"{field} is empty", field=field)
    if "\x00" in value:
        raise InputError(f"{field} holds a NUL character", field=field)
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        raise InputError(f"{field} holds a lone surrogate, which is not text", field=field) from None
    if size > MAX_TEXT_BYTES:
        raise InputError(f"{field} is {size} bytes; the limit is {MAX_TEXT_BYTES}, split it", field=field)
    return value
