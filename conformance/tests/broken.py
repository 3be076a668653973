"""One deliberately broken verifier per attack: each leaves out exactly one thing that the reference store does.

A suite that does not fail every one of them proves nothing about anybody.
"""

from __future__ import annotations

import pickle
import shutil
import sqlite3
from collections.abc import Sequence
from typing import Any

from witnesstree_conformance.subjects.reference import (
    COLUMNS,
    SEALED,
    Reference,
    ReferenceError,
    Row,
    State,
    _digest,
    log_digest,
)

CONTENT = ("text", "at", "note", "vector")


def without(*left_out: str, index: bool = True) -> type[Reference]:
    """A verifier that does not compare some columns, or the index."""

    class Without(Reference):
        def covered(self) -> Sequence[str]:
            return [name for name in COLUMNS if name not in left_out]

        def digest(self, row: Row) -> str:
            return super().digest(row) if index else _digest([row[name] for name in self.covered()])

    return Without


class AcceptsPrefix(Reference):
    """It never asks whether there was more."""

    def agrees(self, known: State, seen: State, owner: str) -> bool:
        rows, all_rows = seen["owners"].get(owner, []), known["owners"].get(owner, [])
        return bool(self.common_agrees(known, seen) and (rows or not all_rows) and all_rows[: len(rows)] == rows)


class AcceptsLeftovers(AcceptsPrefix):
    """As before; what is left in the index does not worry it."""


class AcceptsGaps(Reference):
    """Each row that is there is genuine; whether one is missing it does not ask."""

    def agrees(self, known: State, seen: State, owner: str) -> bool:
        rows, all_rows = seen["owners"].get(owner, []), known["owners"].get(owner, [])
        return bool(self.common_agrees(known, seen) and (rows or not all_rows) and set(rows) <= set(all_rows))


class AcceptsNothing(Reference):
    """Where there is nothing there is nothing to compare."""

    def agrees(self, known: State, seen: State, owner: str) -> bool:
        return (self.common_agrees(known, seen) and not seen["owners"].get(owner)) or super().agrees(known, seen, owner)


class OnContent(Reference):
    """It compares what rows say, and not which row says it."""

    def digest(self, row: Row) -> str:
        return _digest([*(row[name] for name in CONTENT), self.words(row["id"])])


class AcceptsOrder(OnContent):
    """The same things are said, in whatever order."""

    def agrees(self, known: State, seen: State, owner: str) -> bool:
        rows, all_rows = seen["owners"].get(owner, []), known["owners"].get(owner, [])
        return self.common_agrees(known, seen) and sorted(rows) == sorted(all_rows)


class AcceptsMore(Reference):
    """All genuine rows are there; it does not ask what else is."""

    def agrees(self, known: State, seen: State, owner: str) -> bool:
        return self.common_agrees(known, seen) and set(known["owners"].get(owner, [])) <= set(seen["owners"].get(owner, []))


class AcceptsMoreUnindexed(AcceptsMore):
    """As before; it does not ask either whether the index knows them."""


class AcceptsAnybodys(OnContent):
    """Every row is genuine, somewhere."""

    def agrees(self, known: State, seen: State, owner: str) -> bool:
        genuine = {digest for rows in known["owners"].values() for digest in rows}
        return self.common_agrees(known, seen) and set(seen["owners"].get(owner, [])) <= genuine


class AcceptsOlder(OnContent):
    """Every row is one of this owner's, and there are as many as there should be."""

    def agrees(self, known: State, seen: State, owner: str) -> bool:
        rows, all_rows = seen["owners"].get(owner, []), known["owners"].get(owner, [])
        return self.common_agrees(known, seen) and set(rows) <= set(all_rows) and len(rows) == len(all_rows)


class AcceptsTwice(OnContent):
    """It compares sets."""

    def agrees(self, known: State, seen: State, owner: str) -> bool:
        return self.common_agrees(known, seen) and set(seen["owners"].get(owner, [])) == set(known["owners"].get(owner, []))


class ServesByRowid(Reference):
    """It serves rows in the order in which they lie, which nobody compared."""

    def served(self, owner: str) -> list[Row]:
        return self.select("memory WHERE owner = ? ORDER BY rowid", (owner,))


class IgnoresOwners(without("owner")):  # type: ignore[misc]  # a class made by a function
    """All rows are there; whose they are it does not ask."""

    def agrees(self, known: State, seen: State, owner: str) -> bool:
        def everything(state: State) -> list[str]:
            return sorted(digest for rows in state["owners"].values() for digest in rows)

        return self.common_agrees(known, seen) and everything(known) == everything(seen)


