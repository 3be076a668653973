"""The contract of a store when the world fails it, as tests to inherit beside ``StoreContract``.

    class TestMyStoreFaults(StoreFaultContract):
        def new_place(self, folder): ...    # the name of a place where nothing is yet
        def create_at(self, place, genesis): ...
        def open_at(self, place): ...
        def child_code(self, place): ...    # Python source that opens the place as `store` in another process
        ...                                 # one method for each name in HOOKS

An engine that can't offer a hook says why, in ``cannot = {"fill_code": "the server's disk is not ours to fill"}``. The tests
of that hook then assert that there is a reason; none is skipped.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import ClassVar, Final

from witnesstree.errors import ConflictError, Error, InputError, StoreError, UnsupportedError
from witnesstree.stores.base import Store
from witnesstree.testing.store_contract import batch, seen
from witnesstree.testing.store_fault_child import DIED, MOMENTS, append_next, whole
from witnesstree.types.batch import Batch

LIMIT_S: Final = 120
"""A child that takes longer hangs."""

HOOKS: Final = (
    "child_code",
    "torn_copies",
    "open_impatient",
    "read_only",
    "fill_code",
    "foreign_places",
    "damaged_places",
    "future_places",
)


class StoreFaultHooks:
    """What an engine tells the fault contract about itself."""

    cannot: ClassVar[Mapping[str, str]] = {}
    """Hook that this engine can't offer → the reason, a sentence."""

    def new_place(self, folder: Path) -> str:
        """Return the name of a place where nothing is yet, under ``folder`` if the engine keeps files."""
        raise NotImplementedError

    def create_at(self, place: str, genesis: Batch) -> None:
        """Make a store there that holds exactly ``genesis``."""
        raise NotImplementedError

    def open_at(self, place: str) -> Store:
        """Open what is there."""
        raise NotImplementedError

    def contents(self, place: str) -> object:
        """Return every byte at the place, side files included, for comparison."""
        raise NotImplementedError

    def child_code(self, place: str) -> str:
        """Return Python source that opens the place in another process and leaves it in ``store``."""
        raise NotImplementedError

    def torn_copies(self, store: Store, place: str, folder: Path) -> Iterator[str]:
        """Yield copies of a place whose last two appends reached the disk in part, from nothing of them to all.

        Args:
            store: still open; it appended twice.
            place: where it is.
            folder: for the copies.
        """
        raise NotImplementedError

    def open_impatient(self, place: str) -> Store:
        """Open the place so that a writer waits well under a second for another one."""
        raise NotImplementedError

    def read_only(self, place: str) -> AbstractContextManager[str]:
        """Make the place read-only for a while; give source that opens it as ``store`` in a process which that binds."""
        raise NotImplementedError

    def fill_code(self, place: str) -> str:
        """Return source that defines ``fill_disk()``, after which about 100 kB fit, and ``free_disk()``."""
        raise NotImplementedError

    def foreign_places(self, folder: Path) -> Iterator[str]:
        """Yield places that hold something of somebody else."""
        raise NotImplementedError

    def damaged_places(self, folder: Path) -> Iterator[str]:
        """Yield places that hold a store of ours whose structure is broken."""
        raise NotImplementedError

    def future_places(self, folder: Path) -> Iterator[str]:
        """Yield places that hold a store of a newer version of this program."""
        raise NotImplementedError


