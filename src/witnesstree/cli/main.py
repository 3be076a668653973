"""The command line ``wtree``: finds the command, runs it, and turns every error into one line and an exit code."""

from __future__ import annotations

import importlib
import json
import sys
import traceback
from typing import Any, Final

import click

from witnesstree import __version__
from witnesstree.cli import terminal
from witnesstree.cli.verb import HintingGroup
from witnesstree.config import DEBUG_VARIABLE, read_settings
from witnesstree.errors import Error

EXIT_FAILED: Final = 1
EXIT_USAGE: Final = 2
EXIT_OUTPUT: Final = 8
EXIT_INTERRUPTED: Final = 130
EXIT_OUTPUT_CLOSED: Final = 141
"""128 + 13: what a program gets that is ended by SIGPIPE."""

COMMANDS: Final[dict[str, tuple[str, str]]] = {
    "init": ("home", "Make this home's keys and show the recovery phrase."),
    "add": ("writing", "Keep a message verbatim."),
    "alias": ("writing", "Keep that two names mean the same."),
    "search": ("reading", "Find memories by words."),
    "ask": ("reading", "Answer a question with a quote and its source, or abstain."),
    "list": ("reading", "List memories, oldest first."),
    "show": ("reading", "Show one memory."),
    "get": ("reading", "Show one memory; the same as show."),
    "evidence": ("reading", "Show the quotes that a memory rests on."),
    "history": ("reading", "Show every version of a memory."),
    "correct": ("writing", "Correct a memory; the old version stays in its history."),
    "retract": ("writing", "Withdraw a memory; it stays in its history."),
    "inbox": ("reading", "List what waits for approval."),
    "approve": ("writing", "Let a held memory take effect."),
    "forget": ("erasing", "Erase memories and get a signed receipt."),
    "audit": ("proving", "Check everything in the store."),
    "prove": ("proving", "Write an offline proof of one memory."),
    "verify-receipt": ("receipts", "Check a proof or an erasure receipt offline."),
    "checkpoint": ("proving", "Print the signed head of the log."),
    "repair": ("proving", "Rebuild what is derived."),
    "reindex": ("evaluating", "Exchange the vectors for those of another embedder."),
    "eval": ("evaluating", "Measure search and answers on your own questions."),
    "export": ("moving", "Write a user's whole memory as signed JSON lines."),
    "import": ("importing", "Bring in chats or exports."),
    "backup": ("moving", "Write a consistent copy of the store."),
    "restore": ("moving", "Make a new store from a backup."),
    "fork": ("moving", "Make a new store that begins with this one's memory."),
    "keys": ("home", "Show or rotate keys."),
    "doctor": ("doctor", "Check home, keys, anchor and store, and say what to do."),
    "demo": ("demo", "Show the product at work, in a temporary folder."),
    "completion": ("completion", "Print the completion script for a shell."),
}
"""Name → (module that holds it, what it does). A module is imported when its command is run."""


OTHER_NAMES: Final = {
    "answer": "ask",
    "update": "correct",
    "remember": "add",
    "recall": "search",
    "rotate-keys": "keys rotate",
    "verify": "verify-receipt",
}
"""Names that the Python verbs or other doors use, and the command that does it here."""


class Commands(HintingGroup):
    """The commands of ``COMMANDS``; only the one that is called is loaded."""

    other_names = OTHER_NAMES

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load one command."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"witnesstree.cli.{COMMANDS[cmd_name][0]}")
        command: click.Command = getattr(module, f"{cmd_name.replace('-', '_')}_command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the table without loading any command."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, about) in COMMANDS.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        """Complete the name of a command without loading any."""
        from click.shell_completion import CompletionItem

        found = [CompletionItem(n, help=about) for n, (_, about) in COMMANDS.items() if n.startswith(incomplete)]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]


EPILOG = (
    "Exit codes: 0 done, 1 failed, 2 wrong input, 3 no access, 4 not found, 5 conflict, 6 the memory is not what was written,"
    " 7 unsupported, 8 storage failed, 130 interrupted. Completion with the Tab key: 'wtree completion --help' says how to"
    " switch it on."
)


@click.command(cls=Commands, invoke_without_command=True, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="wtree", message="%(prog)s %(version)s")
@click.pass_context
def commands(ctx: click.Context) -> None:
    """Long-term memory for agents that can testify: every memory has a source, a seal and a place in a signed log."""
    if ctx.invoked_subcommand is None:
        terminal.say(ctx.get_help())


def run(arguments: list[str]) -> int:
    """Run one command line and return its exit code; no exception gets out.

    Args:
        arguments: what follows the program's name.
    """
    terminal.prepare_streams()
    as_json = "--json" in (arguments[: arguments.index("--")] if "--" in arguments else arguments)
    try:
        code = commands.main(args=arguments, prog_name="wtree", standalone_mode=False)
        terminal.flush()
    except BaseException as error:
        return _report(error, as_json=as_json)
    return code if isinstance(code, int) else 0


def _report(error: BaseException, *, as_json: bool) -> int:
    """Say in one line on standard error what went wrong; return the exit code."""
    if isinstance(error, terminal.OutputClosedError):
        terminal.abandon_output()
        return EXIT_OUTPUT_CLOSED
    if isinstance(error, SystemExit):  # click leaves like this when the reader of its own output is gone
        return EXIT_OUTPUT_CLOSED
    code, about = _described(error)
    if as_json:
        line = json.dumps({"error": about})
    else:
        line = f"{terminal.painted('wtree:', 'red', sys.stderr)} {terminal.one_line(str(about['message']))}"
    try:
        if read_settings().debug:
            traceback.print_exception(error)
        terminal.warn(line)
        terminal.flush()
    except (terminal.OutputClosedError, Error, OSError):
        terminal.abandon_output()
    return code


def _described(error: BaseException) -> tuple[int, dict[str, object]]:
    """Return the exit code of an error, and the error as plain data."""
    if isinstance(error, Error):
        return error.exit_code, error.to_dict()
    if isinstance(error, click.UsageError):
        where = f"; see '{error.ctx.command_path} --help'" if error.ctx is not None else ""
        text = f"{' '.join(error.format_message().split()).rstrip('.')}{where}"
        return EXIT_USAGE, {"code": "invalid_input", "reason": "usage", "message": text}
    if isinstance(error, click.ClickException):
        return error.exit_code, {"code": "error", "reason": "error", "message": error.format_message()}
    if isinstance(error, KeyboardInterrupt) or (
        isinstance(error, click.Abort) and isinstance(error.__cause__, KeyboardInterrupt)
    ):
        return EXIT_INTERRUPTED, {"code": "interrupted", "reason": "interrupted", "message": "interrupted"}
    if isinstance(error, click.Abort):
        return EXIT_FAILED, {"code": "aborted", "reason": "aborted", "message": "stopped, since nothing was answered"}
    if isinstance(error, OSError):
        what = f"{error.filename}: {error.strerror}" if error.filename else error.strerror or str(error)
        return EXIT_OUTPUT, {"code": "store_failed", "reason": "system", "message": what}
    text = f"internal error: {type(error).__name__}: {error}; set {DEBUG_VARIABLE}=1 for details"
    return EXIT_FAILED, {"code": "internal", "reason": "internal", "message": text}


def main() -> None:
    """Run the command line of this process and end it with the exit code."""
    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