class AcceptsUnindexed(Reference):
    """What the index holds is genuine; whether it holds everything it does not ask."""

    def agrees(self, known: State, seen: State, owner: str) -> bool:
        return self.common_agrees(known, seen) and self.rows_alone(known, owner) == self.rows_alone(seen, owner)

    def rows_alone(self, state: State, owner: str) -> list[str]:
        return [digest.partition("|")[0] for digest in state["owners"].get(owner, [])]

    def digest(self, row: Row) -> str:
        return f"{_digest([row[name] for name in COLUMNS])}|{self.words(row['id'])}"


class SortsVectors(without("vector")):  # type: ignore[misc]
    """Every vector is there, at whatever row."""

    def state(self) -> State:
        vectors = self.connection.execute("SELECT vector FROM memory ORDER BY vector").fetchall()
        return super().state() | {"vectors": _digest(vectors)}

    def common_agrees(self, known: State, seen: State) -> bool:
        return super().common_agrees(known, seen) and known["vectors"] == seen["vectors"]


class CountsLog(Reference):
    """The log has as many lines as it should have."""

    def common_agrees(self, known: State, seen: State) -> bool:
        return known["schema"] == seen["schema"] and known["head"] == seen["head"] and len(known["log"]) == len(seen["log"])


class AcceptsShorterLog(Reference):
    """What the log says was logged."""

    def common_agrees(self, known: State, seen: State) -> bool:
        same = known["schema"] == seen["schema"] and known["head"] == seen["head"]
        return bool(same and (seen["log"] or not known["log"]) and known["log"][: len(seen["log"])] == seen["log"])


class RowsFitLog(Reference):
    """Rows and log fit each other, and what is there is genuine."""

    def agrees(self, known: State, seen: State, owner: str) -> bool:
        rows, all_rows = seen["owners"].get(owner, []), known["owners"].get(owner, [])
        genuine = all_rows[: len(rows)] == rows and [line for line in known["log"] if line in seen["log"]] == seen["log"]
        ids = {row["id"] for row in self.rows()}
        fits = ids == {line[1] for line in seen["log"]}
        return genuine and fits and known["schema"] == seen["schema"] and known["head"] == seen["head"]


class TrustsOwnHead(Reference):
    """The head in the store fits the log in the store, so all must be well."""

    def agrees(self, known: State, seen: State, owner: str) -> bool:
        heads = seen["head"]
        fits = (not heads or heads[0][2] == log_digest(self.connection)) and known["schema"] == seen["schema"]
        return fits and {row["id"] for row in self.rows()} == {line[1] for line in seen["log"]}


class EmptyLogVouches(Reference):
    """No log, no contradiction."""

    def common_agrees(self, known: State, seen: State) -> bool:
        return known["schema"] == seen["schema"] if not seen["log"] else super().common_agrees(known, seen)


class _Skips(Reference):
    def is_skipped(self, row: Row) -> bool:
        raise NotImplementedError

    def agrees(self, known: State, seen: State, owner: str) -> bool:
        skipped = {row["id"] for row in self.rows() if self.is_skipped(row)}

        def compared(state: State) -> list[str]:
            return [digest for digest in state["owners"].get(owner, []) if digest.partition(" ")[0] not in skipped]

        return self.common_agrees(known, seen) and compared(known) == compared(seen)

    def digest(self, row: Row) -> str:
        return f"{row['id']} {super().digest(row)}"


class TrustsPlaintext(_Skips):
    """A row that is not sealed has no seal to check."""

    def is_skipped(self, row: Row) -> bool:
        return not row["note"].startswith(SEALED)


class TrustsOldFormat(_Skips):
    """A row of the old format had no seal."""

    def is_skipped(self, row: Row) -> bool:
        return row["format"] == 0


class DecodesFirst(Reference):
    """It decodes before it verifies."""

    def extra(self, row: Row) -> Any:
        return pickle.loads(row["extra"]) if row["extra"].startswith(b"\x80") else super().extra(row)

    def compared_rows(self) -> list[Row]:
        rows = super().compared_rows()
        for row in rows:
            self.extra(row)
        return rows


class DecodesUnverified(without("extra")):  # type: ignore[misc]
    """It decodes what it does not verify."""

    def extra(self, row: Row) -> Any:
        return pickle.loads(row["extra"]) if row["extra"].startswith(b"\x80") else super().extra(row)


