"""The clock that a program hands in is a door like any other: what is no instant of ours is refused, and nothing is written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from pathlib import Path
from typing import Any

import pytest

from witnesstree import Memory
from witnesstree.errors import InputError


class NoZone(tzinfo):
    """A zone that does not know its offset: the datetime counts as naive."""

    def utcoffset(self, at: datetime | None) -> timedelta | None:
        """Return no offset."""
        return None


WRONG: dict[str, Any] = {
    "naive": datetime(2026, 1, 1),
    "zone without an offset": datetime(2026, 1, 1, tzinfo=NoZone()),
    "none": None,
    "seconds": 1_767_225_600,
    "float": 1_767_225_600.5,
    "nan": float("nan"),
    "true": True,
    "text that is no instant": "now",
    "naive text": "2026-01-01T00:00:00",
    "date": date(2026, 1, 1),
    "span": timedelta(days=1),
    "first": datetime(1, 1, 1, tzinfo=UTC),
    "before 1900": datetime(1899, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
    "before 1900 in UTC": datetime(1900, 1, 1, 1, tzinfo=timezone(timedelta(hours=2))),
    "after 2199": datetime(2200, 1, 1, tzinfo=UTC),
    "after 2199 in UTC": datetime(2199, 12, 31, 23, tzinfo=timezone(-timedelta(hours=2))),
    "last": datetime(9999, 12, 31, 23, 59, 59, tzinfo=timezone(-timedelta(hours=12))),
}
RIGHT: dict[str, datetime] = {
    "first instant": datetime(1900, 1, 1, tzinfo=UTC),
    "last instant": datetime(2199, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
    "other zone": datetime(2026, 6, 1, 12, tzinfo=timezone(timedelta(hours=9))),
}


class Dial:
    """A clock that a test can turn to anything."""

    def __init__(self) -> None:
        """Begin at a good instant."""
        self.shows: Any = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        """Return what it shows."""
        return self.shows  # type: ignore[no-any-return]


@pytest.fixture
def dial() -> Dial:
    """The clock of this test's memory."""
    return Dial()


@pytest.fixture
def memory(dial: Dial) -> Iterator[Memory]:
    """One memory, made at a good instant."""
    with Memory.open("ram:", user="u", clock=dial) as opened:
        opened.add("a pear")
        yield opened


@pytest.mark.parametrize("name", WRONG)
def test_now_refuses_what_is_no_instant_of_ours(memory: Memory, dial: Dial, name: str) -> None:
    """A typed refusal that names the clock, in one line."""
    dial.shows = WRONG[name]
    with pytest.raises(InputError) as caught:
        memory._store.now()
    assert caught.value.attributes["field"] == "clock"
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", RIGHT)
def test_now_gives_every_instant_of_the_allowed_years(memory: Memory, dial: Dial, name: str) -> None:
    """The first and the last one are inside; any zone counts as its instant."""
    dial.shows = RIGHT[name]
    assert memory._store.now() == (RIGHT[name] - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    made = memory.add("another pear").episodes[0]
    assert datetime.fromisoformat(memory.get(made).recorded_at or "") == RIGHT[name]


@pytest.mark.parametrize("name", WRONG)
def test_no_verb_writes_at_an_instant_that_is_none(memory: Memory, dial: Dial, name: str) -> None:
    """Each verb that needs the clock refuses; the head stays, and everything works once the clock is right again."""
    made = memory.list().items[0].id
    head = memory.checkpoint()
    good, dial.shows = dial.shows, WRONG[name]
    calls: list[Callable[[], object]] = [
        lambda: memory.add("b pear"),
        lambda: memory.import_([{"content": "c pear"}]),
        lambda: memory.update(made, "d pear"),
        lambda: memory.retract(made),
        lambda: memory.forget(made),
        lambda: memory.search("pear"),
        lambda: memory.answer("Which pear?"),
        lambda: memory.list(),
        lambda: memory.inbox(),
        lambda: memory.export(),
        lambda: memory.repair(),
    ]
    for call in calls:
        with pytest.raises(InputError) as caught:
            call()
        assert caught.value.attributes["field"] == "clock"
    assert memory.checkpoint() == head
    dial.shows = good
    assert memory.update(made, "d pear").version == 2
    assert [hit.text for hit in memory.search("pear").hits] == ["d pear"]
    assert memory.audit().ok


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("url", ["a.db", "ram:"])
def test_no_store_is_made_at_an_instant_that_is_none(tmp_path: Path, name: str, url: str) -> None:
    """The first entry of a log has an instant too."""
    folder = tmp_path / "data"
    folder.mkdir()
    with pytest.raises(InputError) as caught:
        Memory.open(url if url == "ram:" else str(folder / url), user="u", clock=lambda: WRONG[name])
    assert caught.value.attributes["field"] == "clock"
    assert list(folder.iterdir()) == []
