"""What the other processes of these cases do, and how a test starts, releases and judges them.

A worker is a real process: ``python -m tests.cases.workers NAME JSON``. It prints ``ready`` and waits for one line on its
standard input, so that a test can let several begin at the same moment. Whatever it prints afterwards is its report.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from witnesstree import Memory

ROOT = Path(__file__).resolve().parents[2]
NOBODY = 65534
AS_NOBODY = "WITNESSTREE_TEST_AS_NOBODY"
LIMIT_S = 120
"""A worker that takes longer hangs; it is a limit against that and no measure of speed."""


def frozen_clock() -> datetime:
    """Return always the same instant."""
    return datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=UTC)


class Worker:
    """A running worker process."""

    def __init__(self, name: str, *arguments: Any, env: dict[str, str] | None = None) -> None:
        """Start it; it stands still until ``go``."""
        command = [sys.executable, "-m", "tests.cases.workers", name, json.dumps(arguments)]
        self.process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"} | (env or {}),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        first = self.process.stdout.readline()
        if first != "ready\n":
            raise AssertionError(f"worker {name} did not start: {first!r} {self.process.stderr.read()}")

    def go(self) -> Worker:
        """Let it work."""
        self.process.stdin.write("go\n")
        self.process.stdin.flush()
        return self

    def line(self) -> str:
        """Return the next line of its report."""
        return self.process.stdout.readline().rstrip("\n")

    def finish(self, text: str = "") -> str:
        """Wait for its end and return the rest of its report; it must have ended well."""
        self.process.stdin.write(text)
        out, err = self._rest()
        assert self.process.returncode == 0, f"exit {self.process.returncode}\n{err}"
        return out

    def kill(self) -> list[str]:
        """Kill it with SIGKILL; return the whole lines it had printed until then."""
        self.process.kill()
        return self._rest()[0].split("\n")[:-1]

    def _rest(self) -> tuple[str, str]:
        """Return what is left to read, also what an earlier ``line`` left in the buffer (``communicate`` would lose that)."""
        watchdog = threading.Timer(LIMIT_S, self.process.kill)
        watchdog.start()
        try:
            with contextlib.suppress(BrokenPipeError):
                self.process.stdin.close()
            out, err = self.process.stdout.read(), self.process.stderr.read()
            self.process.wait()
        finally:
            watchdog.cancel()
        return out, err


def started_together(*workers: Worker) -> list[str]:
    """Let all workers begin at once; return their reports in order."""
    for worker in workers:
        worker.go()
    return [worker.finish() for worker in workers]


# -- what workers do ------------------------------------------------------------------------------------------------------


def add_many(path: str, user: str, label: str, count: int, frozen: bool = False) -> None:
    """Add memories one by one and print the id of each once it is acknowledged."""
    clock = {"clock": frozen_clock} if frozen else {}
    with Memory.open(path, user=user, **clock) as memory:
        for number in range(count):
            print(memory.add(f"{label} wrote line {number}").episodes[0], flush=True)


def add_same(path: str, user: str, text: str) -> None:
    """Add one text and print its id."""
    with Memory.open(path, user=user) as memory:
        print(memory.add(text).episodes[0], flush=True)


def mixed(path: str, user: str, label: str, count: int) -> None:
    """Do a mixed life of reads and writes; print the ids that were acknowledged."""
    with Memory.open(path, user=user) as memory:
        for number in range(count):
            made = memory.add(f"{label} bought item {number} zebra").episodes[0]
            print(made, flush=True)
            if number % 4 == 0:
                assert memory.search("zebra", k=5).hits
                assert memory.get(made).text.startswith(label)
            if number % 10 == 0:
                assert memory.update(made, f"{label} returned item {number} zebra").version == 2
                assert memory.list(limit=3).items


def hold_write(path: str) -> None:
    """Hold a write transaction of SQLite itself until a line comes in."""
    import apsw

    connection = apsw.Connection(path)
    connection.set_busy_timeout(60_000)
    connection.execute("BEGIN IMMEDIATE")
    print("held", flush=True)
    sys.stdin.readline()
    connection.execute("ROLLBACK")
    connection.close()


def hold_read(path: str) -> None:
    """Hold a read transaction of SQLite itself until a line comes in."""
    import apsw

    connection = apsw.Connection(path)
    connection.execute("BEGIN")
    connection.execute("SELECT count(*) FROM memory").fetchall()
    print("held", flush=True)
    sys.stdin.readline()
    connection.close()


def read_all(path: str, user: str, memory_id: str, query: str) -> None:
    """Read with every reading verb and print what came."""
    with Memory.open(path, user=user) as memory:
        report = {
            "search": [hit.id for hit in memory.search(query).hits],
            "get": memory.get(memory_id).text,
            "list": len(memory.list().items),
            "history": len(memory.history(memory_id)),
            "audit": memory.audit().ok,
        }
    print(json.dumps(report), flush=True)


def follow(path: str, user: str, query: str) -> None:
    """Search once for every line that comes in, and say how it ended."""
    memory = Memory.open(path, user=user)
    print("open", flush=True)
    for _ in sys.stdin:
        try:
            print(len(memory.search(query).hits), flush=True)
        except Exception as error:
            print(f"{type(error).__name__} {getattr(error, 'reason', '')} {error}", flush=True)


def obey(path: str, user: str) -> None:
    """Do what each line says, ``search WORDS`` or ``add WORDS``, and print how it ended: texts found, added, or the error."""
    with Memory.open(path, user=user) as memory:
        memory.search("open")
        print("open", flush=True)
        for line in sys.stdin:
            verb, _, words = line.strip().partition(" ")
            try:
                found = (
                    sorted(hit.text for hit in memory.search(words, k=1000).hits) if verb == "search" else memory.add(words).added
                )
                print(json.dumps(["done", found]), flush=True)
            except Exception as error:
                print(json.dumps([type(error).__name__, f"{getattr(error, 'reason', 'raw')}: {error}"]), flush=True)


def write_readonly(path: str, user: str) -> None:
    """Try to write where nothing can be written; print how it ended."""
    with Memory.open(path, user=user) as memory:
        try:
            memory.add("This can't be kept.")
        except Exception as error:
            print(type(error).__name__, getattr(error, "reason", ""), flush=True)


def audit_loop(path: str) -> None:
    """Audit again and again until a line comes in; print every problem and the number of rounds."""
    stop = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.readline(), stop.set()), daemon=True).start()
    rounds, bad = 0, []
    with Memory.open(path) as memory:
        while not stop.is_set() or not rounds:
            bad += [problem.to_dict() for problem in memory.audit().problems]
            rounds += 1
    print(json.dumps([rounds, bad]), flush=True)


def times_report(path: str, user: str) -> None:
    """Print every form in which one record's instants leave the memory, under this process's TZ."""
    with Memory.open(path, user=user, clock=lambda: datetime(2025, 7, 25, 2, 0, 0, tzinfo=UTC)) as memory:
        made = memory.add({"content": "frozen hour entry", "at": "2025-07-25T02:00:00Z"}).episodes[0]
        day = {"at": {"gte": "2025-07-25T00:00:00Z", "lt": "2025-07-26T00:00:00Z"}}
        export = json.loads(memory.export().splitlines()[1])["memory"]
        report = {
            "get": [memory.get(made).at, memory.get(made).recorded_at],
            "search": [[hit.at, hit.recorded_at] for hit in memory.search("frozen hour").hits],
            "list": [[item.at, item.recorded_at] for item in memory.list().items],
            "export": [export["at"], export["recorded_at"]],
            "on_day": len(memory.search("frozen", where=day).hits),
            "listed_on_day": len(memory.list(where=day).items),
            "recorded_on_day": len(memory.list(where={"recorded_at": day["at"]}).items),
        }
    print(json.dumps(report), flush=True)


def boundary_report(path: str, user: str) -> None:
    """Print which reads include a record at one epoch second, asked at, before and after that instant."""
    instant = datetime.fromtimestamp(1756396800, UTC)
    with Memory.open(path, user=user) as memory:
        memory.add({"content": "boundary entry", "at": instant})
        report = {}
        for name, test in {
            "gte": {"at": {"gte": "2025-08-28T16:00:00Z"}},
            "gt": {"at": {"gt": "2025-08-29T00:00:00+08:00"}},
            "lt": {"at": {"lt": "2025-08-28T16:00:00+00:00"}},
            "lte": {"at": {"lte": "2025-08-28T16:00:00Z"}},
            "eq": {"at": "2025-08-29T00:00:00+08:00"},
        }.items():
            report[name] = [len(memory.search("boundary", where=test).hits), len(memory.list(where=test).items)]
        report["as_of"] = len(memory.search("boundary", as_of=instant).hits)
        report["as_of_before"] = len(memory.search("boundary", as_of="2025-08-28T15:59:59.999999Z").hits)
    print(json.dumps(report), flush=True)


def retract_report(path: str, user: str, instant: str) -> None:
    """Withdraw a memory at an instant; print what each read says one second later."""
    now = [datetime.fromisoformat(instant)]
    from datetime import timedelta

    with Memory.open(path, user=user, clock=lambda: now[0]) as memory:
        made = memory.add("ferry plan on the fjord").episodes[0]
        now[0] += timedelta(seconds=1)
        memory.retract(made)
        now[0] += timedelta(seconds=1)
        print(
            json.dumps(
                {
                    "search": len(memory.search("ferry").hits),
                    "list": len(memory.list().items),
                    "inactive": [item.status for item in memory.list(include_inactive=True).items],
                    "before": len(memory.search("ferry", as_of=now[0] - timedelta(seconds=1, microseconds=1)).hits),
                    "after": len(memory.search("ferry", as_of=now[0] - timedelta(seconds=1)).hits),
                    "recorded": [version.recorded_at for version in memory.history(made)],
                }
            ),
            flush=True,
        )


def limited_writes(path: str, user: str, room: int) -> None:
    """Forbid this process to let any file grow beyond the store's size plus ``room``; write until it fails, then read."""
    import resource

    with Memory.open(path, user=user) as memory:
        memory.add("first words about pears")
        size = max(os.stat(path).st_size, os.stat(f"{path}-wal").st_size)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + room, resource.RLIM_INFINITY))
        failure = _write_until_failure(memory)
        hits = len(memory.search("pears").hits)
        ok = memory.audit().ok
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        again = memory.add("room again for plums").added
        print(json.dumps([*failure, hits, ok, again, memory.audit().ok]), flush=True)