class StoreFaultContract(StoreFaultHooks):
    """Inherit, write the hooks, and let pytest collect."""

    def _can(self, hook: str) -> bool:
        """Return whether the engine offers a hook; if not, assert that it says why."""
        if hook not in self.cannot:
            return True
        assert len(self.cannot[hook].split()) >= 3, f"{hook}: a reason is a sentence, not {self.cannot[hook]!r}"
        return False

    def _made(self, folder: Path) -> str:
        place = self.new_place(folder)
        self.create_at(place, batch(0))
        return place

    def _start(self, code: str) -> Child:
        return Child(f"from witnesstree.testing import store_fault_child as child\n{code}")

    def test_every_hook_is_offered_or_declared_with_its_reason(self) -> None:
        """No hook is forgotten, and none is both written and declared impossible."""
        assert set(self.cannot) <= set(HOOKS), f"unknown hooks: {sorted(set(self.cannot) - set(HOOKS))}"
        for hook in HOOKS:
            is_written = getattr(type(self), hook) is not getattr(StoreFaultHooks, hook)
            assert self._can(hook) is is_written, f"{hook} is either written or named in `cannot` with a reason"

    def test_creating_over_a_store_is_refused_and_changes_nothing(self, tmp_path: Path) -> None:
        """A store never overwrites."""
        place = self._made(tmp_path)
        before = self.contents(place)
        assert isinstance(_error_of(lambda: self.create_at(place, batch(5))), ConflictError)
        assert self.contents(place) == before

    def test_process_death_at_any_moment_leaves_a_whole_state(self, tmp_path: Path) -> None:
        """Dead before, inside and after the append, or between commit and close: all of the batch is there or nothing."""
        if not self._can("child_code"):
            return
        for moment in MOMENTS:
            for how in ("exit", "kill"):
                folder = tmp_path / f"{moment}-{how}"
                folder.mkdir()
                place = self._made(folder)
                child = self._start(f"{self.child_code(place)}\nchild.append_and_die(store, {moment!r}, {how!r})")
                said = child.end()
                assert child.process.returncode == (DIED if how == "exit" else -9), f"it did not die at {moment}: {child.error}"
                assert said == (["acknowledged"] if moment == "committed" else []), moment
                with _closing(self.open_at(place)) as store:
                    assert whole(store) == (2 if moment == "committed" else 1), moment
                    append_next(store, whole(store))
                    whole(store)

    def test_killed_writer_loses_nothing_it_acknowledged(self, tmp_path: Path) -> None:
        """``kill -9`` from outside, in the middle of many appends, again and again on one place."""
        if not self._can("child_code"):
            return
        for number in range(6):
            folder = tmp_path / str(number)
            folder.mkdir()
            place = self._made(folder)
            child = self._start(f"{self.child_code(place)}\nchild.append_forever(store)")
            acknowledged = [child.line() for _ in range(1 + 3 * number)]
            child.process.kill()
            acknowledged += child.end()
            with _closing(self.open_at(place)) as store:
                assert acknowledged == [str(number) for number in range(1, len(acknowledged) + 1)]
                assert whole(store) - 1 in (len(acknowledged), len(acknowledged) + 1)

    def test_processes_that_append_together_lose_and_duplicate_nothing(self, tmp_path: Path) -> None:
        """Four processes, ten appends each, each on a head just read and again after a ConflictError."""
        if not self._can("child_code"):
            return
        place = self._made(tmp_path)
        children = [self._start(f"{self.child_code(place)}\nchild.append_some(store, 10)") for _ in range(4)]
        for child in children:
            assert child.line() == "ready", child.end()
        for child in children:
            child.go()
        landed = [int(line) for child in children for line in child.end(0)]
        assert sorted(landed) == list(range(1, 41))
        with _closing(self.open_at(place)) as store:
            assert whole(store) == 41

    def test_torn_write_shows_the_state_before_or_after(self, tmp_path: Path) -> None:
        """Whatever part of the last writes reached the disk, the state is a whole one, and can be written on."""
        if not self._can("torn_copies"):
            return
        place = self._made(tmp_path)
        counts = []
        with _closing(self.open_at(place)) as store:
            append_next(store, 1)
            append_next(store, 2)
            for copy in self.torn_copies(store, place, tmp_path):
                with _closing(self.open_at(copy)) as torn:
                    counts.append(whole(torn))
                    append_next(torn, counts[-1])
                    assert whole(torn) == counts[-1] + 1
        assert set(counts) == {1, 2, 3} and counts == sorted(counts)

    def test_full_disk_is_a_store_error_and_reads_go_on(self, tmp_path: Path) -> None:
        """Nothing is half written; what was acknowledged stays; writing works again once there is room."""
        if not (self._can("fill_code") and self._can("child_code")):
            return
        place = self._made(tmp_path)
        code = f"{self.child_code(place)}\n{self.fill_code(place)}\nchild.fill_and_recover(store, fill_disk, free_disk)"
        said = self._start(code).end(0)
        with _closing(self.open_at(place)) as store, store.read() as snapshot:
            assert said == [f"recovered {snapshot.log_positions()}"]

    def test_lock_held_past_the_timeout_is_a_retryable_error(self, tmp_path: Path) -> None:
        """Another process never finishes its write: a StoreError after the wait, no hang, and reads go on."""
        if not (self._can("open_impatient") and self._can("child_code")):
            return
        place = self._made(tmp_path)
        holder = self._start(f"{self.child_code(place)}\nchild.hold_lock(store)")
        assert holder.line() == "ready", holder.end()
        with _closing(self.open_impatient(place)) as store:
            error = _error_of(lambda: append_next(store, 1))
            assert isinstance(error, StoreError) and error.reason == "busy"
            assert whole(store) == 1
            holder.go()
            holder.end(0)
            append_next(store, 1)
            assert whole(store) == 2

    def test_lock_of_a_killed_process_is_released(self, tmp_path: Path) -> None:
        """A dead writer holds nobody up."""
        if not self._can("child_code"):
            return
        place = self._made(tmp_path)
        holder = self._start(f"{self.child_code(place)}\nchild.hold_lock(store)")
        assert holder.line() == "ready", holder.end()
        holder.process.kill()
        holder.end()
        with _closing(self.open_at(place)) as store:
            append_next(store, 1)
            assert whole(store) == 2

    def test_reads_of_other_threads_go_on_while_a_writer_waits(self, tmp_path: Path) -> None:
        """A writer that waits for another process does not hold this process's readers."""
        if not self._can("child_code"):
            return
        place = self._made(tmp_path)
        holder = self._start(f"{self.child_code(place)}\nchild.hold_lock(store)")
        assert holder.line() == "ready", holder.end()
        with _closing(self.open_at(place)) as store:
            writer = threading.Thread(target=append_next, args=(store, 1))
            writer.start()
            assert [whole(store) for _ in range(20)] == [1] * 20
            assert writer.is_alive()
            holder.go()
            holder.end(0)
            writer.join()
            assert whole(store) == 2

    def test_read_only_place_reads_and_refuses_writes(self, tmp_path: Path) -> None:
        """All reads work, a write is a StoreError, and no byte is changed or left behind."""
        if not (self._can("read_only") and self._can("child_code")):
            return
        place = self._made(tmp_path)
        with _closing(self.open_at(place)) as store:
            append_next(store, 1)
        before = self.contents(place)
        with self.read_only(place) as code:
            assert self._start(f"{code}\nchild.read_and_be_refused(store)").end(0) == ["read 2"]
        assert self.contents(place) == before
        with _closing(self.open_at(place)) as store:
            append_next(store, 2)
            assert whole(store) == 3

    def test_foreign_things_are_refused_and_left_as_they_are(self, tmp_path: Path) -> None:
        """What somebody else put there is not opened, not written over, and not given side files."""
        if self._can("foreign_places"):
            self._refuses(self.foreign_places(tmp_path), InputError)

    def test_damaged_stores_are_refused_and_left_as_they_are(self, tmp_path: Path) -> None:
        """A store with a broken structure gives one of our errors, when opened or when all of it is read."""
        if self._can("damaged_places"):
            self._refuses(self.damaged_places(tmp_path), Error)

    def test_stores_of_a_newer_version_are_refused_and_left_as_they_are(self, tmp_path: Path) -> None:
        """An older program does not touch what it does not know."""
        if self._can("future_places"):
            self._refuses(self.future_places(tmp_path), UnsupportedError)

    def _refuses(self, places: Iterable[str], kind: type[Error]) -> None:
        count = 0
        for place in places:
            before = self.contents(place)
            error = _error_of(partial(self._read_all, place))
            assert isinstance(error, kind), f"{place}: {error!r}"
            assert isinstance(_error_of(partial(self.create_at, place, batch(0))), Error), place
            assert self.contents(place) == before, f"{place} was changed"
            count += 1
        assert count, "the hook yields at least one place"

    def _read_all(self, place: str) -> None:
        with _closing(self.open_at(place)) as store:
            seen(store)


