"""A progress bar on standard error for long commands."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Final, TypeAlias

import typer

from autoscaler.text import plain

_STEPS: Final = 200
"""How often the bar is drawn."""

Progress: TypeAlias = Callable[[float], object]
"""Called with the share that is done, from 0 to 1."""


@contextmanager
def progress(label: str) -> Iterator[Progress]:
    """Show a bar until the block ends; nothing if standard error is no terminal."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    with typer.progressbar(length=_STEPS, label=plain(label), file=sys.stderr) as bar:

        def show(share: float) -> None:
            step = min(_STEPS, max(0, int(share * _STEPS)))
            if step > bar.pos:
                bar.update(step - bar.pos)

        yield show


def share_of(at: datetime, since: datetime, until: datetime) -> float:
    """The share of the time from `since` to `until` that has passed at `at`."""
    return (at - since) / (until - since) if since < until else 1.0
