"""Cases L: the log binds what is stored, and an audit names what is not right (cases.md section 13)."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from tests.cases.workers import Worker, frozen_clock, started_together
from witnesstree import Memory
from witnesstree.errors import IntegrityError, LogError
from witnesstree.types.result import AuditReport
from witnesstree.types.wire import canonical_json, parse_json

TRICKY: dict[str, Any] = {
    "a": 0.1,
    "b": -0.0,
    "c": 1e-7,
    "d": 1e21,
    "e": 2**53 + 1,
    "f": "€😀",
    "g": "Mu\u0308ller",
    "h": "",
    "i": None,
    "j": [],
    "k": {},
    "z": 1,
    "y": 1.0,
    "x": True,
    "\ufb33": 1,
    "\U0001f600": 2,
    "": 3,
    "n": '\x00\u2028\u0085\\"/',
    "o": -(2**63) + 1,
    "p": 5e-324,
    "q": 1.7976931348623157e308,
}


def test_tricky_values_verify_after_restart_and_copy(tmp_path: Path):
    """Case L-01: floats, big integers, NFD and non-BMP text, shuffled keys: verified after a restart, a restore and a fork."""
    path = str(tmp_path / "a.db")
    shuffled = dict(reversed(TRICKY.items()))
    with Memory.open(path, user="u", clock=frozen_clock) as memory:
        memory.add({"content": "NFD Mu\u0308ller 😀 \u2028 pear", "metadata": TRICKY, "at": "2025-01-01T00:00:00.123456Z"})
        memory.add({"content": "second pear", "metadata": shuffled})
        assert memory.audit().ok
    with Memory.open(path, user="u") as memory:
        assert memory.audit().ok
        one, two = memory.list().items
        assert one.metadata == two.metadata == TRICKY
        assert [type(one.metadata[key]) for key in "zyx"] == [int, float, bool]
        assert str(one.metadata["b"]) == "-0.0"
        memory.backup(str(tmp_path / "b.db"))
        assert memory.fork(str(tmp_path / "c.db")).ok
        exported = memory.export()
    assert Memory.restore(str(tmp_path / "b.db"), str(tmp_path / "d.db")).ok
    for name in ("c.db", "d.db"):
        with Memory.open(str(tmp_path / name), user="u") as memory:
            assert [(item.text, item.metadata) for item in memory.list().items] == [(one.text, TRICKY), (two.text, TRICKY)]
    with Memory.open(str(tmp_path / "e.db"), user="u") as memory:
        result = memory.import_(exported)
        assert result.rejected == ()
        assert [(item.text, item.metadata) for item in memory.list().items] == [(one.text, TRICKY), (two.text, TRICKY)]
        assert memory.audit().ok


@pytest.mark.parametrize("break_char", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\r", "\r\n", "\n"], ids=ascii)
def test_export_of_any_line_break_comes_back_whole(tmp_path: Path, break_char: str):
    """Case L-01, T-07: text with any kind of line break survives export and import, as text and as bytes, with its signature."""
    text = f"first{break_char}second pear"
    with Memory.open(str(tmp_path / "a.db"), user="u") as memory:
        memory.add({"content": text, "metadata": {"k": break_char}})
        data = memory.export()
    for number, form in enumerate((data, data.encode(), b"\xef\xbb\xbf" + data.encode())):
        with Memory.open(str(tmp_path / f"b{number}.db"), user="u") as memory:
            result = memory.import_(form)
            assert result.rejected == ()
            assert [(item.text, item.authority) for item in memory.list().items] == [(text, "authorized")]


def test_frozen_clock_and_many_processes_give_one_chain(tmp_path: Path):
    """Case L-02: six processes, eight entries each, all at the same instant: 48 of 48, one order, no fork, no false alarm."""
    path = str(tmp_path / "a.db")
    started = [Worker("add_many", path, "u", f"w{n}", 8, True) for n in range(6)]
    ids = " ".join(started_together(*started)).split()
    assert len(set(ids)) == 48
    with Memory.open(path, user="u") as memory:
        report = memory.audit()
        assert report.ok
        assert (report.size, report.rows) == (2 + 48 * 2, 49)
        items = memory.list(limit=1000).items
        assert {item.id for item in items} == set(ids)
        assert {item.recorded_at for item in items} == {"2026-03-01T12:00:00.123456Z"}
        for number in range(6):
            own = [item.text for item in items if item.text.startswith(f"w{number} ")]
            assert own == [f"w{number} wrote line {line}" for line in range(8)]


@pytest.mark.parametrize("engine", ["sqlite", "ram"])
def test_sixteen_threads_give_one_chain(tmp_path: Path, engine: str):
    """Case L-02: sixteen threads through one object, one entry each, frozen clock."""
    from concurrent.futures import ThreadPoolExecutor

    with Memory.open("ram:" if engine == "ram" else str(tmp_path / "a.db"), user="u", clock=frozen_clock) as memory:
        with ThreadPoolExecutor(16) as pool:
            list(pool.map(lambda n: memory.add(f"line {n}"), range(16)))
        report = memory.audit()
        assert report.ok
        assert report.size == 2 + 16 * 2


def _sql(path: Path, *statements: str, arguments: tuple[Any, ...] = ()) -> None:
    connection = apsw.Connection(str(path))
    for statement in statements:
        connection.execute(statement, arguments)
    connection.close()


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    """A closed store with a few memories of two users, a correction and an erasure."""
    path = tmp_path / "data" / "a.db"
    path.parent.mkdir()
    with Memory.open(str(path)) as memory:
        made = memory.add(["one pear", "two pears", "three pears"], user="u").episodes
        memory.update(made[0], "one apple", user="u")
        memory.add("other user's plum", user="v")
        memory.forget(made[2], user="u")
        memory.add("four pears", user="u")
    return path


def _refusal(path: Path) -> str:
    """Open and read as user u; return the reason of the refusal."""
    with pytest.raises(IntegrityError) as caught, Memory.open(str(path), user="u") as memory:
        memory.list()
    return caught.value.reason


@pytest.mark.parametrize("count", [1, 2, 3, 1000])
def test_cut_end_of_the_log_is_noticed(filled: Path, count: int):
    """Case L-03, row P-130: the last entries gone, or all of them: refused at open."""
    _sql(filled, f"DELETE FROM log WHERE seq >= (SELECT max(seq) + 1 FROM log) - {count}")
    assert _refusal(filled) in ("log_cut", "log_altered", "head_invalid")


def test_older_copy_put_back_is_noticed(filled: Path, tmp_path: Path):
    """Case L-03: yesterday's complete copy in the place of today's: a rollback, also after later honest work elsewhere."""
    shutil.copy(filled, tmp_path / "old.db")
    with Memory.open(str(filled), user="u") as memory:
        memory.add("five pears")
    filled.write_bytes((tmp_path / "old.db").read_bytes())
    assert _refusal(filled) == "rollback"


def test_other_history_of_the_same_length_is_noticed(filled: Path, tmp_path: Path, home: Path):
    """Case L-03: a suffix rewritten by somebody who even has a copy of the keys: the anchor knows another history."""
    fork = tmp_path / "fork"
    shutil.copytree(filled.parent, fork / "data")
    shutil.copytree(home, fork / "home")
    with Memory.open(str(filled), user="u") as memory:
        memory.add("five pears")
    (filled.parent / "today.db").write_bytes(filled.read_bytes())
    today_home = tmp_path / "today-home"
    shutil.copytree(home, today_home)
    shutil.rmtree(home)
    shutil.copytree(fork / "home", home)
    filled.write_bytes((fork / "data" / "a.db").read_bytes())
    with Memory.open(str(filled), user="u") as memory:
        memory.add("five lies")
    shutil.rmtree(home)
    shutil.copytree(today_home, home)
    assert _refusal(filled) == "fork"


def test_audit_beside_a_writer_never_raises_a_false_alarm(tmp_path: Path):
    """Case L-03, row P-130: one process audits in a loop while two others append, correct and erase."""
    path = str(tmp_path / "a.db")
    Memory.open(path).close()
    watcher = Worker("audit_loop", path).go()
    writers = [Worker("mixed", path, "u", f"w{n}", 40) for n in range(2)]
    started_together(*writers)
    with Memory.open(path, user="u") as memory:
        for item in memory.list(limit=10).items:
            memory.forget(item.id)
    rounds, bad = json.loads(watcher.finish("stop\n"))
    assert rounds
    assert bad == []


def _numbers(path: Path, query: str) -> list[int]:
    connection = apsw.Connection(str(path))
    found = [row[0] for row in connection.execute(query)]
    connection.close()
    return found


def _audited(path: Path) -> AuditReport:
    with Memory.open(str(path), examine=True) as memory:
        return memory.audit()


def _flip(column: str, byte: int) -> Callable[[bytes], bytes]:
    return lambda data: data[:byte] + bytes([data[byte] ^ 1]) + data[byte + 1 :]


def _cells(path: Path, table: str, column: str) -> Iterator[tuple[int, bytes]]:
    connection = apsw.Connection(str(path))
    yield from connection.execute(f"SELECT seq, {column} FROM {table} ORDER BY seq").fetchall()
    connection.close()


def _judge_each(path: Path, table: str, column: str, places: Callable[[bytes], list[int]]) -> list[str]:
    """Flip one byte at a time, audit, put it back; return what was not noticed or not named."""
    wrong = []
    for seq, data in list(_cells(path, table, column)):
        for byte in places(data):
            _sql(path, f"UPDATE {table} SET {column} = ? WHERE seq = ?", arguments=(_flip(column, byte)(data), seq))
            report = _audited(path)
            named = {problem.where for problem in report.problems}
            if report.ok or not named & {f"row {seq}", f"entry {seq}"}:
                wrong.append(f"{table} {seq} {column} byte {byte}: {[p.to_dict() for p in report.problems]}")
            _sql(path, f"UPDATE {table} SET {column} = ? WHERE seq = ?", arguments=(data, seq))
    assert _audited(path).ok
    return wrong


@pytest.mark.parametrize("column", ["owner", "content", "seal"])
def test_one_flipped_byte_of_a_row_is_named(filled: Path, column: str):
    """Case L-04: every column of every row, first, middle and last byte: the audit says which row."""
    assert _judge_each(filled, "memory", column, lambda data: [0, len(data) // 2, len(data) - 1]) == []


def test_one_flipped_byte_of_a_log_entry_is_named(filled: Path):
    """Case L-04: every field of every entry whose row exists: format, position, time, op, actor, target, owner, before, after."""
    with_row = set(_numbers(filled, "SELECT seq FROM memory"))
    fields = [0, 8, 16, 17, 18, 50, 82, 114, 146, 177]
    wrong = _judge_each(filled, "log", "entry", lambda data: fields if int.from_bytes(data[1:9], "big") in with_row else [])
    assert wrong == []


def test_flipped_byte_of_any_log_entry_is_noticed(filled: Path):
    """Case L-04, L-01: commit entries and entries of erased rows too: the report is not ok and says that the log is at fault."""
    for seq, data in list(_cells(filled, "log", "entry")):
        for byte in (0, 8, 12, 17, 60, 120, 150, 177):
            _sql(filled, "UPDATE log SET entry = ? WHERE seq = ?", arguments=(_flip("entry", byte)(data), seq))
            report = _audited(filled)
            assert not report.ok
            assert {problem.reason for problem in report.problems} & {"log_altered", "log_cut", "row_unlogged", "log_undecodable"}
            _sql(filled, "UPDATE log SET entry = ? WHERE seq = ?", arguments=(data, seq))


@pytest.mark.parametrize("table", ["log", "leaf", "node", "memory", "head"])
@pytest.mark.parametrize(
    "value",
    [
        "x''",
        "x'00'",
        "zeroblob(10)",
        "zeroblob(17)",
        "zeroblob(300)",
        "substr({column}, 1, length({column}) - 1)",
        "CAST({column} || x'00' AS BLOB)",
    ],
)
def test_blob_of_a_wrong_length_gives_a_report(filled: Path, table: str, value: str):
    """Case L-04, rows P-033 and P-034: a cut, empty or longer blob in any column of any row: reads refuse or are not concerned,
    and an audit reports instead of raising."""
    pristine = filled.read_bytes()
    columns = {
        "log": ["entry"],
        "leaf": ["leaf"],
        "node": ["node"],
        "memory": ["owner", "content", "seal"],
        "head": ["store_id", "note", "frontier"],
    }
    for column in columns[table]:
        key = {"leaf": "owner", "node": "path", "head": "one"}.get(table, "seq")
        count = len(_numbers(filled, f"SELECT {key} FROM {table}"))
        for number in range(count):
            filled.write_bytes(pristine)
            place = f"{key} = (SELECT {key} FROM {table} ORDER BY {key} LIMIT 1 OFFSET {number})"
            _sql(filled, f"UPDATE {table} SET {column} = {value.format(column=column)} WHERE {place}")
            if filled.read_bytes() == pristine:
                continue
            assert column == "store_id" or not _audited(filled).ok
            try:
                with Memory.open(str(filled), user="u") as memory:
                    memory.search("pears")
                    memory.list()
            except IntegrityError:
                continue
            assert table != "head"


MOVES = {
    "two entries swapped": (
        "UPDATE log SET seq = -1 WHERE seq = 2",
        "UPDATE log SET seq = 2 WHERE seq = 3",
        "UPDATE log SET seq = 3 WHERE seq = -1",
    ),
    "two rows swapped": (
        "UPDATE memory SET seq = -1 WHERE seq = 2",
        "UPDATE memory SET seq = 2 WHERE seq = 3",
        "UPDATE memory SET seq = 3 WHERE seq = -1",
    ),
    "contents swapped": (
        "UPDATE memory SET content = (SELECT m.content FROM memory m WHERE m.seq = 5 - memory.seq) WHERE seq IN (2, 3)",
    ),
    "row to another user": ("UPDATE memory SET owner = (SELECT owner FROM memory WHERE seq = 8) WHERE seq = 2",),
    "middle entry gone": ("DELETE FROM log WHERE seq = 3",),
    "middle row gone": ("DELETE FROM memory WHERE seq = 3",),
    "row doubled": ("INSERT INTO memory SELECT 4, owner, content, seal, vector FROM memory WHERE seq = 3",),
    "row doubled at the end": ("INSERT INTO memory SELECT 900, owner, content, seal, vector FROM memory WHERE seq = 3",),
    "entry doubled at the end": ("INSERT INTO log SELECT max(seq) + 1, entry FROM log",),
    "entry at a negative place": ("INSERT INTO log SELECT -5, entry FROM log WHERE seq = 2",),
    "row at a negative place": ("INSERT INTO memory SELECT -5, owner, content, seal, vector FROM memory WHERE seq = 2",),
    "row and its entry gone": ("DELETE FROM memory WHERE seq = 3", "DELETE FROM log WHERE seq = 3"),
    "row and the end of the log gone": (
        "DELETE FROM memory WHERE seq = (SELECT max(seq) FROM memory)",
        "DELETE FROM log WHERE seq > (SELECT max(seq) FROM log) - 2",
    ),
    "all rows gone": ("DELETE FROM memory",),
    "all of the log gone": ("DELETE FROM log",),
    "everything gone": ("DELETE FROM memory", "DELETE FROM log", "DELETE FROM leaf", "DELETE FROM node"),
    "head gone": ("DELETE FROM head",),
}


@pytest.mark.parametrize("name", MOVES)
def test_moved_doubled_and_missing_parts_are_noticed(filled: Path, name: str):
    """Case L-04, rows P-028, P-029 and P-130: swapped, moved, doubled, deleted: the audit is not ok and gives a place."""
    _sql(filled, *MOVES[name])
    report = _audited(filled)
    assert not report.ok
    assert all(problem.where and problem.message for problem in report.problems)


VECTORS = {
    '{"a":1.0,"b":1e-07,"c":1e+21,"d":9007199254740993,"e":"€😀","f":-0.0}': {
        "a": 1.0,
        "b": 1e-7,
        "c": 1e21,
        "d": 9007199254740993,
        "e": "€😀",
        "f": -0.0,
    },
    '{"\ufb33":1,"\U0001f600":2}': {"\U0001f600": 2, "\ufb33": 1},
    '{"a":1}': {"a": 1},
    '{"a":[true,false,null,"\\n\\u0001"]}': {"a": [True, False, None, "\n\x01"]},
    "{}": {},
}


@pytest.mark.parametrize("text", VECTORS)
def test_canonical_json_is_one_spelling(text: str):
    """Case L-06: published vectors: float and integer differ, keys sort by code point, the spelling is stable."""
    assert canonical_json(VECTORS[text]) == text.encode()
    assert canonical_json(parse_json(text)) == text.encode()


@pytest.mark.parametrize(
    "text",
    ['{"a":1,"a":2}', '{"a":NaN}', '{"a":Infinity}', "{'a':1}", '{"a":1,}', "[1,]", "", '{"a":' + "9" * 5000 + "}"],
    ids=lambda t: t[:16],
)
def test_json_of_two_meanings_is_refused(text: str):
    """Case L-06: duplicate keys, NaN, trailing commas and the like are no JSON for us."""
    with pytest.raises(ValueError, match=r"."):
        parse_json(text)


def test_seal_is_over_the_stored_bytes(filled: Path):
    """Case L-06: other bytes with the same meaning (1.0 for 1, another key order) do not pass for the stored ones."""
    with Memory.open(str(filled), user="u") as memory:
        memory.add({"content": "a pear", "metadata": {"a": 1.0, "b": 2}})
    connection = apsw.Connection(str(filled))
    seq, content = connection.execute("SELECT seq, content FROM memory ORDER BY seq DESC LIMIT 1").fetchall()[0]
    for other in (b'{"b":2,"a":1.0}', b'{"a":1.00,"b":2}'):
        changed = content.replace(b'{"a":1.0,"b":2}', other)
        assert changed != content
        connection.execute("UPDATE memory SET content = ? WHERE seq = ?", (changed, seq))
        assert _refusal(filled) == "row_altered"
    connection.close()


def test_rolled_back_log_is_refused_by_a_live_process_too(filled: Path, tmp_path: Path):
    """Case L-03: the older copy is put back under a process that has the store open."""
    shutil.copy(filled, tmp_path / "old.db")
    with Memory.open(str(filled), user="u") as memory:
        memory.add("five pears")
        filled.unlink()
        shutil.copy(tmp_path / "old.db", filled)
        for call in (lambda: memory.search("pears"), lambda: memory.list(), lambda: memory.add("six pears")):
            with pytest.raises(LogError):
                call()
