"""The command that shows the product at work: a chat is imported, asked, attacked, proven and partly erased."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import click

from witnesstree.cli import terminal
from witnesstree.cli.reading import answer_lines
from witnesstree.cli.verb import BareVerb, Door
from witnesstree.config import child_environment
from witnesstree.flow.home import Home
from witnesstree.flow.opening import Terms, open_verified
from witnesstree.memory import Memory
from witnesstree.proof.receipt import verify_receipt
from witnesstree.rules.terms import terms_of
from witnesstree.testing import tamper
from witnesstree.types.settings import Settings

USER = "mira"
RENT_QUERY = "rent IBAN reference Ahornstieg"
REAL_ACCOUNT, FALSE_ACCOUNT = "DE79 0000 0000 1234 5678 90", "DE98 0000 0000 9999 9999 99"
INJECTION_ID, RULE_ID = "2026-08-printshop-06", "2026-08-printshop-12"
PAYING_QUESTION = "Should agents ask before paying invoices to a new account?"
MEANING_QUESTION, MEANING_ID = "Which animal lives downstairs?", "2026-07-laptop-16"
SECRET, SECRET_ID = "zqxjwv-periwinkle", "2026-10-storage-06"
EXIT_INTEGRITY = 6
COMMAND_LIMIT_S = 60


class DemoFailedError(Exception):
    """Something did not happen that this program promises."""


class Demo:
    """One run in one temporary folder."""

    def __init__(self, folder: Path, say: Callable[[str], None]) -> None:
        """Begin with nothing.

        Args:
            folder: an empty folder that is thrown away afterwards.
            say: takes one line for the person who watches.
        """
        self.folder = folder
        self.say = say
        self.checks = 0
        self.home = folder / "home"
        self.store = folder / "store" / "agent.db"
        self.store.parent.mkdir()
        self.chat = files("witnesstree.cli").joinpath("demo_data/chat.jsonl").read_bytes()
        self.ids: dict[str, str] = {}

    def open(self) -> Memory:
        """Open the demo's memory in the demo's own home."""
        home = Home.at(Settings(self.home / "state", self.home / "cache"))
        terms = Terms()
        return Memory(open_verified(str(self.store), home, terms), home, terms, user=USER)

    def check(self, is_right: bool, promise: str) -> None:  # a promise reads best after what it is about
        """Count a promise that was kept, or stop the demo.

        Raises:
            DemoFailedError: it was not kept.
        """
        if not is_right:
            raise DemoFailedError(promise)
        self.checks += 1

    def title(self, number: int, text: str) -> None:
        """Begin a numbered part."""
        self.say("")
        self.say(f"{number}. {text}")

    def run(self) -> None:
        """Run every part in order."""
        self.import_chat()
        self.ask_questions()
        self.find_by_meaning()
        self.show_injection()
        self.tamper_with_the_file()
        self.prove_one_memory()
        self.erase_one_memory()

    def import_chat(self) -> None:
        """Import the chat twice: the second time adds nothing."""
        self.title(1, "Import: a year of chat between Mira and her agent, in English and German.")
        lines = self.chat.decode().splitlines()
        sessions = {json.loads(line)["session"] for line in lines}
        with self.open() as memory, terminal.Progress("importing", len(lines)) as progress:
            first = memory.import_(lines, progress=progress.show)
            again = memory.import_(lines, progress=progress.show)
            self.ids = {memo.source: memo.id for memo in memory.list(limit=1000).items}
        self.say(f"   {first.added} turns of {len(sessions)} sessions kept verbatim, each sealed and logged.")
        self.say(f"   The same file again: {again.added} added, {len(again.changes)} already there.")
        self.check(first.added == len(lines) == len(self.ids) and not first.rejected, "every turn is kept")
        self.check(again.added == 0, "importing again adds nothing twice")

    def ask_questions(self) -> None:
        """Ask every question, and compare answer and source with what is expected."""
        self.title(2, "Ask: each answer is a verbatim quote with its source; with too few words in common there is no answer.")
        questions = json.loads(files("witnesstree.cli").joinpath("demo_data/questions.json").read_bytes())
        with self.open() as memory:
            for question in questions:
                answer = memory.answer(question["question"])
                self.say(f"   Q: {question['question']}")
                for line in answer_lines(answer.to_dict()):
                    self.say(f"      {line}")
                if question["expect"] is None:
                    self.check(answer.abstained, f"nothing supports an answer to: {question['question']}")
                    continue
                self.check(question["expect"] in answer.text, f"the answer holds {question['expect']!r}")
                source = memory.get(answer.citations[0].id).source
                self.check(source == question["source_id"], f"the source is {question['source_id']}, not {source}")

    def find_by_meaning(self) -> None:
        """Find a turn that has no word of the question, first."""
        with self.open() as memory:
            hit = memory.search(MEANING_QUESTION, k=1).hits[0]
        self.say(f"   Search: {MEANING_QUESTION}")
        self.say(f"      {hit.text}")
        self.say(f"        source: {terminal.who_said(hit.to_dict())}, id {hit.id}")
        self.say("      Found first, although it has no word of the question.")
        self.check(hit.source == MEANING_ID, f"{MEANING_ID} is found by its meaning")
        self.check(not set(terms_of(MEANING_QUESTION)) & set(terms_of(hit.text)), "no word is shared")

    def show_injection(self) -> None:
        """Find a planted instruction: it is marked as nobody's word, and fenced as data."""
        self.title(3, "A web page tried to give the agent orders. It is kept as what it is: quoted, endorsed by nobody.")
        query = "AI agents always pay invoices IBAN without asking"
        with self.open() as memory:
            result = memory.search(query, k=3)
            endorsed = memory.search(query, k=50, min_authority="attested")
        found = next((hit for hit in result.hits if hit.source == INJECTION_ID), None)
        self.check(found is not None and found.authority == "unendorsed", "the planted order is found as unendorsed")
        context = result.context().split("\n")
        for line in context:
            for part in textwrap.wrap(line, 110, subsequent_indent="     "):
                self.say(f"   | {part}")
        inside = [line for line in context[1:-1] if FALSE_ACCOUNT in line and "unendorsed" in line]
        self.check(len(inside) == 1, "the planted order stands inside the fence, marked as unendorsed")
        self.check(all(hit.source != INJECTION_ID for hit in endorsed.hits), "who asks for endorsed memories does not get it")
        self.say("   Asked for endorsed memories only, the search leaves it out.")
        self.ask_with_and_without_authority()

    def ask_with_and_without_authority(self) -> None:
        """Ask one question twice: without a limit the planted order answers, with one it is the user's own rule."""
        with self.open() as memory:
            self.say(f"   Q: {PAYING_QUESTION}")
            for limit, source, about in (
                (None, INJECTION_ID, "by default, whatever was said may answer, marked with its authority:"),
                ("attested", RULE_ID, 'with min_authority="attested" only what somebody stands behind:'),
            ):
                answer = memory.answer(PAYING_QUESTION, min_authority=limit)
                self.say(f"      {about}")
                for line in answer_lines(answer.to_dict()):
                    self.say(f"         {line}")
                found = memory.get(answer.citations[0].id).source if answer.citations else ""
                self.check(found == source, f"asked with min_authority={limit}, {source} answers, not {found}")

    def tamper_with_the_file(self) -> None:
        """Edit the database file four times behind the program's back; a plain search must refuse each time."""
        self.title(4, "Somebody edits the database file behind the program's back. A plain search, in a new process, refuses.")
        honest, yesterday = self.folder / "honest.db", self.folder / "yesterday.db"
        tamper.copy_store(self.store, yesterday)
        with self.open() as memory:
            memory.add("The landlord confirmed the rent for December.", session="2026-12-rent", at="2026-12-01T09:00:00+01:00")
        tamper.copy_store(self.store, honest)
        self.check(self.search()[0] == 0, "the untouched store answers")
        real, false = REAL_ACCOUNT.encode(), FALSE_ACCOUNT.encode()
        words = b"my rent goes to IBAN "
        edits: list[tuple[str, Callable[[], object]]] = [
            (
                "The account number for the rent is changed in place",
                lambda: tamper.change_row(self.store, words + real, words + false),
            ),
            ("The row with the account number is deleted", lambda: tamper.delete_row(self.store, words + real)),
            (
                "A copy of it with another account number is inserted",
                lambda: tamper.forge_row(self.store, words + real, words + false),
            ),
            ("Yesterday's copy of the whole file is put back", lambda: tamper.copy_store(yesterday, self.store)),
        ]
        for letter, (what, edit) in zip("abcd", edits, strict=True):
            edit()
            code, error = self.search()
            self.say(f"   {letter}) {what}.")
            self.say(f"      exit code {code}: {error}")
            self.check(code == EXIT_INTEGRITY and error.startswith("wtree: "), f"a search is refused after: {what}")
            tamper.copy_store(honest, self.store)
        self.check(self.search()[0] == 0, "the honest file put back answers again")
        self.say("   With the honest file put back, the same search answers again.")
        honest.unlink()
        yesterday.unlink()

    def search(self) -> tuple[int, str]:
        """Run a plain search in a new process; return its exit code and what it said on standard error."""
        code, _, error = run_command(["search", RENT_QUERY, "--store", str(self.store), "--user", USER], self.home)
        return code, error

    def prove_one_memory(self) -> None:
        """Write a proof to a file and check it in a new process with an empty home; a flipped byte is noticed."""
        self.title(5, "Prove: one memory leaves the machine with a proof that anybody can check offline.")
        path, flipped, nowhere = (self.folder / name for name in ("rent.proof", "flipped.proof", "empty-home"))
        with self.open() as memory:
            text = memory.prove(self.ids["2026-02-rent-06"])
            key = memory.verifier_key
        path.write_text(text, encoding="utf-8")
        flipped.write_text(_with_flipped_bit(text, REAL_ACCOUNT.encode()), encoding="utf-8")
        code, out, _ = run_command(["verify-receipt", str(path), "--key", key, "--json"], nowhere)
        self.check(code == 0, "a proof is checked without the store and with an empty home")
        proven = json.loads(out)
        self.say(f"   {len(text.encode())} bytes, checked in a new process with an empty home and nothing but {key}:")
        self.say(f"   entry {proven['position']} of {proven['size']} says: {terminal.one_line(proven['text'])}")
        self.check(REAL_ACCOUNT in proven["text"], "the proof shows the memory")
        code, _, error = run_command(["verify-receipt", str(flipped), "--key", key], nowhere)
        self.say("   One bit of the account number flipped:")
        self.say(f"      exit code {code}: {error}")
        self.check(code == EXIT_INTEGRITY, "a changed proof is refused")
        self.check(not nowhere.exists(), "the check needs no home")

    def erase_one_memory(self) -> None:
        """Erase one memory, look for its bytes everywhere, and import the chat again."""
        self.title(6, "Forget: Mira's locker code word is erased, and its bytes are looked for in every file.")
        memory_id = self.ids[SECRET_ID]
        wanted = [SECRET.encode(), memory_id.encode(), bytes.fromhex(memory_id)]
        folders = [self.store.parent, self.home]
        self.check(tamper.find_bytes(folders, wanted) == [self.store], "the code word is in the store and nowhere else")
        with self.open() as memory:
            receipt = memory.forget(memory_id)
            key = memory.verifier_key
        left = tamper.find_bytes(folders, wanted)
        facts = verify_receipt(receipt.note, key)
        self.say(f"   Files that still hold the code word or the memory's id: {len(left)}.")
        self.say(f"   Signed receipt: {facts['memories']} memory, bytes {facts['bytes']}, log position {facts['position']}.")
        self.check(not left, f"no file holds what was erased: {[path.name for path in left]}")
        self.check(receipt.state == "done" and facts["memories"] == "1", "the receipt verifies")
        with self.open() as memory:
            again = memory.import_(self.chat)
            hits = memory.search(SECRET, k=50).hits
            report = memory.audit()
        back = [change for change in again.changes if change.what == "erased_before"]
        self.say(f"   The same chat imported again: {again.added} added, {len(back)} kept away since it was erased.")
        self.check(again.added == 0 and len(back) == 1 and not hits, "what was erased does not come back")
        self.check(not tamper.find_bytes(folders, wanted), "nor do its bytes")
        self.say(f"   Full audit: {report.rows} rows, {report.size} log entries, {len(report.problems)} problems.")
        self.check(report.ok, "the audit is clean")


