"""Cases T: one instant is one instant, in every zone and at every door (cases.md section 8)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from tests.cases.workers import Worker
from witnesstree import Memory, Message
from witnesstree.errors import InputError

ZONES = ["UTC", "America/Los_Angeles", "Asia/Kolkata", "Pacific/Chatham", "Asia/Shanghai", "Europe/Copenhagen"]


class Clock:
    """A clock that a test sets."""

    def __init__(self, now: str) -> None:
        self.now = datetime.fromisoformat(now)

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture(params=["sqlite", "ram"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a memory of each engine lies."""
    return "ram:" if request.param == "ram" else str(tmp_path / "agent.db")


@pytest.fixture
def memory(place: str) -> Iterator[Memory]:
    """An open memory on each engine."""
    with Memory.open(place, user="u") as opened:
        yield opened


@pytest.mark.parametrize("zone", ZONES)
def test_every_read_gives_one_utc_form_in_every_zone(tmp_path: Path, zone: str):
    """Case T-01: get, search, list and export say the same; the record is on its UTC day whatever TZ the process has."""
    report = json.loads(Worker("times_report", str(tmp_path / "a.db"), "u", env={"TZ": zone}).go().finish())
    one = "2025-07-25T02:00:00Z"
    assert report == {
        "get": [one, one],
        "search": [[one, one]],
        "list": [[one, one]],
        "export": [one, one],
        "on_day": 1,
        "listed_on_day": 1,
        "recorded_on_day": 1,
    }


@pytest.mark.parametrize("zone", ZONES)
def test_boundary_of_an_instant_is_the_same_in_every_zone(tmp_path: Path, zone: str):
    """Case T-02: search and list include the same records around one instant, however the instant is written."""
    report = json.loads(Worker("boundary_report", str(tmp_path / "a.db"), "u", env={"TZ": zone}).go().finish())
    assert report == {"gte": [1, 1], "gt": [0, 0], "lt": [0, 0], "lte": [1, 1], "eq": [1, 1], "as_of": 1, "as_of_before": 0}


SAME_INSTANT: list[Any] = [
    "2025-01-01T00:00:00Z",
    "2025-01-01T00:00:00+00:00",
    "2025-01-01T05:45:00+05:45",
    "2024-12-31T16:00:00-08:00",
    "20250101T000000Z",
    datetime(2025, 1, 1, tzinfo=UTC),
    datetime(2025, 1, 1, 5, 45, tzinfo=timezone(timedelta(hours=5, minutes=45))),
    datetime(2025, 1, 1, 13, 45, tzinfo=ZoneInfo("Pacific/Chatham")),
]


@pytest.mark.parametrize("at", SAME_INSTANT, ids=str)
def test_same_instant_comes_back_from_every_spelling(memory: Memory, at: Any):
    """Case T-04: any aware spelling of an instant gives the one UTC form, in text, in a dict and in a Message."""
    made = memory.add([{"content": "one of the pears", "at": at}, Message("two pears", at=at)]).episodes
    made += memory.add("three pears", at=at).episodes
    assert {memory.get(one).at for one in made} == {"2025-01-01T00:00:00Z"}
    assert {memory.get(one).valid_from for one in made} == {"2025-01-01T00:00:00Z"}
    assert len(memory.search("pears", where={"at": at}).hits) == 3


def test_microseconds_survive_the_store(tmp_path: Path):
    """Case T-04: microseconds are kept, also after a restart, and compared as instants."""
    path = str(tmp_path / "a.db")
    with Memory.open(path, user="u") as memory:
        memory.add({"content": "a pear", "at": "2025-01-01T00:00:00.000001Z"})
    with Memory.open(path, user="u") as memory:
        assert memory.list().items[0].at == "2025-01-01T00:00:00.000001Z"
        assert memory.search("pear", where={"at": {"gt": "2025-01-01T00:00:00Z", "lte": "2025-01-01T00:00:00.000001Z"}}).hits
        assert memory.add({"content": "a pear", "at": "2025-01-01T00:00:00.000002Z"}).added == 1
        assert memory.add({"content": "a pear", "at": "2025-01-01T01:00:00.000002+01:00"}).added == 0


