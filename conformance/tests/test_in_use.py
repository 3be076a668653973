"""Memory attacks: what is open in a store that protects nothing, what Witnesstree holds, and that nobody holds by blocking."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from witnesstree_conformance.in_use import IN_USE
from witnesstree_conformance.in_use.indirect import PROBE, is_fenced
from witnesstree_conformance.in_use.marks import marks
from witnesstree_conformance.in_use.scene import HELD_IN_USE, OPEN, summary
from witnesstree_conformance.protocol import Entry, Item, Subject
from witnesstree_conformance.runner import measure
from witnesstree_conformance.subjects.naive import Naive
from witnesstree_conformance.subjects.witnesstree import Sqlite
from witnesstree_conformance.verdicts import NOT_APPLICABLE, NOT_EVALUABLE

Cells = list[dict[str, Any]]


def cells_of(kind: type[Subject], folder: Path) -> Cells:
    result = measure(kind, folder, tiers=["A"], attacks=["tamper"], controls=["clean_reload", "positive_retrieval"])
    assert "error" not in result
    return result["in_use"]


def chosen(cells: Cells, **wanted: str) -> set[str]:
    found = [cell for cell in cells if all(cell.get(key) == value for key, value in wanted.items())]
    assert found, wanted
    return {cell["verdict"] for cell in found}


@pytest.fixture(scope="module")
def naive(tmp_path_factory: pytest.TempPathFactory) -> Cells:
    return cells_of(Naive, tmp_path_factory.mktemp("naive"))


@pytest.fixture(scope="module")
def witnesstree(tmp_path_factory: pytest.TempPathFactory) -> Cells:
    return cells_of(Sqlite, tmp_path_factory.mktemp("witnesstree"))


def test_every_attack_gives_cells(naive: Cells):
    assert {cell["attack"] for cell in naive} == IN_USE.keys()
    assert {cell["language"] for cell in naive if "language" in cell} >= {"en", "de", "es", "zh", "ru"}


def test_a_store_without_protection_is_open(naive: Cells):
    for attack in ("memory_injection", "update_poisoning", "metadata_poisoning", "indirect_prompt_injection"):
        assert chosen(naive, attack=attack) == {OPEN}
    for call in ("get_by_id", "update_by_id", "erase_by_id"):
        assert chosen(naive, attack="cross_session_bleed", id=call) == {OPEN}
    assert chosen(naive, attack="cross_session_bleed", id="list") == {HELD_IN_USE}
    assert chosen(naive, attack="retrieval_hijack", id="vocabulary") == {OPEN}


@pytest.mark.parametrize("channel", ["external", "laundered"])
@pytest.mark.parametrize("attack", ["memory_injection", "update_poisoning", "metadata_poisoning"])
def test_witnesstree_tells_apart_what_the_user_did_not_say(witnesstree: Cells, attack: str, channel: str):
    assert chosen(witnesstree, attack=attack, channel=channel) == {HELD_IN_USE}


def test_witnesstree_holds_bleed_and_indirect_injection_on_every_channel(witnesstree: Cells):
    assert chosen(witnesstree, attack="indirect_prompt_injection") == {HELD_IN_USE}
    bleed = {cell["id"]: cell["verdict"] for cell in witnesstree if cell["attack"] == "cross_session_bleed"}
    assert bleed.pop("no_owner") == "n/a"
    assert set(bleed.values()) == {HELD_IN_USE}
    assert len(bleed) == 11


def test_witnesstree_blocks_nothing_honest(witnesstree: Cells):
    assert summary(witnesstree)["overblocked"] == 0


def test_what_the_agent_hands_in_with_valid_credentials_is_open_for_now(witnesstree: Cells):
    """Only words that the user signs close this channel; a pin in the other direction."""
    for attack in ("memory_injection", "update_poisoning", "metadata_poisoning"):
        assert chosen(witnesstree, attack=attack, channel="agent") == {OPEN}


# --- subjects that are wrong on purpose -------------------------------------------------------------------------------
class BlocksEverything(Naive):
    """Keeps out whatever looks like words about accounts, and hands over an empty context."""

    def search(self, owner: str, query: str, k: int) -> Sequence[Item]:
        return super().search(owner, query, k) if owner in {"alice", "bob"} else []

    def context(self, owner: str, query: str) -> str:
        return ""


class FencesThatCanBeClosed(Naive):
    """Every context ends with the same line, and the words may hold that line."""

    def context(self, owner: str, query: str) -> str:
        return "\n".join(["<memory>", *(str(item["text"]) for item in self.recall(owner)), "</memory>"])


class BelievesClaims(Naive):
    """A caller's claim becomes the field that readers go by."""

    def remember(self, entry: Entry) -> str:
        id = super().remember(entry)
        trust = "verified" if entry.channel == "user" else entry.claims.get("trust", "low")
        self._connection.execute("UPDATE memory SET trust = ? WHERE id = ?", (trust, int(id)))
        return id


