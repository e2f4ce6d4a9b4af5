"""The manual pages have the content of the help texts."""

import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from autoscaler.cli.app import COMMANDS, app
from tools.extras import command_page, configuration_page, main

ROOT = Path(__file__).resolve().parents[2]


def as_read(page: str) -> str:
    """Return the page's text with its characters as a terminal shows them."""
    signs = {"\\-": "-", "\\(aq": "'", "\\(ga": "`", "\\(ha": "^", "\\(ti": "~", "\\e": "\\", "\\&": ""}
    return re.sub(r"\\(?:-|\(..|e|&)", lambda sign: signs[sign[0]], page)


@cache
def commands() -> str:
    """Return the text of the commands' page."""
    return as_read(command_page())


@pytest.mark.parametrize("name", COMMANDS)
def test_the_manual_has_every_command_and_option(name: str) -> None:
    """It is generated from the help."""
    group: Any = get_command(app)  # Any: typer ships its own copy of click
    command = group.get_command(None, name)
    _, _, section = commands().partition(f".SS autoscaler {name} ")
    section, _, _ = section.partition("\n.SS ")
    options = [
        option
        for parameter in command.params
        for option in parameter.opts
        if option.startswith("-") and not getattr(parameter, "hidden", False)
    ]
    assert [option for option in ["--help", *options] if option not in section] == []
    assert command.help.split("\n\n")[0].split() == section.split(".PP")[1].split("\n.")[0].split()


def test_the_configurations_manual_has_every_line_of_the_commented_example() -> None:
    """Users can copy it, including quotes."""
    page = as_read(configuration_page()).splitlines()
    assert [line for line in (ROOT / "config/autoscaler.yaml").read_text().splitlines() if line not in page] == []


def test_a_page_contains_only_known_macros() -> None:
    """A line that begins with a dot is a command to man."""
    known = {".TH", ".SH", ".SS", ".PP", ".TP", ".nf", ".fi"}
    lines = [line for page in (command_page(), configuration_page()) for line in page.splitlines()]
    assert {line.split()[0] for line in lines if line.startswith((".", "'"))} <= known


def test_pages_and_completions_are_written_to_the_folders_of_the_system(tmp_path: Path) -> None:
    main(tmp_path / "share", tmp_path / "zsh")
    assert {str(file.relative_to(tmp_path)) for file in tmp_path.rglob("*") if file.is_file()} == {
        "share/man/man1/autoscaler.1",
        "share/man/man5/autoscaler.yaml.5",
        "share/bash-completion/completions/autoscaler",
        "share/fish/vendor_completions.d/autoscaler.fish",
        "zsh/_autoscaler",
    }
