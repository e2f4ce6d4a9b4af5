"""Writes the manual pages, from the commands' help, and the shells' completions, to the folders that are searched.

`python tools/extras.py SHARE ZSH` writes them into the folder SHARE (`/usr/share`), zsh's into ZSH, a folder of its
$fpath. It is run with the Python that has the program, which need not be a development environment.

`autoscaler(1)` has every command with its help, `autoscaler.yaml(5)` the commented configuration, in man's macros
(man 7 man).
"""

import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from typer.completion import get_completion_script  # type: ignore[attr-defined]  # there, and not in its __all__
from typer.main import get_command

from autoscaler.cli.app import app
from autoscaler.version import DISTRIBUTION, VERSION

_CONFIGURATION: Final = Path(__file__).resolve().parent.parent / "config" / "autoscaler.yaml"
_FILES: Final = {
    "/etc/autoscaler/autoscaler.yaml": "The configuration; see autoscaler.yaml(5).",
    "/var/lib/autoscaler": "The state of the service: what decisions remember, and the logs of local workers.",
    "/run/autoscaler": "Where Prometheus may read the targets files of local workers.",
    "/run/autoscaler/control/control.sock": "Where members of the group autoscaler-operators pause and override.",
}
_ENVIRONMENT: Final = {
    "AUTOSCALER_SERVER": "Where the daemon answers, for the commands that ask it.",
    "STATE_DIRECTORY": "The folder of the state, unless the configuration names another.",
    "NO_COLOR": "Any value: no colours.",
}
_EXIT: Final = {
    "0": "Fine.",
    "1": "The command failed; check found errors; with --once, a metric, a target or a write failed.",
    "2": "Wrong arguments, or run with a configuration that does not load.",
}

_ZSH_FIRST_TIME: Final = 'if [ "$funcstack[1]" = _autoscaler ]; then _autoscaler_completion "$@"; fi'
"""zsh calls a file of $fpath at the first completion; without this line the first completion would be empty."""

_TYPE: Final = re.compile(r" <.+>$")
"""What typer writes behind an argument of several values: `FILE <list[Path]>`."""
_AS_TYPED: Final = str.maketrans({"\\": "\\e", "-": "\\-", "'": "\\(aq", "`": "\\(ga", "^": "\\(ha", "~": "\\(ti"})
"""Characters that groff prints as typographic signs, which cannot be copied (man 7 groff_char)."""


class Command(NamedTuple):
    """The help of a command."""

    name: str
    usage: str
    """Its arguments, such as `[OPTIONS] NAME`."""
    help: str
    parameters: Mapping[str, str]
    """Each argument and option with its meaning."""


def commands() -> Iterator[Command]:
    """Return every command of the overview, in its order."""
    group, root = _program()
    for name in group.list_commands(root):
        command = group.get_command(root, name)
        context = command.make_context(name, [], parent=root, resilient_parsing=True)
        usage = " ".join(command.collect_usage_pieces(context))
        yield Command(name, usage, command.help, _parameters(command, context))


def command_page() -> str:
    """Return `autoscaler(1)` in man's macros."""
    group, root = _program()
    return "\n".join(
        [
            _title("AUTOSCALER", 1),
            *_section("NAME", "autoscaler \\- the HorizontalPodAutoscaler for what is not Kubernetes"),
            *_section("SYNOPSIS", "\\fBautoscaler\\fR [\\fIOPTIONS\\fR] \\fICOMMAND\\fR [\\fIARGUMENTS\\fR]"),
            *_section("DESCRIPTION", *_paragraphs(group.help)),
            *_section("OPTIONS", *_list(_parameters(group, root))),
            *_section("COMMANDS", *_commands()),
            *_section("FILES", *_list(_FILES)),
            *_section("ENVIRONMENT", *_list(_ENVIRONMENT)),
            *_section("EXIT STATUS", *_list(_EXIT)),
            *_section("SEE ALSO", "\\fBautoscaler.yaml\\fR(5), \\fBpromtool\\fR(1)"),
            "",
        ]
    )


def configuration_page() -> str:
    """Return `autoscaler.yaml(5)` in man's macros."""
    text = _CONFIGURATION.read_text().splitlines()
    return "\n".join(
        [
            _title("AUTOSCALER.YAML", 5),
            *_section("NAME", "autoscaler.yaml \\- configuration of the autoscaler"),
            *_section(
                "DESCRIPTION",
                "Every section and key, with its meaning and its default. \\fBautoscaler check\\fR finds what is wrong",
                "in a file, \\fBautoscaler check \\-\\-live\\fR whether it would work.",
                ".PP",
                ".nf",
                *map(_escaped, text),
                ".fi",
            ),
            *_section("FILES", *_list({"/etc/autoscaler/autoscaler.yaml": "What the service reads."})),
            *_section("SEE ALSO", "\\fBautoscaler\\fR(1)"),
            "",
        ]
    )


def completion(shell: str) -> str:
    """Return the script that completes commands and options in `bash`, `zsh` or `fish`."""
    text = get_completion_script(prog_name="autoscaler", complete_var="_AUTOSCALER_COMPLETE", shell=shell)
    return f"{text}\n{_ZSH_FIRST_TIME}\n" if shell == "zsh" else f"{text}\n"


def _program() -> tuple[Any, Any]:
    """Return the command group and its context. Any: typer ships its own copy of click, which it does not export."""
    group: Any = get_command(app)
    return group, group.make_context("autoscaler", [], resilient_parsing=True)


def _commands() -> Iterator[str]:
    for command in commands():
        yield f".SS {_escaped(f'autoscaler {command.name} {command.usage}')}"
        yield from _paragraphs(command.help)
        yield from _list(command.parameters)


def _parameters(command: Any, context: Any) -> Mapping[str, str]:
    records = [parameter.get_help_record(context) for parameter in command.get_params(context)]
    return {_TYPE.sub("", name): meaning for name, meaning in filter(None, records)}


def _paragraphs(text: str) -> Iterator[str]:
    for paragraph in text.strip().split("\n\n"):
        yield ".PP"
        yield _escaped(" ".join(paragraph.split()))


def _list(entries: Mapping[str, str]) -> Iterator[str]:
    for name, meaning in entries.items():
        yield from (".TP", f"\\fB{_escaped(name)}\\fR", _escaped(" ".join(meaning.split())))


def _section(name: str, *lines: str) -> list[str]:
    return [f".SH {name}", *lines]


def _title(name: str, section: int) -> str:
    return f'.TH {name} {section} "" "{DISTRIBUTION} {VERSION}"'


def _escaped(text: str) -> str:
    """Return text that roff prints unchanged: no escapes, no requests, hyphens that can be copied."""
    text = text.translate(_AS_TYPED)
    return f"\\&{text}" if text.startswith(".") else text


def main(share: Path, zsh: Path) -> None:
    """Write all pages and completions."""
    files = {
        share / "man/man1/autoscaler.1": command_page(),
        share / "man/man5/autoscaler.yaml.5": configuration_page(),
        share / "bash-completion/completions/autoscaler": completion("bash"),
        share / "fish/vendor_completions.d/autoscaler.fish": completion("fish"),
        zsh / "_autoscaler": completion("zsh"),
    }
    for file, text in files.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
