"""The payload of a tombstone: keyed marks of what was erased, and the log positions without rows (``docs/spec/record.md``)."""

from __future__ import annotations

from collections.abc import Iterable


def write_tombstone(marks: Iterable[bytes], seqs: Iterable[int]) -> bytes:
    """Return the payload of a tombstone: keyed marks of what was erased, and the erased log positions as ranges."""
    unique = sorted(set(marks))
    ranges: list[list[int]] = []
    for seq in sorted(set(seqs)):
        if ranges and seq == ranges[-1][1] + 1:
            ranges[-1][1] = seq
        else:
            ranges.append([seq, seq])
    packed = b"".join(first.to_bytes(8, "big") + last.to_bytes(8, "big") for first, last in ranges)
    return len(unique).to_bytes(4, "big") + b"".join(unique) + packed


def read_tombstone(payload: bytes) -> tuple[list[bytes], list[tuple[int, int]]]:
    """Return marks and position ranges of a tombstone's payload (16-byte marks)."""
    count = int.from_bytes(payload[:4], "big")
    end = 4 + 16 * count
    marks = [payload[i : i + 16] for i in range(4, end, 16)]
    numbers = [int.from_bytes(payload[i : i + 8], "big") for i in range(end, len(payload), 8)]
    return marks, list(zip(numbers[::2], numbers[1::2], strict=True))