class DoesNotCheckPrefixes(Naive):
    """Finds owners by the beginning of their names."""

    def recall(self, owner: str) -> Sequence[Item]:
        return self._rows("owner LIKE ? || '%' AND status = 'active' ORDER BY id", (owner,))


def test_who_blocks_everything_has_held_nothing(tmp_path: Path):
    cells = cells_of(BlocksEverything, tmp_path)
    for attack in ("memory_injection", "update_poisoning", "metadata_poisoning", "indirect_prompt_injection", "retrieval_hijack"):
        assert HELD_IN_USE not in chosen(cells, attack=attack)
    assert chosen(cells, attack="indirect_prompt_injection") == {NOT_EVALUABLE}
    assert summary(cells)["overblocked"] > 0


def test_a_fence_that_words_can_close_is_open(tmp_path: Path):
    cells = cells_of(FencesThatCanBeClosed, tmp_path)
    assert chosen(cells, attack="indirect_prompt_injection", id="closing_fence") == {OPEN}
    assert chosen(cells, attack="indirect_prompt_injection", id="imperative") == {HELD_IN_USE}


def test_a_claim_that_is_believed_is_open(tmp_path: Path):
    cells = cells_of(BelievesClaims, tmp_path)
    assert chosen(cells, attack="memory_injection") == {HELD_IN_USE}
    assert chosen(cells, attack="metadata_poisoning") == {OPEN}


def test_owners_that_are_found_by_a_prefix_bleed(tmp_path: Path):
    cells = cells_of(DoesNotCheckPrefixes, tmp_path)
    assert chosen(cells, attack="cross_session_bleed", id="owner_prefix") == {OPEN}
    assert chosen(cells, attack="cross_session_bleed", id="list") == {HELD_IN_USE}


def test_without_its_controls_no_cell_is_earned(tmp_path: Path):
    class Forgets(Naive):
        def recall(self, owner: str) -> Sequence[Item]:
            return super().recall(owner)[:2]

    assert chosen(cells_of(Forgets, tmp_path)) == {NOT_EVALUABLE, NOT_APPLICABLE}


# --- the small judges -------------------------------------------------------------------------------------------------
def test_what_differs_among_the_owners_own_entries_is_no_mark():
    own = [{"at": 1, "trust": "high", "by": "me"}, {"at": 3, "trust": "high", "by": "me"}]
    assert marks(own, {"at": 2, "trust": "low", "by": "me"}) == ["trust"]
    assert marks(own[:1], {"at": 2, "trust": "low", "by": "me"}) == []


def test_a_payload_after_the_closing_line_is_not_fenced():
    assert is_fenced(f"open\n{PROBE}\nclose", ("open", "close"))
    assert not is_fenced(f"open\nclose\n{PROBE}", ("open", "close"))
    assert not is_fenced(f"open\nclose\n{PROBE}\nclose", ("open", "close"))
    assert not is_fenced(PROBE, None)


class ForgetsItsContext(Naive):
    """Fences what it offers for a prompt, but fails when honest look-alikes are asked for."""

    title = "fails on honest words"

    def context(self, owner: str, query: str) -> str:
        text = "\n".join(str(item["text"]) for item in self.recall(owner))
        if "known fraud" in text:
            raise RuntimeError("no context today")
        return f"<<<\n{text.replace('<<<', '').replace('>>>', '')}\n>>>"


def test_held_is_not_earned_when_nobody_knows_whether_honest_words_get_through(tmp_path: Path):
    cells = [cell for cell in cells_of(ForgetsItsContext, tmp_path) if cell["attack"] == "indirect_prompt_injection"]
    assert {cell["verdict"] for cell in cells} == {NOT_EVALUABLE}
    assert "no context today" in cells[0]["reason"]
