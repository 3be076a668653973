"""Standard input, consoles of every encoding, closed pipes, hostile text, unexpected errors."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import threading

import pytest

from tests.e2e.conftest import COMMAND, Wtree

WORDS = "Grüße aus 東京 😀, sagt Łukasz"


@pytest.mark.parametrize("arguments", [["add"], ["add", "-"]])
def test_text_comes_in_at_standard_input(wtree: Wtree, arguments: list[str]):
    """Without TEXT, and for a dash; only the last line break is dropped."""
    assert wtree(*arguments, stdin=f"{WORDS}\nsecond line\n").code == 0
    assert wtree("list", "--json").json["items"][0]["text"] == f"{WORDS}\nsecond line"


def test_corrections_come_in_at_standard_input(filled: Wtree):
    """`wtree correct ID -` reads the new text."""
    assert filled("correct", "{rent}", "-", stdin="The rent is 900 euros.\n").code == 0
    assert filled("show", "{rent}", "--json").json["text"] == "The rent is 900 euros."


def test_input_that_is_no_text_is_refused(wtree: Wtree):
    """Bytes that are not UTF-8 are an input error at every way in."""
    assert wtree("add", stdin=b"caf\xe9").code == 2
    assert wtree("add", os.fsdecode(b"caf\xe9")).code == 2
    assert wtree("list", "--user", os.fsdecode(b"caf\xe9")).code == 2
    assert not wtree.store.exists()


@pytest.mark.parametrize(
    "console",
    [
        {"PYTHONIOENCODING": "cp1252"},
        {"PYTHONIOENCODING": "ascii:strict"},
        {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"},
        {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    ],
    ids=["cp1252", "ascii", "C", "POSIX"],
)
def test_a_console_that_is_not_utf8_ends_no_command(wtree: Wtree, console: dict[str, str]):
    """What can't be shown is shown as an escape; JSON stays JSON; signed text stays as it was signed."""
    with wtree.open() as memory:
        memory_id = memory.add(WORDS).episodes[0]
        note = memory.checkpoint()
    done = subprocess.run([*COMMAND, "list"], env=wtree.environment | console, capture_output=True, check=True)
    assert b"aus " in done.stdout
    assert b"sagt" in done.stdout
    assert done.stderr == b""
    assert wtree("show", memory_id, "--json", **console).json["text"] == WORDS
    assert wtree("checkpoint", **console).out == note
    assert wtree("show", "日本", **console).code == 4


def test_stored_text_can_not_steer_the_terminal(wtree: Wtree):
    """Escape sequences, direction marks and carriage returns are shown and not obeyed; the words stay."""
    hostile = "safe\x1b]0;title\x07\x1b[2J words\rover\u202ekcab \x9b31m\u2028end"
    with wtree.open() as memory:
        memory_id = memory.add(hostile, session="s").episodes[0]
    for command in (["list"], ["search", "words"], ["show", memory_id], ["history", memory_id], ["evidence", memory_id]):
        shown = wtree(*command).out
        assert not set(shown) & set("\x1b\x07\r\u202e\x9b\u2028"), command
        assert "safe\\x1b]0;title\\x07\\x1b[2J words\\rover\\u202ekcab" in shown
    assert wtree("show", memory_id, "--json").json["text"] == hostile