def _write_until_failure(memory: Memory) -> list[str]:
    for number in range(400):
        try:
            memory.add(f"filler {number} " + "x" * 20_000)
        except Exception as error:
            return [type(error).__name__, getattr(error, "reason", ""), str(error)]
    return ["none", "", ""]


def die_in_batch(path: str, user: str, statement: int, verb: str) -> None:
    """Write once, and end the process without any goodbye at the n-th statement of the transaction."""
    from witnesstree.stores import sqlite

    with Memory.open(path, user=user) as memory:
        made = memory.add("kept before the crash").episodes[0]
        print(made, flush=True)
        real = sqlite.apply_batch

        def dying(run: Callable[..., Any], batch: Any) -> None:
            count = [0]

            def counted(*arguments: Any) -> Any:
                if count[0] == statement:
                    os._exit(9)
                count[0] += 1
                return run(*arguments)

            real(counted, batch)
            os._exit(9)

        sqlite.apply_batch = dying
        {
            "add": lambda: memory.add("lost in the crash"),
            "update": lambda: memory.update(made, "changed in the crash"),
            "retract": lambda: memory.retract(made),
            "forget": lambda: memory.forget(made),
        }[verb]()


def die_after_commit(path: str, user: str, verb: str) -> None:
    """Write once, and end the process between the commit and everything that follows it."""
    from witnesstree.anchors.file import FileAnchor

    with Memory.open(path, user=user) as memory:
        made = memory.add("zqxjwv kept before the crash").episodes[0]
        print(made, flush=True)
        FileAnchor.advance = lambda self, state: os._exit(9)  # type: ignore[method-assign]
        {
            "add": lambda: memory.add("committed in the crash"),
            "update": lambda: memory.update(made, "changed in the crash"),
            "forget": lambda: memory.forget(made),
        }[verb]()


