"""A progress bar on standard error for what takes minutes."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import typer

from autoscaler.text import plain

_STEPS: Final = 200
"""How often the bar is drawn."""


@contextmanager
def progress(label: str) -> Iterator[Callable[[float], object]]:
    """Show a progress bar until the block ends, if standard error is a terminal.

    The block gets a function, to which it passes the share that is done, from 0 to 1.
    """
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    with typer.progressbar(length=_STEPS, label=plain(label), file=sys.stderr) as bar:
        yield lambda share: bar.update(max(0, int(share * _STEPS) - bar.pos))