def test_a_reader_that_goes_away_is_no_error(wtree: Wtree):
    """`wtree list | head -1`: nothing on standard error."""
    with wtree.open() as memory:
        memory.add([f"line {number} " + "x" * 2000 for number in range(200)])
    lister = subprocess.Popen(
        [*COMMAND, "list", "--limit", "200"], env=wtree.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert lister.stdout is not None
    assert lister.stderr is not None
    lister.stdout.readline()
    lister.stdout.close()
    assert lister.stderr.read() == b""
    lister.stderr.close()
    assert lister.wait() == 141


def test_output_that_can_not_be_written_is_an_error(filled: Wtree):
    """A full disk under standard output is said, with the exit code of storage."""
    with open("/dev/full", "wb") as full:
        done = subprocess.run([*COMMAND, "list"], env=filled.environment, stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 8
    assert done.stderr == b"wtree: the output can't be written: No space left on device\n"


def test_closed_streams_end_in_no_traceback(wtree: Wtree):
    """A command whose standard input, output or error is closed works or says why not."""
    shell = " ".join(COMMAND)
    for line, code in ((f"{shell} add <&-", 2), (f"{shell} add words >&-", 0), (f"{shell} show x 2>&-", 4)):
        done = subprocess.run(["sh", "-c", line], env=wtree.environment, capture_output=True, check=False)
        assert (done.returncode, b"Traceback" in done.stderr) == (code, False), line


def test_an_unexpected_error_is_one_line(wtree: Wtree):
    """The type and message are named; the traceback comes only when asked for."""
    script = (
        "import sys; from witnesstree.cli import main, verb\n"
        "def broken(): raise ZeroDivisionError('a\\nb')\n"
        "verb.read_stdin = broken\n"
        "sys.exit(main.run(['add']))"
    )
    for debug in ("", "1"):
        environment = wtree.environment | {"WITNESSTREE_DEBUG": debug}
        done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)
        lines = done.stderr.splitlines()
        assert lines[-1].startswith("wtree: internal error: ZeroDivisionError: a\\nb; set WITNESSTREE_DEBUG=1")
        assert (len(lines) == 1) is not bool(debug)
        assert ("Traceback" in done.stderr) is bool(debug)
        assert done.returncode == 1


def test_an_interrupt_ends_with_code_130(wtree: Wtree):
    """Ctrl-C while text is read: one line, no traceback, nothing kept."""
    script = (
        "import sys; from witnesstree.cli import main, verb\n"
        "def interrupted(): raise KeyboardInterrupt\n"
        "verb.read_stdin = interrupted\n"
        "sys.exit(main.run(['add']))"
    )
    done = subprocess.run([sys.executable, "-c", script], env=wtree.environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr.strip() == "wtree: interrupted"
    assert not wtree.store.exists()


def on_terminal(wtree: Wtree, *words: str, typed: bytes = b"", **environment: str) -> tuple[int, str]:
    """Run a command whose three streams are a terminal; return exit code and all that it showed."""
    ours, theirs = pty.openpty()
    shown: list[bytes] = []

    def read() -> None:
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:  # the other side is closed
                return
            if not part:
                return
            shown.append(part)

    arguments = [*COMMAND, *(wtree.filled(word) for word in words)]
    running = subprocess.Popen(arguments, env=wtree.environment | environment, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    reader = threading.Thread(target=read)
    reader.start()
    os.write(ours, typed)
    code = running.wait()
    reader.join()
    os.close(ours)
    return code, b"".join(shown).decode()


def test_colour_and_progress_are_for_terminals_only(filled: Wtree):
    """A terminal gets colour and progress; NO_COLOR takes the colour away; a pipe gets neither."""
    code, shown = on_terminal(filled, "doctor")
    assert (code, "\x1b[32mok" in shown) == (0, True)
    assert "\x1b[3" not in on_terminal(filled, "doctor", NO_COLOR="1")[1]
    assert "importing" in on_terminal(filled, "import", "{tmp}/chat.jsonl")[1]
    piped = filled("import", "{tmp}/chat.jsonl")
    assert (piped.err, piped.out) == ("", "0 added, 1 already there\n")


def test_rotating_keys_on_a_terminal_asks_first(filled: Wtree):
    """No is the default and changes nothing; yes, `--yes` and a pipe rotate, as with `wtree forget`."""
    code, shown = on_terminal(filled, "keys", "rotate", typed=b"\n")
    assert code == 1
    assert f"give {filled.store} a new key? the recovery phrase will not restore it [y/N]" in shown
    assert "the key was not changed" in shown
    assert filled("keys", "verifier").out.strip() == filled.ids["key"]
    keys = [filled.ids["key"]]
    for words, typed in ((["keys", "rotate"], b"y\n"), (["keys", "rotate", "--yes"], b"")):
        code, shown = on_terminal(filled, *words, typed=typed)
        assert (code, "the store has a new key: " in shown) == (0, True)
        keys.append(filled("keys", "verifier").out.strip())
    assert filled("keys", "rotate").code == 0
    keys.append(filled("keys", "verifier").out.strip())
    assert len(set(keys)) == 4


def test_forgetting_on_a_terminal_asks_first(filled: Wtree):
    """No is the default; yes erases."""
    code, shown = on_terminal(filled, "forget", "--everything", typed=b"\n")
    assert code == 1
    assert "erase 4 memories (4 versions) of mira? [y/N]" in shown
    assert "nothing was erased" in shown
    assert filled("show", "{rent}").code == 0
    code, shown = on_terminal(filled, "forget", "{rent}", typed=b"y\n")
    assert (code, "1 memory (1 version) erased" in shown) == (0, True)
    assert filled("show", "{rent}").code == 4


def test_an_export_is_not_thrown_at_a_terminal(filled: Wtree):
    """Signed text with raw words goes to a file or a pipe."""
    code, shown = on_terminal(filled, "export")
    assert (code, "add --output FILE" in shown) == (2, True)