UNCLEAR: list[Any] = [
    datetime(2025, 1, 1),
    "2025-01-01",
    "2025-01-01T00:00:00",
    date(2025, 1, 1),
    1735689600,
    1735689600000,
    1.5,
    float("nan"),
    1e300,
    -1e18,
    True,
    "now",
    "yesterday",
    "5/6/2026",
    "Jan 5 2026",
    "1767225600",
    "",
    " ",
    "2025-13-01T00:00:00Z",
    "2025-02-30T00:00:00Z",
    "2025-01-01T25:00:00Z",
    "9999-12-31T23:59:59Z",
    "0001-01-01T00:00:00Z",
    "1899-12-31T23:59:59Z",
    "2200-01-01T00:00:00Z",
    datetime.max.replace(tzinfo=UTC),
    datetime.min.replace(tzinfo=UTC),
    b"2025-01-01T00:00:00Z",
    ["2025-01-01T00:00:00Z"],
    "2025-01-01T00:00:00Z\x00",
    "\ud83d",
    "2025-01-01T00:00:00+99:00",
]


@pytest.mark.parametrize("at", UNCLEAR, ids=ascii)
def test_unclear_instant_is_refused_everywhere(memory: Memory, at: Any):
    """Case T-04, rows P-019 and P-072: naive, numeric, unreadable or out of range: an InputError that names the field."""
    memory.add("a pear")
    for call in (
        lambda: memory.add({"content": "b pear", "at": at}),
        lambda: memory.add("b pear", at=at),
        lambda: memory.search("pear", as_of=at),
        lambda: memory.search("pear", recorded_as_of=at),
        lambda: memory.search("pear", where={"at": at}),
        lambda: memory.list(where={"recorded_at": {"gt": at}}),
    ):
        with pytest.raises(InputError):
            call()
    assert len(memory.list(include_inactive=True).items) == 1


@pytest.mark.parametrize(
    "at", ["1900-01-01T00:00:00Z", "2199-12-31T23:59:59.999999Z", "1900-01-01T00:00:00-12:00", "2199-12-31T23:00:00+14:00"]
)
def test_first_and_last_year_of_the_limits_are_inside(memory: Memory, at: str):
    """Case T-04: the limits say "first year an instant may lie in" and "last year", so both years are allowed."""
    made = memory.add({"content": "a pear", "at": at}).episodes[0]
    assert datetime.fromisoformat(memory.get(made).at or "") == datetime.fromisoformat(at)


@pytest.mark.parametrize("at", ["1900-01-01T00:00:00+14:00", "2199-12-31T23:59:59-12:00"])
def test_offset_at_the_edge_of_the_years_never_bricks_a_read(memory: Memory, at: str):
    """Case T-04: an instant whose UTC year is another one than its own is kept or refused; reading works either way."""
    try:
        memory.add({"content": "a pear", "at": at})
    except InputError:
        assert memory.list().items == ()
    assert len(memory.search("pear").hits) == len(memory.list(where={"at": {"exists": True}}).items)
    assert len(memory.list(where={"at": {"gt": "1950-01-01T00:00:00Z"}}).items) in (0, 1)
    memory.export()


def test_second_related_memory_after_a_restart_is_no_error(tmp_path: Path):
    """Case T-04: an aware fact, a restart, then a second one about the same and a correction."""
    path = str(tmp_path / "a.db")
    with Memory.open(path, user="u") as memory:
        made = memory.add({"content": "lives in Oslo", "at": "2024-01-01T00:00:00+05:45"}).episodes[0]
    with Memory.open(path, user="u") as memory:
        memory.add({"content": "lives in Lima", "at": "2025-01-01T00:00:00Z"})
        memory.update(made, "lived in Oslo")
        assert len(memory.search("lives lived", as_of="2024-06-01T00:00:00Z").hits) == 1
        assert len(memory.search("lives lived").hits) == 2


@pytest.mark.parametrize("zone", ["Europe/Copenhagen", "UTC", "Pacific/Chatham"])
@pytest.mark.parametrize("instant", ["2025-10-26T02:30:00+02:00", "2025-10-26T02:30:00+01:00", "2025-03-30T01:59:59+01:00"])
def test_withdrawal_counts_at_once_in_every_zone(tmp_path: Path, zone: str, instant: str):
    """Case T-05: one second after a withdrawal search, list and time travel agree, also in the doubled hour."""
    report = json.loads(Worker("retract_report", str(tmp_path / "a.db"), "u", instant, env={"TZ": zone}).go().finish())
    start = datetime.fromisoformat(instant).astimezone(UTC)
    recorded = [start.isoformat().replace("+00:00", "Z"), (start + timedelta(seconds=1)).isoformat().replace("+00:00", "Z")]
    assert report == {"search": 0, "list": 0, "inactive": ["retracted"], "before": 1, "after": 0, "recorded": recorded}


