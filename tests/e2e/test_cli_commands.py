"""Every command once for good, as text and as JSON, and once or more for bad input."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import click
import pytest

from tests.e2e.conftest import Wtree
from witnesstree.anchors.file import FileAnchor
from witnesstree.cli.main import COMMANDS, OTHER_NAMES, commands
from witnesstree.cli.reading import AUTHORITY_WORDS, KIND_WORDS, TRUST_WORDS
from witnesstree.cli.writing import ROLE_WORDS
from witnesstree.errors import StoreError

GOOD: list[tuple[str, str]] = [
    ("init", "verifier key: witnesstree/"),
    ("add|A pear tree stands in the yard.", "added "),
    ("search|rent euros", "The rent is 865 euros"),
    ("search|rent|--context|--budget|80", "[end of memory"),
    ("search|rent|--context|--budget-tokens|80|--agent|planner", "[end of memory"),
    ("ask|Is the rent 865 euros?", "source: user, 2026-02-03T09:00:00Z, session s1, authorized, candidate, id {rent}"),
    ("list|--session|s2", "Pear juice costs 3 euros."),
    ('ask|Is the rent 865 euros?|--agent|planner|--where|{"session": "s1"}', "source: user"),
    ('ask|Is the rent 865 euros?|--where|{"session": "s2"}', "no answer: "),
    ("list|--all-states", "candidate, held"),
    ("list|--include-inactive", "candidate, held"),
    ("show|{rent}", "session: s1"),
    ("get|{rent}", "session: s1"),
    ("evidence|{rent}", "characters 0 to 40 of version 1"),
    ("history|{rent}", "version 1, "),
    ("correct|{rent}|The rent is 900 euros.", "updated {rent} version 2"),
    ('correct|{rent}|--metadata|{"floor": 3}', "updated {rent} version 2"),
    ("retract|{rent}", "retracted {rent} version 2"),
    ("inbox", "A held line about Lisbon."),
    ("approve|{held}", "approved {held} version 2"),
    ("forget|{rent}|--dry-run", "1 memory (1 version) would be erased"),
    ("forget|{rent}", "witnesstree erasure receipt v1"),
    ("forget|--session|s2|--receipt|{tmp}/r.txt", "2 memories (2 versions) erased; receipt written to {tmp}/r.txt"),
    ("forget|--everything|--yes|--receipt|{tmp}/r.txt", "4 memories (4 versions) erased"),
    ("audit", "everything is what was written"),
    ("prove|{rent}", "c2sp.org/tlog-proof@v1"),
    ("prove|{rent}|--output|{tmp}/p.txt", "proof written to {tmp}/p.txt"),
    ("verify-receipt|{tmp}/rent.proof|--key|{key}", "The rent is 865 euros"),
    ("checkpoint", "— witnesstree/"),
    ("repair", "nothing is left to repair"),
    ("reindex", "all are of local-1 now"),
    ("eval|{tmp}/questions.jsonl", "recall@1   100.0%"),
    ("alias|my sister|Ana", "added "),
    ("alias|my sister|Ana|--agent|planner", "held "),
    ("export|--output|{tmp}/e.jsonl", "4 versions written to {tmp}/e.jsonl"),
    ("import|{tmp}/chat.jsonl", "1 added, 0 already there"),
    ("backup|{tmp}/new.backup", "backup written to {tmp}/new.backup"),
    ("restore|{tmp}/old.backup|{tmp}/new.db", "restored to {tmp}/new.db"),
    ("fork|{tmp}/new.db", "forked to {tmp}/new.db"),
    ("keys|phrase", "    "),
    ("keys|verifier", "{key}"),
    ("keys|reader", '"public_key"'),
    ("keys|rotate", "the store has a new key: "),
    ("keys|rotate|--lost-signer", "the store has a new key: "),
    ("keys|rotate|--yes", "the store has a new key: "),
    ("doctor", "ok   anchor: agrees"),
    ("completion|bash", "_WTREE_COMPLETE=bash_complete"),
]

BAD: list[tuple[str, int, str]] = [
    ("init|--phrase|twenty four words", 2, "shell's history"),
    ("add|", 2, "content is empty"),
    ("add|words|--role|boss", 2, "role must be one of"),
    ("add|words|--at|yesterday", 2, "at is not ISO-8601"),
    ("add|words|--metadata|[1]", 2, "--metadata must be a JSON object"),
    ("search", 2, "Missing argument 'QUERY'; see 'wtree search --help'"),
    ("search|rent|-k|0", 2, "k must be a whole number"),
    ("search|rent|-k|many", 2, "not a valid integer"),
    ("search|rent|--where|{", 2, "--where must be a JSON object"),
    ("search|rent|--kind|opinion", 2, "kinds"),
    ("search|rent|--min-authority|king", 2, "min_authority"),
    ("search|rent|--budget|10", 2, "--budget-tokens goes with --context"),
    ("search|rent|--store|{tmp}/nothing.db", 4, "there is no store at {tmp}/nothing.db"),
    ("ask|Where?|--where|{", 2, "--where must be a JSON object"),
    ("ask|Where?|--as-of|2026-02-03T09:00:00", 2, "no time zone"),
    ("list|--limit|0", 2, "limit must be a whole number"),
    ("list|--cursor|zzz", 2, "cursor"),
    ("show|{none}", 4, "there is no memory {none}"),
    ("show|../../etc/passwd", 4, "ids are 32 hex digits"),
    ("get|{none}", 4, "there is no memory {none}"),
    ("evidence|{none}", 4, "there is no memory"),
    ("history|{none}", 4, "there is no memory"),
    ("correct|{rent}|", 2, "text is empty"),
    ("correct|{rent}|--metadata|3", 2, "--metadata must be a JSON object"),
    ("correct|{rent}|new words|--expected-version|7", 5, "is at version 1, not 7"),
    ("retract|{none}", 4, "there is no memory"),
    ("inbox|--limit|-1", 2, "limit must be"),
    ("approve|{rent}", 5, "approve is not possible for active"),
    ("forget", 2, "say what to forget"),
    ("forget|{none}", 4, "there is no memory with this id"),
    ("forget|{rent}|--everything|--yes", 2, "exactly one of"),
    ("forget|--everything", 2, "add --yes"),
    ("forget|{rent}|--receipt|{tmp}/chat.jsonl", 2, "exists already"),
    ("audit|--store|{tmp}/nothing.db", 4, "there is no store"),
    ("audit|--user|mira", 2, "No such option '--user'"),
    ("prove|{none}", 4, "there is no memory"),
    ("prove|{rent}|--output|{tmp}/no/folder", 2, "can't be made"),
    ("verify-receipt|{tmp}/rent.proof", 2, "Missing option '--key'"),
    ("verify-receipt|{tmp}/rent.proof|--key|nonsense", 2, "name+hexid+base64; 'wtree keys verifier' prints it"),
    ("verify-receipt|{tmp}/rent.proof|--key|{key}AAAA", 2, "not an intact Ed25519 verifier key"),
    ("verify-receipt|{tmp}/rent.proof|--key|", 2, "name+hexid+base64"),
    ("verify-receipt|{tmp}/chat.jsonl|--key|{key}", 6, "not a signed note"),
    ("verify-receipt|{tmp}/missing|--key|{key}", 2, "can't be read"),
    ("checkpoint|--store|{tmp}/nothing.db", 4, "there is no store"),
    ("repair|--store|{tmp}/nothing.db", 4, "there is no store"),
    ("reindex|--embedder|nobody", 2, "there is no embedder"),
    ("eval|{tmp}/missing.jsonl", 2, "can't be read"),
    ("alias|the|Ana", 2, "alias holds no word"),
    ("export|--output|{tmp}/chat.jsonl", 2, "exists already"),
    ("import|{tmp}/missing.jsonl", 2, "can't be read"),
    ("import|-|-", 2, "can be read once only"),
    ("backup|{tmp}/old.backup", 2, "exists already"),
    ("restore|{tmp}/missing|{tmp}/new.db", 2, "there is no backup"),
    ("restore|{tmp}/old.backup|{store}", 2, "exists already"),
    ("restore|{tmp}/old.backup", 2, "exists already"),
    ("fork|{store}", 2, "exists already"),
    ("keys|melt", 2, "No such command 'melt'; see"),
    ("keys|rotat", 2, "No such command 'rotat' (did you mean 'rotate'?); see 'wtree keys --help'"),
    ("doctor|--accept-head|many|zz", 2, "SIZE is a whole number"),
    ("doctor|--forget-place", 2, "type it exactly"),
    ("demo|--fast", 2, "No such option"),
    ("completion|tcsh", 2, "'tcsh' is not one of"),
    ("import|{tmp}/chat.jsonl|--session|\u200b", 2, "session"),
    ("remember|this", 2, "No such command 'remember' (did you mean 'add'?); see 'wtree --help'"),
    ("serch|this", 2, "No such command 'serch' (did you mean 'search'?)"),
    ("rotate-keys", 2, "did you mean 'keys rotate'?"),
    ("qqq", 2, "No such command 'qqq'; see 'wtree --help'"),
    ("search|rent|--store|{tmp}/chat.jsonl", 2, "not a Witnesstree store"),
    ("search|rent|--store|mongodb://host/x", 7, "there is no backend for mongodb://"),
]


def test_every_command_is_tried_for_good_and_for_bad():
    """No command can be added without a row in both tables (demo's good run has a test of its own)."""
    assert {row[0].split("|")[0] for row in GOOD} | {"demo"} == set(COMMANDS)
    assert {row[0].split("|")[0] for row in BAD} >= set(COMMANDS)


@pytest.mark.parametrize(("name", "command"), OTHER_NAMES.items(), ids=list(OTHER_NAMES))
def test_a_hint_leads_to_a_command(wtree: Wtree, name: str, command: str):
    """What a name from elsewhere is called here, is there."""
    assert f"did you mean '{command}'?" in wtree.here(name).err
    assert wtree.here(*command.split(), "--help").code == 0


@pytest.mark.parametrize(("command", "expected"), GOOD, ids=[row[0] for row in GOOD])
def test_each_command_does_what_it_says(filled: Wtree, command: str, expected: str):
    """Exit code 0, and the result on standard output."""
    done = filled(*command.split("|"))
    assert (done.code, filled.filled(expected) in done.out + done.err) == (0, True), done
    assert not [line for line in done.err.splitlines() if line.startswith("wtree:")]


AS_JSON = [row[0] for row in GOOD if not row[0].startswith("completion")]


@pytest.mark.parametrize("command", AS_JSON)
def test_each_command_prints_json_when_asked(filled: Wtree, command: str):
    """The whole of standard output is one JSON document; nothing else is said."""
    done = filled.here(*command.split("|"), "--json")
    assert (done.code, done.err) == (0, "")
    assert isinstance(done.json, dict | list)


@pytest.mark.parametrize(("command", "code", "expected"), BAD, ids=[row[0] for row in BAD])
def test_bad_input_gives_one_line_and_an_exit_code(filled: Wtree, command: str, code: int, expected: str):
    """One line on standard error that says what is wrong, nothing on standard output, no traceback."""
    done = filled(*command.split("|"))
    assert (done.code, done.out) == (code, ""), done
    lines = [line for line in done.err.splitlines() if not line.startswith("To let any store")]
    assert len(lines) == 1, done
    assert lines[0].startswith("wtree: ")
    assert filled.filled(expected) in lines[0]


@pytest.mark.parametrize("command", ["show|{none}", "search", "remember", "search|x|--store|{tmp}/nothing.db"])
def test_errors_are_json_when_json_is_asked(filled: Wtree, command: str):
    """One JSON line on standard error, and nothing on standard output."""
    done = filled(*command.split("|"), "--json")
    assert done.code in (2, 4)
    assert done.out == ""
    error = json.loads(done.err)["error"]
    assert error["code"] in ("invalid_input", "not_found")
    assert error["message"]
    assert done.err.count("\n") == 1


@pytest.mark.parametrize("command", ["search|x", "list", "show|{none}", "audit", "checkpoint", "doctor", "export", "inbox"])
def test_reading_commands_make_no_store(wtree: Wtree, command: str):
    """Where nothing is, nothing is made."""
    wtree.ids = {"none": "0" * 32}
    done = wtree.here(*command.split("|"))
    assert done.code in (4, 6)
    assert list(wtree.folder.iterdir()) == []


def test_a_command_without_store_or_user_says_what_to_give(wtree: Wtree):
    """No place is assumed."""
    assert "--store PATH, or set WITNESSTREE_STORE" in wtree("list", WITNESSTREE_STORE="").err
    assert "--user NAME, or set WITNESSTREE_USER" in wtree("list", WITNESSTREE_USER="").err
    assert list(wtree.folder.iterdir()) == []


def test_help_and_version_name_every_command(wtree: Wtree):
    """Without a command, help is shown; every command is in it and has its own."""
    shown = wtree("--help").out
    assert shown == wtree().out
    assert all(f"\n  {name} " in shown for name in COMMANDS)
    assert wtree("--version").out.startswith("wtree 0.")
    assert "--expected-version" in wtree("correct", "--help").out
    assert "rotate" in wtree("keys").out


def test_help_loads_nothing_heavy(wtree: Wtree):
    """The list of commands is shown without the modules behind them."""
    script = (
        "import sys; from witnesstree.cli.main import run; run(['--help']);"
        "sys.exit(any(name in sys.modules for name in ('numpy', 'apsw', 'cryptography', 'witnesstree.memory')))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_completion_finds_commands_and_options(wtree: Wtree):
    """The shell asks the command itself."""
    asked = {"_WTREE_COMPLETE": "bash_complete", "COMP_CWORD": "1"}
    assert wtree(COMP_WORDS="wtree verify", **asked).out == "plain,verify-receipt\n"
    asked["COMP_CWORD"] = "2"
    assert "plain,--quarantine" in wtree(COMP_WORDS="wtree search --q", **asked).out


CLOSED = [
    ("add --role", ROLE_WORDS),
    ("search --kind", KIND_WORDS),
    ("ask --min-authority", AUTHORITY_WORDS),
    ("search --min-trust", TRUST_WORDS),
]


@pytest.mark.parametrize(("begun", "words"), CLOSED, ids=[row[0] for row in CLOSED])
def test_completion_finds_the_values_of_closed_sets(filled: Wtree, begun: str, words: tuple[str, ...]):
    """Every value that is offered is taken, and the first letters choose."""
    asked = {"_WTREE_COMPLETE": "bash_complete", "COMP_CWORD": "3"}
    offered = filled(COMP_WORDS=f"wtree {begun} ", **asked).out.split()
    assert offered == [f"plain,{word}" for word in words]
    assert f"plain,{words[-1]}" in filled(COMP_WORDS=f"wtree {begun} {words[-1][:3]}", **asked).out.split()
    command, option = begun.split()
    for word in words:
        assert filled.here(command, "rent", option, word).code == 0


def test_help_says_how_completion_is_switched_on(wtree: Wtree):
    """One line for each shell; what bash's line runs is a script that bash takes."""
    assert "'wtree completion --help'" in " ".join(wtree.here("--help").out.split())
    shown = wtree.here("completion", "--help").out
    for line in ('eval "$(wtree completion bash)"', 'eval "$(wtree completion zsh)"', "wtree completion fish | source"):
        assert line in shown
    script = wtree.here("completion", "bash").out
    assert subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True, check=False).returncode == 0


def test_a_memory_without_a_said_time_shows_when_it_was_recorded(filled: Wtree):
    """In text for a person; as JSON the said time stays empty."""
    shown = filled.here("get", "{sister}", "--json").json
    assert shown["at"] is None
    when = f"recorded {shown['recorded_at']}"
    commands_with_time = [
        ["search", "sister"],
        ["ask", "Where does my sister live?"],
        ["list"],
        ["evidence", "{sister}"],
        ["history", "{sister}"],
    ]
    for command in commands_with_time:
        assert when in filled.here(*command).out, command
    answer = filled.here("ask", "Where does my sister live?", "--json").json
    assert answer["citations"][0]["at"] is None
    proof = filled.here("prove", "{sister}").out
    proven = filled("verify-receipt", "-", "--key", "{key}", stdin=proof).out
    assert "\nat: " not in proven
    assert f"recorded_at: {shown['recorded_at']}" in proven
    assert filled("verify-receipt", "-", "--key", "{key}", "--json", stdin=proof).json["at"] is None


def test_an_older_answer_shows_when_its_own_version_was_recorded(filled: Wtree):
    """The instant is that of the version that is quoted, not of a later one."""
    first = filled.here("get", "{sister}", "--json").json["recorded_at"]
    assert filled.here("correct", "{sister}", "My sister lives in Turin.").code == 0
    asked = filled.here("ask", "Where does my sister live?", "--recorded-as-of", first).out
    assert "Porto" in asked
    assert f"recorded {first}" in asked


def test_what_was_made_is_said_once(wtree: Wtree, home: Path):
    """A new store and new keys: one line on standard error with both places and how to back the keys up; then no more."""
    made = wtree("add", "The first words.", "--json")
    assert made.err == (
        f"wtree: made the store {wtree.store} and its keys {home}/state/keys/master.key;"
        " back up the keys: 'wtree keys phrase' (without, the store can't be opened)\n"
    )
    assert made.json["changes"][0]["what"] == "added"
    assert wtree("add", "More words.").err == ""
    second = wtree("import", "-", "--store", "{tmp}/second.db", stdin='{"content": "words"}')
    assert second.err.startswith(f"wtree: made the store {wtree.folder}/second.db under the keys {home}/state/keys/master.key;")
    given = wtree("add", "Words.", "--store", "{tmp}/third.db", WITNESSTREE_KEY="ab" * 32)
    assert given.err.startswith(f"wtree: made the store {wtree.folder}/third.db under the key in WITNESSTREE_KEY; keep that key")


def test_help_says_where_the_phrase_is_read(wtree: Wtree):
    """Standard input, one line; line breaks do no harm."""
    assert "read from standard input: one line of 24 words" in " ".join(wtree.here("init", "--help").out.split())


def test_search_options_choose_what_is_found(filled: Wtree):
    """Session, kind, authority, filter, instant and count reach the search."""

    def found(*options: str) -> set[str]:
        return {hit["id"] for hit in filled.here("search", "euros costs rent sister Porto", *options, "--json").json["hits"]}

    rent, pear, sister = (filled.ids[name] for name in ("rent", "pear", "sister"))
    assert found() == {rent, pear, sister}
    assert found("--session", "s2") == {pear, sister}
    assert found("--min-authority", "authorized") == {rent, sister}
    assert found("--where", '{"role": "tool"}') == {pear}
    assert found("--kind", "fact", "--kind", "event") == set()
    assert len(found("-k", "1")) == 1
    assert found("--as-of", "2026-02-04T00:00:00+01:00") == {rent}
    assert found("--recorded-as-of", "2026-02-04T00:00:00+01:00") == set()
    assert found("--user", "somebody-else") == set()


def test_abstention_is_an_answer_and_no_error(filled: Wtree):
    """Exit code 0, said plainly."""
    done = filled.here("ask", "Who vaccinated the spaniel?")
    assert (done.code, done.out) == (0, "no answer: no memory supports an answer\n")
    assert filled.here("ask", "Who vaccinated the spaniel?", "--json").json["abstained"] is True


NO_USER = ("init", "audit", "verify-receipt", "checkpoint", "repair", "reindex", "backup", "restore", "fork", "doctor", "demo")
NO_USER += ("completion",)


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "keys"])
def test_a_command_takes_user_only_if_it_uses_it(name: str):
    """An option that plays no part would be believed."""
    command = commands.get_command(click.Context(commands), name)
    options = {option for parameter in command.params for option in parameter.opts}
    assert ("--user" in options) is (name not in NO_USER)
    assert ("--store" in options) is (name not in ("verify-receipt", "demo", "completion"))


