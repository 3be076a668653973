"""The entries that every store is seeded with, and the questions they answer. Each has a marker that edits look for."""

from __future__ import annotations

from dataclasses import dataclass

from witnesstree_conformance.protocol import Entry

MARKER, ALTERED = "AAAA", "EVIL"
"""Same length, plain ASCII: found as such in JSON, msgpack, pickle and plain text."""
OWNER, OTHER = "alice", "bob"
_START = 1_700_000_000


@dataclass(frozen=True)
class Question:
    """A question and the number of the owner's entry that answers it."""

    text: str
    gold: int


def _entries(owner: str, texts: tuple[str, ...], start: int) -> list[Entry]:
    return [Entry(owner, text, start + 60 * number) for number, text in enumerate(texts)]


ENTRIES = _entries(
    OWNER,
    (
        "Invoices from Globex are paid to the account AAAA-1001 in Zurich.",
        "The rent leaves by standing order on the third day, reference AAAA-2002.",
        "The flight to Lisbon is booked under the code AAAA-3003.",
        "The clinic noted an allergy to penicillin in the chart AAAA-4004.",
        "The spare key lies with the neighbour on floor nine, box AAAA-5005.",
        "The quarterly report goes to the auditors, folder AAAA-6006.",
    ),
    _START,
)
OTHERS = _entries(
    OTHER,
    (
        "The gym membership of Robert ends in October, card AAAA-7007.",
        "Robert takes the tram number four to the harbour, pass AAAA-8008.",
        "Robert keeps bees behind the chapel, hive AAAA-9009.",
    ),
    _START + 30,
)
BEFORE_SNAPSHOT = 4
"""So many of the owner's entries are in the older copy that a rollback puts back."""
FOREIGN = _entries(
    OWNER, tuple(f"Another store of the same client holds sheet AAAA-{number}0." for number in range(1, 5)), _START + 5000
)
LATER = Entry(OWNER, "The boiler was serviced in spring, ticket AAAA-6666.", _START + 9000)
"""What is written honestly after a trigger was planted."""

QUESTIONS = (
    Question("account for invoices from Globex", 0),
    Question("code of the flight to Lisbon", 2),
    Question("penicillin allergy chart", 3),
    Question("spare key neighbour floor nine", 4),
)
