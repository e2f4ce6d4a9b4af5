"""How far a long command is: a bar on standard error, where that is a terminal."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Final, Protocol

import typer

from autoscaler.text import plain

_STEPS: Final = 200
"""More often the bar is not drawn: that would take longer than the work."""


class Progress(Protocol):
    """What long work tells how far it is."""

    def __call__(self, share: float) -> None:
        """`share`: of the whole, from 0 to 1."""


@contextmanager
def progress(label: str) -> Iterator[Progress]:
    """A bar until the block ends; nothing where standard error is not a terminal."""
    if not sys.stderr.isatty():
        yield _nothing
        return
    with typer.progressbar(length=_STEPS, label=plain(label), file=sys.stderr) as bar:

        def show(share: float) -> None:
            step = min(_STEPS, max(0, int(share * _STEPS)))
            if step > bar.pos:
                bar.update(step - bar.pos)

        yield show


def share_of(at: datetime, since: datetime, until: datetime) -> float:
    """How far a time is from one to the other."""
    return (at - since) / (until - since) if since < until else 1.0


def _nothing(share: float) -> None:
    pass