def test_a_correction_of_data_keeps_the_words(filled: Wtree):
    """`correct ID --metadata` reads no standard input; with TEXT both change."""
    assert filled("correct", "{rent}", "--metadata", '{"floor": 3}', stdin="not read").code == 0
    shown = filled.here("show", "{rent}", "--json").json
    assert (shown["text"], shown["metadata"]) == ("The rent is 865 euros, due on the third.", {"floor": 3})
    assert filled.here("correct", "{rent}", "The rent is 900 euros.", "--metadata", "{}").code == 0
    shown = filled.here("show", "{rent}", "--json").json
    assert (shown["text"], shown["metadata"]) == ("The rent is 900 euros.", {})


BEHIND = [
    "add|Words.",
    "correct|{rent}|New words.",
    "retract|{rent}",
    "approve|{held}",
    "forget|{rent}",
    "import|{tmp}/chat.jsonl",
]


@pytest.mark.parametrize("command", BEHIND)
def test_an_anchor_that_could_not_follow_is_said(filled: Wtree, command: str, monkeypatch: pytest.MonkeyPatch):
    """The write is done and exits with 0; one line on standard error warns, also with --json."""

    def full(anchor: FileAnchor, state: object) -> None:
        raise StoreError("the anchor can't be written: No space left on device", reason="anchor_failed")

    monkeypatch.setattr(FileAnchor, "advance", full)
    done = filled.here(*command.split("|"), "--json")
    warning = "wtree: warning: it is done, but the anchor could not be written; run 'wtree doctor'\n"
    assert (done.code, done.err) == (0, warning)