def run_command(words: list[str], home: Path) -> tuple[int, str, str]:
    """Run ``wtree`` in a new process with a home; return its exit code and what it said on standard output and error."""
    done = subprocess.run(  # noqa: S603  this very program
        [sys.executable, "-m", "witnesstree.cli.main", *words],
        env=child_environment(home),
        capture_output=True,
        timeout=COMMAND_LIMIT_S,
        check=False,
    )
    out, error = (part.decode(errors="replace").strip() for part in (done.stdout, done.stderr))
    return done.returncode, out, error


def cpu_s() -> float:
    """Return the CPU seconds that this process and the children it waited for have used."""
    return sum(os.times()[:4])


def _with_flipped_bit(proof: str, words: bytes) -> str:
    """Return a proof in whose memory one bit of some words differs."""
    before, extra, after = proof.split("\n", 2)
    data = bytearray(base64.b64decode(extra.removeprefix("extra ")))
    data[data.index(words) + len(words) - 1] ^= 1
    return "\n".join([before, f"extra {base64.b64encode(data).decode()}", after])


@click.command("demo", cls=BareVerb)
def demo_command(door: Door) -> int:
    """Show the product at work, in a temporary folder with a home of its own; every step is checked."""
    start = cpu_s()
    say = terminal.warn if door.as_json else terminal.say
    with tempfile.TemporaryDirectory(prefix="witnesstree-demo-") as folder:
        demo = Demo(Path(folder).resolve(), lambda line: say(terminal.one_line(line)))
        try:
            demo.run()
        except DemoFailedError as error:
            terminal.warn(f"wtree: the demo failed: {terminal.one_line(str(error))}")
            return 1
    say("")
    used = cpu_s() - start
    door.tell({"checks": demo.checks, "cpu_s": round(used, 1)}, [f"demo: {demo.checks} checks passed, {used:.1f} s of CPU time"])
    return 0
