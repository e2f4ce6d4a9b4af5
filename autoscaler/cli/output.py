"""What commands print, and how they fail."""

import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

import typer

from autoscaler.errors import AutoscalerError, ConfigError
from autoscaler.layout import Screen
from autoscaler.text import plain

if TYPE_CHECKING:  # slow, and most commands show none
    from autoscaler.documents.base import Document

_POLL_SECONDS: Final = 1.0
MOST_PROBLEMS: Final = 1000
"""Of a file that are printed."""
_MOST_LINE_BYTES: Final = 2048
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
    """Print a document for programs; a terminal is not steered by it either."""
    values = document.model_dump(mode="json")
    if form is Form.JSON:
        show([json.dumps(values, indent=2, ensure_ascii=not _is_printable(values))])
        return
    import yaml  # noqa: PLC0415 - only for this

    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    text = yaml.dump(values, Dumper=dumper, sort_keys=False, allow_unicode=_is_printable(values), width=120)
    show([text.rstrip("\n")])


def _is_printable(values: Any) -> bool:
    """Whether every text in it is; one that steers a terminal is written in escapes, as are all beside it."""
    if isinstance(values, dict):
        return all(_is_printable(each) for pair in values.items() for each in pair)
    if isinstance(values, list):
        return all(map(_is_printable, values))
    return not isinstance(values, str) or values.isprintable()


@contextmanager
def exit_on_error(code: int = 1) -> Iterator[None]:
    """An AutoscalerError in the block becomes one message on stderr, and the exit code."""
    try:
        yield
    except AutoscalerError as error:
        show_error(error)
        raise typer.Exit(code) from None


def show_error(error: AutoscalerError) -> None:
    """Print it on stderr: within bounds, a line for each problem of a configuration."""
    problems = error.problems if isinstance(error, ConfigError) else [error]
    typer.echo("\n".join(error_lines(problems)), err=True)


def error_lines(problems: Sequence[object]) -> Iterator[str]:
    """A printable line for each, up to a number that somebody may still read."""
    for each in problems[:MOST_PROBLEMS]:
        yield plain(str(each), _MOST_LINE_BYTES)
    if len(problems) > MOST_PROBLEMS:
        yield f"and {len(problems) - MOST_PROBLEMS:,} more; correct these first"


def repeat(step: Callable[[], None]) -> None:
    """Do it again and again, until Ctrl-C."""
    try:
        while True:
            time.sleep(_POLL_SECONDS)
            step()
    except KeyboardInterrupt:
        raise typer.Exit(_INTERRUPTED) from None
