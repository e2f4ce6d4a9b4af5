"""Output and errors of commands."""

import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, TypeVar

import typer

from autoscaler.errors import AutoscalerError, ConfigError
from autoscaler.layout import Screen, local
from autoscaler.text import plain

if TYPE_CHECKING:  # slow, and most commands show none
    from autoscaler.document import Document

_DocumentT = TypeVar("_DocumentT", bound="Document")
_POLL_SECONDS: Final = 1.0
MAX_PROBLEMS: Final = 1000
"""Problems of a file that are printed."""
_MAX_LINE_BYTES: Final = 2048
_INTERRUPTED: Final = 130
"""The exit code that shells report for SIGINT."""


class Form(StrEnum):
    """The formats of a document."""

    TEXT = "text"
    JSON = "json"
    YAML = "yaml"


def screen() -> Screen:
    """Return the screen of standard output."""
    if not sys.stdout.isatty():
        return Screen()
    dull = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    return Screen(shutil.get_terminal_size().columns, colours=not dull)


def show(lines: Iterable[str]) -> None:
    """Print lines. A character that the terminal's encoding lacks becomes `?`."""
    text = "".join(f"{line}\n" for line in lines)
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    typer.echo(text.encode(encoding, "replace").decode(encoding), nl=False)
    sys.stdout.flush()


def show_document(document: "Document", form: Form) -> None:
    """Print a document for programs, without control characters for a terminal."""
    show_values(document.model_dump(mode="json"), form)


def warn(lines: Iterable[str]) -> None:
    """Print lines on stderr, each without control characters."""
    for line in lines:
        typer.echo(plain(line, _MAX_LINE_BYTES), err=True)


def show_found(
    document: _DocumentT,
    form: Form,
    lines: Callable[[_DocumentT, datetime, Screen], Iterable[str]],
    nothing: str = "",
) -> None:
    """Print a document in the form that is asked for. `lines` lays it out for readers at a time on a screen.

    `nothing`: what stderr says if there are no lines.
    """
    if form is not Form.TEXT:
        show_document(document, form)
    elif found := list(lines(document, datetime.now(UTC), screen())):
        show(found)
    else:
        warn([nothing])


def show_values(values: Any, form: Form) -> None:
    """Print values of JSON for programs, without control characters for a terminal."""
    if form is Form.JSON:
        show([json.dumps(values, indent=2, ensure_ascii=not _is_printable(values))])
        return
    import yaml  # noqa: PLC0415 - only for this

    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    text = yaml.dump(values, Dumper=dumper, sort_keys=False, allow_unicode=_is_printable(values), width=120)
    show([text.rstrip("\n")])


def _is_printable(values: Any) -> bool:
    """Return whether every text is printable. If one is not, all are written with escapes."""
    if isinstance(values, dict):
        return all(_is_printable(each) for pair in values.items() for each in pair)
    if isinstance(values, list):
        return all(map(_is_printable, values))
    return not isinstance(values, str) or values.isprintable()


@contextmanager
def exit_on_error(code: int = 1) -> Iterator[None]:
    """Turn an AutoscalerError in the block into a message on stderr and the exit code."""
    try:
        yield
    except AutoscalerError as error:
        show_error(error)
        raise typer.Exit(code) from None


def show_error(error: AutoscalerError) -> None:
    """Print an error on stderr, with a line for each problem of a configuration."""
    warn(error_lines(error.problems if isinstance(error, ConfigError) else [local(str(error), datetime.now(UTC))]))


def error_lines(problems: Sequence[object]) -> Iterator[str]:
    """Yield a printable line for each, up to a limit."""
    for each in problems[:MAX_PROBLEMS]:
        yield plain(str(each), _MAX_LINE_BYTES)
    if len(problems) > MAX_PROBLEMS:
        yield f"and {len(problems) - MAX_PROBLEMS:,} more; correct these first"


def repeat(step: Callable[[], None]) -> None:
    """Repeat a step until Ctrl-C."""
    try:
        while True:
            time.sleep(_POLL_SECONDS)
            step()
    except KeyboardInterrupt:
        raise typer.Exit(_INTERRUPTED) from None
