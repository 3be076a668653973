"""What comes in at the door: impossible times, odd shapes, huge items (T-D3, T-D4, T-D5)."""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from witnesstree import Memory, Message
from witnesstree.errors import Error, InputError
from witnesstree.types.limits import MAX_BATCH, MAX_METADATA_BYTES, MAX_NAME_BYTES, MAX_TEXT_BYTES
from witnesstree.types.record import Record
from witnesstree.types.wire import decode, encode


@pytest.fixture(params=["ram", "sqlite"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Memory]:
    """One good memory."""
    with Memory.open("ram:" if request.param == "ram" else str(tmp_path / "agent.db"), user="alice") as opened:
        opened.add("I like green tea.")
        yield opened


def reads(memory: Memory) -> tuple[Any, ...]:
    """Every read there is; a poisoned one would raise here."""
    hits = memory.search("green tea", as_of="2150-01-01T00:00:00Z")
    page = memory.list(include_inactive=True)
    for item in page.items:
        memory.history(item.id)
        memory.evidence(item.id)
    memory.answer("Which tea do I like?")
    assert memory.audit().ok
    return (
        memory.checkpoint(),
        page.to_dict(),
        [hit.id for hit in hits.hits],
        hits.context(),
        [json.loads(line).get("record") for line in memory.export().splitlines()[1:]],
    )


# -- times (T-D3) -------------------------------------------------------------------------------------------------------------

IMPOSSIBLE = [
    "0001-01-01T00:00:00Z",
    "1899-12-31T23:59:59Z",
    "2200-01-01T00:00:00Z",
    "9999-12-31T23:59:59-12:00",
    "2026-02-30T00:00:00Z",
    "2026-11-30T25:00:00Z",
    "2026-11-30T12:00:00",
    "30.11.2026",
    "now",
    "",
    1_796_040_000,
    1.5,
    float("nan"),
    True,
    [],
    datetime(2026, 11, 30),
    datetime(1, 1, 1, tzinfo=UTC),
    datetime(9999, 12, 31, tzinfo=UTC),
]


@pytest.mark.parametrize("at", IMPOSSIBLE, ids=str)
def test_an_impossible_time_is_refused_at_the_door(memory: Memory, at: object):
    """T-D3: whatever has no place between 1900 and 2199, or no time zone, is not kept."""
    assert memory.add("Said at noon.", at="2026-11-30T12:00:00+01:00").added == 1
    before = reads(memory)
    with pytest.raises(InputError) as caught:
        memory.add(Message("x", at=at))
    assert caught.value.attributes["field"] == "at"
    result = memory.import_([{"content": "x", "at": at}])
    assert [item.field for item in result.rejected] == ["at"]
    for name in ("as_of", "recorded_as_of"):
        with pytest.raises(InputError):
            memory.search("tea", **{name: at})
    assert reads(memory) == before


def forged_export(memory: Memory, **changes: Any) -> str:
    """An export whose one record says what no door would have let in."""
    head, line, *_ = memory.export().splitlines()
    record = decode(base64.b64decode(json.loads(line)["record"]))
    forged: Record = record.with_changes(id=secrets.token_bytes(16), fingerprint=secrets.token_bytes(16), **changes)
    return f"{head}\n{json.dumps({'memory': {}, 'record': base64.b64encode(encode(forged)).decode()})}\n"


@pytest.mark.parametrize("field", ["said_at", "valid_from", "valid_to", "expires_at", "recorded_at"])
@pytest.mark.parametrize("at", [2**62, -(2**62), 2**63 - 1], ids=["far future", "far past", "last"])
def test_an_impossible_time_in_an_export_poisons_no_later_read(memory: Memory, field: str, at: int):
    """T-D3: an edited export is a door like any other: it can't carry an instant that later reads choke on."""
    assert memory.import_(forged_export(memory, text="A good one.")).added == 1
    reads(memory)
    memory.import_(forged_export(memory, text="A late one.", **{field: at}))
    reads(memory)
    for item in memory.list(include_inactive=True).items:
        for value in (item.at, item.recorded_at, item.valid_from, item.valid_to, item.expires_at):
            assert value is None or 1900 < int(value[:4]) < 2199


# -- shapes (T-D4) ------------------------------------------------------------------------------------------------------------

BAD_MESSAGES: list[tuple[str, Any]] = [
    ("nothing", None),
    ("a number", 5),
    ("no content", {}),
    ("content is null", {"content": None}),
    ("content is a list", {"content": ["a"]}),
    ("content and text", {"content": "a", "text": "a"}),
    ("blank", {"content": " \n\t"}),
    ("a NUL", {"content": "a\x00b"}),
    ("a lone surrogate", {"content": "a\ud800"}),
    ("an unknown role", {"content": "a", "role": "root"}),
    ("a role that is a list", {"content": "a", "role": ["user"]}),
    ("a role that is null", {"content": "a", "role": None}),
    ("an unknown field", {"content": "a", "trust": "verified"}),
    ("a key that is a number", {"content": "a", 5: 1}),
    ("metadata is a list", {"content": "a", "metadata": [1]}),
    ("metadata is a number", {"content": "a", "metadata": 5}),
    ("metadata with NaN", {"content": "a", "metadata": {"x": float("nan")}}),
    ("metadata with an infinity", {"content": "a", "metadata": {"x": float("inf")}}),
    ("metadata with a set", {"content": "a", "metadata": {"x": {1}}}),
    ("metadata with a number as key", {"content": "a", "metadata": {1: 1}}),
    ("metadata with a huge integer", {"content": "a", "metadata": {"x": 2**64}}),
    ("metadata with a surrogate", {"content": "a", "metadata": {"x": "\udfff"}}),
    ("a name with a control character", {"content": "a", "name": "a\x1b[2J"}),
    ("an id that is a number", {"content": "a", "id": 5}),
    ("a session with a line break", {"content": "a", "session": "a\nb"}),
]


@pytest.mark.parametrize(("name", "message"), BAD_MESSAGES, ids=[name for name, _ in BAD_MESSAGES])
def test_an_odd_message_is_refused_with_the_fields_name(memory: Memory, name: str, message: Any):
    """T-D4: alone it is an error, in a list it is reported and the others are kept."""
    before = reads(memory)
    if isinstance(message, dict):
        with pytest.raises(InputError) as caught:
            memory.add(message)
        assert caught.value.attributes["field"]
    assert len(memory.add([message]).rejected) == 1
    assert reads(memory) == before
    result = memory.add(["One.", message, "Two."])
    assert (result.added, [item.index for item in result.rejected]) == (2, [1])


BAD_CALLS: dict[str, Callable[[Memory, str], object]] = {
    "user is a number": lambda memory, id: memory.list(user=5),  # type: ignore[arg-type]
    "agent is a list": lambda memory, id: memory.add("x", agent=[]),  # type: ignore[arg-type]
    "scope is bytes": lambda memory, id: memory.add("x", scope=b"x"),  # type: ignore[arg-type]
    "query is null": lambda memory, id: memory.search(None),  # type: ignore[arg-type]
    "query is bytes": lambda memory, id: memory.search(b"tea"),  # type: ignore[arg-type]
    "kinds is a number": lambda memory, id: memory.search("tea", kinds=5),  # type: ignore[arg-type]
    "kinds holds a number": lambda memory, id: memory.search("tea", kinds=[5]),  # type: ignore[list-item]
    "kinds is bookkeeping": lambda memory, id: memory.search("tea", kinds="tombstone"),
    "authority is unknown": lambda memory, id: memory.search("tea", min_authority="root"),
    "trust is a number": lambda memory, id: memory.search("tea", min_trust=4),  # type: ignore[arg-type]
    "id is a number": lambda memory, id: memory.get(5),  # type: ignore[arg-type]
    "id is a path": lambda memory, id: memory.get("../../x"),
    "id has spaces": lambda memory, id: memory.get(" ".join(["0" * 2] * 11)[:32]),
    "cursor is invented": lambda memory, id: memory.list(cursor="abc"),
    "cursor has a surrogate": lambda memory, id: memory.list(cursor="\ud800"),
    "update with nothing": lambda memory, id: memory.update(id),
    "update with a blank": lambda memory, id: memory.update(id, " "),
    "update metadata is a list": lambda memory, id: memory.update(id, metadata=[1]),  # type: ignore[arg-type]
    "update metadata is text": lambda memory, id: memory.update(id, metadata="abc"),  # type: ignore[arg-type]
    "update metadata with NaN": lambda memory, id: memory.update(id, metadata={"x": float("nan")}),
    "forget nothing": lambda memory, id: memory.forget(),
    "forget two things": lambda memory, id: memory.forget(id, everything=True),
    "forget an empty filter": lambda memory, id: memory.forget(where={}),
    "forget with text for a flag": lambda memory, id: memory.forget(everything="no"),  # type: ignore[arg-type]
    "import a number": lambda memory, id: memory.import_(5),
    "import a dict": lambda memory, id: memory.import_({"content": "x"}),
    "import broken JSON": lambda memory, id: memory.import_("[{"),
    "import deep JSON": lambda memory, id: memory.import_("[" * 200_000),
    "import other bytes": lambda memory, id: memory.import_(b"\xff\xfe"),
}


@pytest.mark.parametrize("name", BAD_CALLS)
def test_an_odd_argument_gives_one_of_our_errors(memory: Memory, name: str):
    """T-D4, row P-015: never a bare TypeError, and never a change."""
    id = memory.list().items[0].id
    assert memory.get(id).text == "I like green tea."
    before = reads(memory)
    with pytest.raises(Error) as caught:
        BAD_CALLS[name](memory, id)
    assert 400 <= caught.value.http_status < 500
    assert reads(memory) == before


# -- sizes (T-D5) -------------------------------------------------------------------------------------------------------------


def test_a_text_beyond_the_limit_is_refused(memory: Memory):
    """T-D5: counted in bytes, so that long scripts count as they weigh."""
    assert memory.add("é" * (MAX_TEXT_BYTES // 2)).added == 1
    before = reads(memory)
    for text in ("x" * (MAX_TEXT_BYTES + 1), "é" * (MAX_TEXT_BYTES // 2) + "x"):
        with pytest.raises(InputError) as caught:
            memory.add(text)
        assert caught.value.attributes["field"] == "content"
        with pytest.raises(InputError):
            memory.update(memory.list().items[0].id, text)
    assert reads(memory) == before


def test_too_many_messages_in_one_call_are_refused(memory: Memory):
    """T-D5: before any of them is looked at."""
    before = reads(memory)
    with pytest.raises(InputError):
        memory.add(["x"] * (MAX_BATCH + 1))
    assert reads(memory) == before
    assert memory.add(["a", "b"]).added == 2


def test_names_and_metadata_beyond_the_limit_are_refused(memory: Memory):
    """T-D5: also deeply nested metadata, and metadata that an update would make too large."""
    deep: dict[str, Any] = {}
    for _ in range(5000):
        deep = {"a": deep}
    assert memory.add("Fits.", metadata={"x": "y" * (MAX_METADATA_BYTES - 8)}, session="s" * MAX_NAME_BYTES).added == 1
    before = reads(memory)
    id = memory.list().items[0].id
    calls: list[Callable[[], object]] = [
        lambda: memory.add("x", metadata={"x": "y" * MAX_METADATA_BYTES}),
        lambda: memory.add("x", metadata=deep),
        lambda: memory.update(id, metadata={"x": "y" * MAX_METADATA_BYTES}),
        lambda: memory.update(id, metadata=deep),
        lambda: memory.add("x", session="s" * (MAX_NAME_BYTES + 1)),
        lambda: memory.list(user="ü" * MAX_NAME_BYTES),
    ]
    for call in calls:
        with pytest.raises(InputError):
            call()
    assert reads(memory) == before


def test_an_export_can_not_carry_more_than_a_message_may(memory: Memory):
    """T-D5: the limits hold on every way in."""
    assert memory.import_(forged_export(memory, text="Short.")).added == 1
    before = reads(memory)
    result = memory.import_(forged_export(memory, text="x" * (MAX_TEXT_BYTES + 1)))
    assert (result.added, len(result.rejected)) == (0, 1)
    assert reads(memory) == before


def test_limits_in_bytes_count_bytes_of_long_scripts(memory: Memory, monkeypatch: pytest.MonkeyPatch):
    """T-D5: a limit that is documented in bytes is not twice or four times as wide for other scripts."""
    monkeypatch.setattr("witnesstree.flow.ingest.MAX_BATCH_BYTES", 100)
    monkeypatch.setattr("witnesstree.flow.items.MAX_IMPORT_LINE_BYTES", 100)
    assert memory.add(["é" * 20, "x" * 40]).added == 2
    before = reads(memory)
    with pytest.raises(InputError):
        memory.add(["é" * 30, "é" * 30])
    result = memory.import_(json.dumps({"content": "é" * 60}, ensure_ascii=False))
    assert (result.added, [item.field for item in result.rejected]) == (0, ["line"])
    assert reads(memory) == before
