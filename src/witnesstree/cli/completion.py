"""The command that prints a shell's completion script."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from witnesstree.cli import terminal
from witnesstree.cli.main import commands
from witnesstree.cli.verb import BareVerb, Door
from witnesstree.errors import InputError


@click.command("completion", cls=BareVerb)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion_command(door: Door, shell: str) -> None:
    """Print the completion script for SHELL. To switch completion with the Tab key on, for good, add one line to a file.

    \b
    bash  ~/.bashrc                    eval "$(wtree completion bash)"
    zsh   ~/.zshrc                     eval "$(wtree completion zsh)"
    fish  ~/.config/fish/config.fish   wtree completion fish | source
    """
    kind = get_completion_class(shell)
    if kind is None:
        raise InputError(f"there is no completion for {shell}", field="shell")
    source = kind(commands, {}, "wtree", "_WTREE_COMPLETE").source()
    door.tell({"shell": shell, "script": source}, [source])
    terminal.flush()