class Child:
    """Another process that runs source text."""

    def __init__(self, code: str) -> None:
        """Start it."""
        self.error = ""
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115  closed with the child; a pipe could fill up
        pipe = subprocess.PIPE
        command = [sys.executable, "-c", code]
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=self._errors, text=True)  # noqa: S603  our own text

    def line(self) -> str:
        """Return the next line that it says."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def go(self) -> None:
        """Let it go on."""
        assert self.process.stdin is not None
        self.process.stdin.write("go\n")
        self.process.stdin.flush()

    def end(self, code: int | None = None) -> list[str]:
        """Wait for its end, and for its exit code if one is given; return what else it said."""
        assert self.process.stdout is not None and self.process.stdin is not None
        limit = threading.Timer(LIMIT_S, self.process.kill)
        limit.start()
        said = self.process.stdout.read()  # not `communicate`, which loses what `line` has read ahead
        self.process.wait()
        limit.cancel()
        with suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.stdout.close()
        with self._errors:
            self._errors.seek(0)
            self.error = self._errors.read()
        assert code is None or self.process.returncode == code, self.error
        return said.split("\n")[:-1]


@contextmanager
def _closing(store: Store) -> Iterator[Store]:
    try:
        yield store
    finally:
        store.close()


def _error_of(run: Callable[[], None]) -> Error | None:
    """Return the error of ours that a call raises, or None; any other one passes."""
    try:
        run()
    except Error as error:
        return error
    return None