class RefusesEverybody(Reference):
    """One bad row, and nobody can read any more."""

    def agrees(self, known: State, seen: State, owner: str) -> bool:
        return bool(self.common_agrees(known, seen) and known["owners"] == seen["owners"])


class IgnoresSchema(Reference):
    """It never looks at the schema."""

    def common_agrees(self, known: State, seen: State) -> bool:
        return all(known[name] == seen[name] for name in ("log", "head"))


class ServesView(IgnoresSchema):
    """It verifies the table, and serves what has the table's name."""

    def compared_rows(self) -> list[Row]:
        tables = self.connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'memory%'")
        return self.select(f"{tables.fetchone()[0]} ORDER BY n")

    def served(self, owner: str) -> list[Row]:
        return self.select("memory WHERE owner = ? ORDER BY n", (owner,))


class ServesByIndex(IgnoresSchema):
    """It verifies by a scan, and serves by an index."""

    def served(self, owner: str) -> list[Row]:
        return self.select("memory WHERE owner = ? ORDER BY n", (owner,))


class VerifiesFile(Reference):
    """It verifies the file as it lies there, then lets the database open it."""

    def verified(self, owner: str) -> list[Row]:
        copy = self.place.root / "copy.db"
        shutil.copy2(self.database(self.place), copy)
        own, self.connection = self.connection, sqlite3.connect(copy)
        try:
            seen = self.state()
        finally:
            self.connection.close()
            self.connection = own
            copy.unlink()
        if not any(self.agrees(state, seen, owner) for state in self.remembered(self.witness())):
            raise ReferenceError("the file is not what the witness remembers")
        return self.served(owner)

    def served(self, owner: str) -> list[Row]:
        return self.select("memory WHERE owner = ? ORDER BY n", (owner,))

    def audit(self) -> Sequence[str]:
        for owner in self.witness()["committed"]["owners"]:
            self.checked(owner)
        return []


class AcceptsOldHeads(Reference):
    """The witness has seen that state; that it was long ago it does not mind."""

    def remembered(self, known: State) -> list[State]:
        return super().remembered(known) + known.get("past", [])


class StartsAnew(Reference):
    """No file: it must be the first day."""

    def gone(self) -> None:
        self.make()
        self.connection = sqlite3.connect(self.path, timeout=20, isolation_level=None)


class KnowsAllStores(Reference):
    """It is one of this client's stores."""

    def remembered(self, known: State) -> list[State]:
        import json

        others = [json.loads(file.read_text()) for file in self.place.witness.glob("*.json")]
        return super().remembered(known) + [state for other in others for state in super(KnowsAllStores, self).remembered(other)]


BROKEN: dict[str, type[Reference]] = {
    "tamper": without("text", index=False),
    "tamper_weak": without("text"),
    "truncate": AcceptsPrefix,
    "truncate_weak": AcceptsLeftovers,
    "delete_middle": AcceptsGaps,
    "delete_all": AcceptsNothing,
    "reorder": AcceptsOrder,
    "forge": AcceptsMore,
    "forge_weak": AcceptsMoreUnindexed,
    "replay_cross_context": AcceptsAnybodys,
    "replay_rollback": AcceptsOlder,
    "duplicate": AcceptsTwice,
    "delete_reinsert": ServesByRowid,
    "move_owner": IgnoresOwners,
    "metadata_time": without("at"),
    "metadata_author": without("author"),
    "metadata_trust": without("trust"),
    "conceal_status": without("status"),
    "field_sweep": without("session"),
    "conceal_index": AcceptsUnindexed,
    "index_only": without(index=False),
    "vector_change": without("vector"),
    "vector_swap": SortsVectors,
    "log_only": CountsLog,
    "log_cut": AcceptsShorterLog,
    "log_and_rows": RowsFitLog,
    "log_and_head": TrustsOwnHead,
    "log_empty": EmptyLogVouches,
    "plaintext_downgrade": TrustsPlaintext,
    "format_downgrade": TrustsOldFormat,
    "ciphertext_swap": without("note"),
    "exec_on_load": DecodesFirst,
    "exec_on_load_silent": DecodesUnverified,
    "bad_row_dos": RefusesEverybody,
    "schema_trigger": IgnoresSchema,
    "schema_view": ServesView,
    "schema_lying_index": ServesByIndex,
    "planted_journal": VerifiesFile,
    "snapshot_rollback": AcceptsOldHeads,
    "store_deleted": StartsAnew,
    "store_swapped": KnowsAllStores,
}
"""Attack id → the verifier that it must get past."""
