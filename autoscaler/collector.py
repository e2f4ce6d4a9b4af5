"""Keeps the pauses of the cyclic collector short and rare."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_THRESHOLDS: Final = (10_000, 10, 100)
"""Of the collector's three generations.

With the defaults, a cycle of 10,000 autoscalers triggers several full collections and frees almost nothing.
"""


@contextmanager
def paused() -> Iterator[None]:
    """Pause the collector, for what makes many objects and no garbage: an import, a file that is loaded."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def freeze() -> None:
    """Exclude all current objects from garbage collection, and collect less often.

    For use after the start: modules and settings stay, and most of what is replaced later is freed without the
    collector.
    """
    gc.set_threshold(*_THRESHOLDS)
    collect()


def collect() -> None:
    """Collect reference cycles, including those from before `freeze`.

    For use after shards end, each of which leaves up to a megabyte. It stops every thread for up to a second.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()
