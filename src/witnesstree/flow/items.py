"""The items of an import: from a file, a text or a list, one at a time and in chunks. Nothing here writes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO, Final

from witnesstree.errors import InputError
from witnesstree.types.limits import MAX_IMPORT_LINE_BYTES
from witnesstree.types.message import Message
from witnesstree.types.wire import parse_json

FORMAT_KEY: Final = "witnesstree_export"
CHUNK: Final = 500
CHUNK_BYTES: Final = 4 * 1024 * 1024
_BOM: Final = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class FileItems:
    """The items of an import file, read anew and one at a time whenever they are asked for."""

    path: str | os.PathLike[str]

    def __iter__(self) -> Iterator[object]:
        """Yield the items.

        Raises:
            InputError: the file can't be read, or is no intact JSON array.
        """
        return (item for _, item in self.numbered())

    def numbered(self) -> Iterator[tuple[int, object]]:
        """Yield (line number, item); see ``numbered_items``."""
        try:
            with open(self.path, "rb") as file:
                yield from numbered_items(file)
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else "not a file name"
            raise InputError(f"{os.fspath(self.path)} can't be read: {why}", field="data") from None


def numbered_items(file: BinaryIO) -> Iterator[tuple[int, object]]:
    """Yield the lines of a file that are not blank, each with its number; or the items of one JSON array, counted from 1.

    Only one line is held at a time; of a line over the limit no more is held than shows that it is. An array is read as a whole.

    Raises:
        InputError: what begins like an array is no intact one.
    """
    is_first, number = True, 0
    while line := file.readline(MAX_IMPORT_LINE_BYTES + 2):
        number += 1
        if number == 1:
            line = line.removeprefix(_BOM)
        if is_first and line.lstrip().startswith(b"["):
            yield from enumerate(_array(line + file.read()), 1)
            return
        rest = line
        while rest and not rest.endswith(b"\n"):
            rest = file.readline(MAX_IMPORT_LINE_BYTES)
        if line.strip():
            is_first = False
            yield number, line.removesuffix(b"\n").removesuffix(b"\r")


def _array(data: bytes | str) -> list[object]:
    try:
        found = parse_json(data.decode() if isinstance(data, bytes) else data)
    except UnicodeDecodeError:
        raise InputError("an import must be UTF-8", field="data") from None
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, list):
        raise InputError("the import is not intact JSON", field="data")
    return found


def split_input(data: object) -> Iterable[object]:
    """Return the items of an import: a list as it is, JSON lines or one JSON array as text or bytes, or a file's items.

    Raises:
        InputError: neither.
    """
    if isinstance(data, os.PathLike):
        return FileItems(data)
    if isinstance(data, bytes | bytearray):
        try:
            data = bytes(data).decode("utf-8-sig")
        except UnicodeDecodeError:
            raise InputError("an import must be UTF-8", field="data") from None
    if isinstance(data, str):
        text = data.removeprefix("\ufeff")
        if text.lstrip().startswith("["):
            return _array(text)
        if "\n" not in text.strip() and not text.lstrip().startswith("{"):
            raise InputError("the data is no JSON; to import a file, pass its Path", field="data")
        # not splitlines: U+2028 may stand inside a JSON string
        lines = [line.removesuffix("\r") for line in text.split("\n")]
        return [line for line in lines if line.strip()]
    if not isinstance(data, Iterable) or isinstance(data, dict):
        raise InputError("an import is a list of messages, JSON lines, or an export of this program", field="data")
    return data


def parse_item(item: object) -> object:
    """Return the message of one item; a line, as text or bytes, must be one JSON object.

    Raises:
        InputError: too long, not UTF-8, or not JSON.
    """
    if not isinstance(item, str | bytes):
        return item
    if len(item) > MAX_IMPORT_LINE_BYTES or len(line_of(item)) - 1 > MAX_IMPORT_LINE_BYTES:
        raise InputError(f"the line is longer than {MAX_IMPORT_LINE_BYTES} bytes", field="line")
    try:
        found = parse_json(item.decode() if isinstance(item, bytes) else item)
    except UnicodeDecodeError:
        raise InputError("the line is not UTF-8 text", field="line") from None
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise InputError("the line is not a JSON object", field="line")
    return found


def chunked(items: Iterable[object]) -> Iterator[list[object]]:
    """Yield the items in lists of at most ``CHUNK``, and fewer where they are long."""
    chunk: list[object] = []
    size = 0
    for item in items:
        chunk.append(item)
        size += _size_of(item)
        if len(chunk) == CHUNK or size >= CHUNK_BYTES:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def _size_of(item: object) -> int:
    """Return about how much text an item holds."""
    if isinstance(item, dict):
        item = item.get("content", item.get("text"))
    elif isinstance(item, Message):
        item = item.text
    return len(item) if isinstance(item, str | bytes) else 0


def is_export(item: object) -> bool:
    """Return whether the first item of an import makes it an export of this program.

    Raises:
        InputError: of a newer version of it.
    """
    head = parsed_or_none(item)
    if not isinstance(head, dict) or FORMAT_KEY not in head:
        return False
    if head[FORMAT_KEY] != 1:
        raise InputError("this export has a newer format; upgrade this program", field="data")
    return True


def parsed_or_none(item: object) -> object:
    """Return what ``parse_item`` returns, or None where it refuses."""
    try:
        return parse_item(item)
    except InputError:
        return None


def line_of(item: object) -> bytes:
    """Return an item as the line of a file that it would be."""
    return (item if isinstance(item, bytes) else str(item).encode(errors="surrogatepass")) + b"\n"