def die_in_create(path: str, step: str) -> None:
    """Make a store, and end the process at a step of making it."""
    from witnesstree.anchors.state import AnchorFolder
    from witnesstree.flow import opening
    from witnesstree.stores import sqlite

    if step == "before_publish":
        sqlite.publish = lambda draft, target: os._exit(9)
    elif step == "before_anchor":
        opening.settle = lambda *arguments: os._exit(9)
    else:
        AnchorFolder.pin = lambda *arguments: os._exit(9)  # type: ignore[method-assign]
    Memory.open(path)


def fork_and_use(path: str, user: str, children: int) -> None:
    """Fork while threads use the memory; each child tries to use it; print how each child ended, then use it again."""
    import time

    memory = Memory.open(path, user=user)
    memory.add("words before the fork")
    stop = threading.Event()

    def keep_reading() -> None:
        while not stop.is_set():
            memory.search("words")

    threads = [threading.Thread(target=keep_reading) for _ in range(3)]
    for thread in threads:
        thread.start()
    ends = []
    for _ in range(children):
        child = os.fork()
        if not child:
            os._exit(_use_in_child(memory))
        deadline = time.monotonic() + 8
        done = (0, 0)
        while done == (0, 0) and time.monotonic() < deadline:
            done = os.waitpid(child, os.WNOHANG)
            time.sleep(0.01)
        if done == (0, 0):
            os.kill(child, 9)
            os.waitpid(child, 0)
            ends.append("hung")
            break
        ends.append({0: "refused", 1: "other error", 2: "worked"}.get(os.waitstatus_to_exitcode(done[1]), "died"))
    stop.set()
    for thread in threads:
        thread.join()
    memory.add("words after the fork")
    print(json.dumps([ends, len(memory.search("words").hits), memory.audit().ok]), flush=True)
    memory.close()


def _use_in_child(memory: Memory) -> int:
    from witnesstree.errors import StoreError

    try:
        memory.search("words")
    except StoreError as error:
        return 0 if error.reason == "forked" else 1
    except BaseException:
        return 1
    return 2


def forget_and_die(path: str, user: str, text: str) -> None:
    """Erase while somebody reads, say what the receipt says, and wait to be killed."""
    memory = Memory.open(path, user=user)
    made = memory.add(text).episodes[0]
    print("added", flush=True)
    sys.stdin.readline()
    print(memory.forget(made).state, flush=True)
    sys.stdin.readline()


def become_nobody() -> None:
    """Give up root, whom file modes do not bind, once everything that may be imported later has been imported."""
    import importlib
    import pkgutil

    import witnesstree

    for module in pkgutil.walk_packages(witnesstree.__path__, "witnesstree."):
        importlib.import_module(module.name)
    with Memory.open("ram:", user="u") as memory:
        memory.add("warm up")
        memory.answer("warm up?")
    os.chdir("/")
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)


if __name__ == "__main__":
    if os.environ.get(AS_NOBODY):
        become_nobody()
    print("ready", flush=True)
    sys.stdin.readline()
    globals()[sys.argv[1]](*json.loads(sys.argv[2]))
