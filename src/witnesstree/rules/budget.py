"""Token budgets: an upper estimate that knows scripts, so that a budget in tokens holds for any common tokenizer."""

from __future__ import annotations


def count_tokens(text: str) -> int:
    """Return an upper estimate of the tokens of a text: 3 ASCII letters a token, every other character at least one."""
    if text.isascii():
        return (len(text) + 2) // 3
    plain = sum(1 for c in text if c < "\x80")
    return (plain + 2) // 3 + sum(1 if c < "\u0800" else 2 if c < "\U00010000" else 3 for c in text if c >= "\x80")


def cut_to_tokens(text: str, budget: int) -> str:
    """Return the longest prefix of ``text`` within ``budget`` tokens."""
    if count_tokens(text) <= budget:
        return text
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if count_tokens(text[:middle]) <= budget:
            low = middle
        else:
            high = middle - 1
    return text[:low]
