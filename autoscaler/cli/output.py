"""What commands print, and how they fail."""

import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING, Final

import typer

from autoscaler.cli.tables.layout import Screen
from autoscaler.errors import AutoscalerError
from autoscaler.text import clean

if TYPE_CHECKING:  # slow, and most commands show none
    from autoscaler.documents.base import Document

_POLL_SECONDS: Final = 1.0
_INTERRUPTED: Final = 130
"""What shells make of SIGINT."""


class Form(StrEnum):
    """How a document is printed."""

    TEXT = "text"
    JSON = "json"
    YAML = "yaml"


def screen() -> Screen:
    """What standard output is."""
    if not sys.stdout.isatty():
        return Screen()
    dull = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    return Screen(shutil.get_terminal_size().columns, colours=not dull)


def show(lines: Iterable[str]) -> None:
    """Print lines; what the terminal's encoding lacks becomes `?`."""
    text = "".join(f"{line}\n" for line in lines)
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    typer.echo(text.encode(encoding, "replace").decode(encoding), nl=False)
    sys.stdout.flush()


def show_document(document: "Document", form: Form) -> None:
    """Print a document for programs."""
    values = document.model_dump(mode="json")
    if form is Form.JSON:
        show([json.dumps(values, indent=2, ensure_ascii=False)])
        return
    import yaml  # noqa: PLC0415 - only for this

    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    show([yaml.dump(values, Dumper=dumper, sort_keys=False, allow_unicode=True, width=120).rstrip("\n")])


@contextmanager
def exit_on_error() -> Iterator[None]:
    """An AutoscalerError in the block becomes one message on stderr, and exit code 1."""
    try:
        yield
    except AutoscalerError as error:
        typer.echo("\n".join(map(clean, str(error).splitlines())), err=True)
        raise typer.Exit(1) from None


def repeat(step: Callable[[], None]) -> None:
    """Do it again and again, until Ctrl-C."""
    try:
        while True:
            time.sleep(_POLL_SECONDS)
            step()
    except KeyboardInterrupt:
        raise typer.Exit(_INTERRUPTED) from None