def test_doubled_hour_is_two_instants(memory: Memory):
    """Case T-05: 02:30 before and after the clock goes back are an hour apart."""
    copenhagen = ZoneInfo("Europe/Copenhagen")
    memory.add(
        [
            {"content": "first half past two", "at": datetime(2025, 10, 26, 2, 30, tzinfo=copenhagen)},
            {"content": "second half past two", "at": datetime(2025, 10, 26, 2, 30, tzinfo=copenhagen, fold=1)},
        ]
    )
    assert [item.at for item in memory.list().items] == ["2025-10-26T00:30:00Z", "2025-10-26T01:30:00Z"]


def test_import_keeps_the_original_instant(place: str):
    """Case T-07: an import keeps when it was said, and says separately when it was recorded; what is unknown stays unknown."""
    clock = Clock("2026-01-01T00:00:00+00:00")
    with Memory.open(place, user="u", clock=clock) as memory:
        made = memory.import_(
            [{"content": "old pear", "at": "2021-02-03T04:05:06Z"}, {"content": "pear without a time"}]
        ).episodes
        for _ in range(2):
            clock.now += timedelta(seconds=2)
            old, unknown = (memory.get(one) for one in made)
            assert (old.at, old.recorded_at) == ("2021-02-03T04:05:06Z", "2026-01-01T00:00:00Z")
            assert (unknown.at, unknown.recorded_at) == (None, "2026-01-01T00:00:00Z")
            assert [item.id for item in memory.list().items] == list(made)
        assert [item.at for item in memory.list(where={"at": {"exists": False}}).items] == [None]
        assert "time unknown" in memory.search("without a time").context()


def test_export_and_import_carry_every_instant(place: str, tmp_path: Path):
    """Case T-07: what comes back from an export has the instants it had."""
    with Memory.open(place, user="u", clock=Clock("2025-05-05T05:05:05.000005+00:00")) as memory:
        memory.add([{"content": "old pear", "at": "2021-02-03T04:05:06.7Z"}, {"content": "pear without a time"}])
        data = memory.export()
        before = [(item.text, item.at, item.valid_from) for item in memory.list().items]
    with Memory.open(str(tmp_path / "other.db"), user="u") as other:
        other.import_(data)
        assert [(item.text, item.at, item.valid_from) for item in other.list().items] == before


def test_past_states_are_found_by_both_times(place: str):
    """Rows P-069 and P-109: as_of finds a fact told later about an earlier time, and what held before a change."""
    clock = Clock("2026-01-01T00:00:00+00:00")
    with Memory.open(place, user="u", clock=clock) as memory:
        old = memory.add({"content": "owned a boat", "at": "2020-06-01T00:00:00Z"}).episodes[0]
        changed = memory.add({"content": "lives in Oslo boat", "at": "2021-01-01T00:00:00Z"}).episodes[0]
        clock.now += timedelta(days=10)
        memory.retract(old)
        memory.update(changed, "lives in Lima boat")

        def texts(**when: str) -> list[str]:
            return sorted(hit.text for hit in memory.search("boat", **when).hits)

        assert texts() == ["lives in Lima boat"]
        assert texts(as_of="2020-12-01T00:00:00Z") == ["owned a boat"]
        assert texts(as_of="2021-06-01T00:00:00Z") == ["lives in Oslo boat", "owned a boat"]
        assert texts(as_of="2019-01-01T00:00:00Z") == []
        assert texts(recorded_as_of="2026-01-05T00:00:00Z") == ["lives in Oslo boat", "owned a boat"]
        assert texts(recorded_as_of="2025-12-31T00:00:00Z") == []


def test_clock_that_goes_back_breaks_nothing(place: str):
    """Case T-05: a system clock that is set back gives earlier instants, and neither order nor proof suffers."""
    clock = Clock("2026-01-01T00:00:00+00:00")
    with Memory.open(place, user="u", clock=clock) as memory:
        first = memory.add("pear one").episodes[0]
        clock.now -= timedelta(days=400)
        memory.add("pear two")
        memory.update(first, "pear one again")
        assert [item.text for item in memory.list().items] == ["pear one again", "pear two"]
        assert [v.version for v in memory.history(first)] == [1, 2]
        assert len(memory.search("pear").hits) == 2
        assert memory.audit().ok
