"""`autoscaler diff`: the keys whose values differ in two configurations."""

from pathlib import Path
from typing import Annotated, Any

import typer

from autoscaler.cli.options import OutputForm
from autoscaler.cli.output import Form, exit_on_error, screen, show, show_document
from autoscaler.config.normalized import Difference, differences, normalized
from autoscaler.document import Document
from autoscaler.layout import NONE, Table
from autoscaler.service import CONFIG
from autoscaler.text import clean


class DifferenceList(Document):
    """The differences between two files."""

    before: str
    """The file."""
    after: str
    changes: tuple[Difference, ...]
    """In the order of the keys."""


def diff(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The configuration to load next.")],
    *,
    against: Annotated[
        Path, typer.Option("--against", "--config.file", metavar="FILE", help="The configuration before.")
    ] = CONFIG,
    exit_code: Annotated[
        bool,
        typer.Option("--exit-code", help="Exit 1 if something changes, 0 if nothing does, 2 if the comparison fails."),
    ] = False,
    output: OutputForm = Form.TEXT,
) -> None:
    """Show every key that has another value in a configuration than in the one before it.

    Both files are checked, normalized as `autoscaler check --print` prints them, and compared; no daemon is needed.
    Defaults are filled in, so writing one out is no difference. Values that may be secrets are compared and not shown.
    """
    with exit_on_error(2 if exit_code else 1):
        found = list(differences(normalized(against), normalized(file)))
        if output is Form.TEXT:
            rows = [(each.path, _text(each.before), _text(each.after)) for each in found]
            same = f"{clean(str(file))} means the same as {clean(str(against))}"
            show(Table(("KEY", "BEFORE", "AFTER"), screen()).lines(rows) or [same])
        else:
            show_document(DifferenceList(before=str(against), after=str(file), changes=tuple(found)), output)
    if exit_code and found:
        raise typer.Exit(1)


def _text(value: Any) -> str:
    """A value in one line; a whole section is counted by its name alone."""
    if value is None:
        return NONE
    if isinstance(value, dict):
        return f"{{{', '.join(value)}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_text, value))}]"
    return str(value).lower() if isinstance(value, bool) else str(value)