def test_pages_follow_each_other_by_cursor(filled: Wtree):
    """A page says where the next one begins."""
    first = filled.here("list", "--limit", "2", "--json").json
    second = filled.here("list", "--limit", "2", "--cursor", first["cursor"], "--json").json
    assert [len(first["items"]), len(second["items"])] == [2, 1]
    assert second["cursor"] is None


def test_a_held_message_waits_until_it_is_approved(filled: Wtree):
    """It is in the inbox, not in answers; afterwards the reverse."""
    assert filled.here("search", "Lisbon").out == "nothing found\n"
    assert filled.here("approve", "{held}").code == 0
    assert "A held line about Lisbon." in filled.here("search", "Lisbon").out
    assert filled.here("inbox").out == "the inbox is empty\n"


def test_lost_keys_come_back_from_the_phrase(wtree: Wtree, tmp_path):
    """The phrase is shown by the init that makes the keys, then by `keys phrase`; it restores them in another home."""
    made = wtree("init", "--json").json
    assert made["created"] is True
    assert len(made["phrase"].split()) == 24
    again = wtree("init", "--json").json
    assert again["created"] is False
    assert "phrase" not in again
    assert wtree("keys", "phrase", "--json").json["phrase"] == made["phrase"]
    assert wtree("add", "Words that must stay readable.").code == 0
    other = str(tmp_path / "other")
    assert wtree("init", "--phrase", "-", stdin=made["phrase"], WITNESSTREE_HOME=other, WITNESSTREE_STORE="").code == 0
    assert "must stay readable" in wtree("search", "readable", WITNESSTREE_HOME=other).out
    assert wtree("init", "--phrase", stdin=made["phrase"], WITNESSTREE_HOME=other).code == 5
    bad = wtree("init", "--phrase", stdin="abandon " * 24, WITNESSTREE_HOME=str(tmp_path / "third"), WITNESSTREE_STORE="")
    assert bad.code == 2


def test_a_restored_store_holds_what_the_backup_held(filled: Wtree):
    """Backup, restore and fork give stores that answer."""
    assert filled.here("restore", "{tmp}/old.backup", "{tmp}/new.db").code == 0
    assert filled.here("fork", "{tmp}/fork.db").code == 0
    for store in ("{tmp}/new.db", "{tmp}/fork.db"):
        assert "865 euros" in filled.here("search", "rent", "--store", store).out
