"""The rows behind a view's facts, fetched from the store again and checked against the seals that the view expects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from witnesstree.errors import SealError
from witnesstree.flow.verified import Reading
from witnesstree.flow.view import View
from witnesstree.rules.policy import Where
from witnesstree.types.facts import RowFacts
from witnesstree.types.record import Record, SealedRecord
from witnesstree.types.result import memo_fields
from witnesstree.types.wire import decode


def fetch_record(reading: Reading, view: View, facts: RowFacts) -> Record:
    """Return the full record of a row of the view; see ``fetch_row``."""
    return decode(fetch_row(reading, view, facts).content)


def fetch_row(reading: Reading, view: View, facts: RowFacts) -> SealedRecord:
    """Return a row of the view, fetched again and checked against the seal that the view expects.

    Raises:
        SealError: it is altered, replaced by another genuine row, or gone (edits edit-I1 to edit-I3).
    """
    row = next(iter(reading.snapshot.rows([facts.seq])), None)
    if row is None:
        raise _missing(facts)
    return view.sealer.again(row, facts.seal, facts.inner)


def _missing(facts: RowFacts) -> SealError:
    return SealError(
        f"memory {facts.id.hex()} is missing from the store (row {facts.seq}); run 'wtree audit'",
        reason="row_missing",
        seq=facts.seq,
        id=facts.id.hex(),
    )


class Fetching:
    """Fetches the full records behind rows of a view; in quarantine mode it counts those it withholds instead of raising."""

    def __init__(self, reading: Reading, view: View, where: Where | None) -> None:
        """Begin one read."""
        self.withheld = view.withheld
        self._reading = reading
        self._view = view
        self._where = where

    def record(self, facts: RowFacts) -> Record | None:
        """Return a row's record; see ``records``."""
        return self.records([facts])[0]

    def records(self, wanted: Sequence[RowFacts]) -> list[Record | None]:
        """Return the record of each row, or None if it is withheld or ``where`` does not want it.

        Raises:
            SealError: one does not verify, and this store is not in quarantine mode.
        """
        return [None if record is None or not self._is_wanted(record) else record for record in self.unfiltered(wanted)]

    def unfiltered(self, wanted: Sequence[RowFacts]) -> list[Record | None]:
        """Return the same whatever ``where`` wants."""
        rows = {row.seq: row for row in self._reading.snapshot.rows([facts.seq for facts in wanted])}
        return [None if content is None else decode(content) for content in self._checked(rows, wanted)]

    def _checked(self, rows: Mapping[int, SealedRecord], wanted: Sequence[RowFacts]) -> list[bytes | None]:
        """Return the content of each row if its seal is the one that the view expects."""
        again = self._view.sealer.again
        found: list[bytes | None] = []
        for facts in wanted:
            row = rows.get(facts.seq)
            try:
                if row is None:
                    raise _missing(facts)
                found.append(again(row, facts.seal, facts.inner).content)
            except SealError:
                if not self._reading.store.quarantine:
                    raise
                self.withheld += 1
                found.append(None)
        return found

    def _is_wanted(self, record: Record) -> bool:
        return self._where is None or self._where(memo_fields(record))
