"""`autoscaler completion`: prints the script with which a shell completes commands and options."""

from enum import StrEnum
from typing import Annotated, Final

import typer
from typer.completion import get_completion_script  # type: ignore[attr-defined]  # there, and not in its __all__

from autoscaler.cli.app import COMPLETION_VARIABLE

_ZSH_FIRST_TIME: Final = 'if [ "$funcstack[1]" = _autoscaler ]; then _autoscaler_completion "$@"; fi'
"""zsh calls a file of $fpath at the first completion; without this line the first completion would be empty."""


class Shell(StrEnum):
    """The shells with a script."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def completion(
    *,
    shell: Annotated[Shell, typer.Argument(metavar="SHELL", help="The shell: bash, zsh or fish.", show_default=False)],
) -> None:
    """Print the script that completes commands and options in a shell. It asks no daemon.

    In bash, for this shell: eval "$(autoscaler completion bash)". To keep it: write it to
    ~/.local/share/bash-completion/completions/autoscaler. In zsh, to a file _autoscaler in a folder of $fpath. In
    fish, to ~/.config/fish/completions/autoscaler.fish. The Debian package has all three in place.
    """
    typer.echo(script(shell), nl=False)


def script(shell: Shell) -> str:
    """Return the script, which the shell reads once. It runs `autoscaler` for each completion."""
    text = get_completion_script(prog_name="autoscaler", complete_var=COMPLETION_VARIABLE, shell=shell.value)
    return f"{text}\n{_ZSH_FIRST_TIME}\n" if shell is Shell.ZSH else f"{text}\n"
