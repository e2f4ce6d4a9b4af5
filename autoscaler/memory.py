"""Keeps the memory and the pauses of the daemon small: the free pages of glibc, and the cyclic collector."""

import ctypes
import gc
from typing import Final

_COLLECTOR: Final = (10_000, 10, 100)
"""Thresholds of the collector's three generations.

With the defaults, a cycle of 10,000 autoscalers triggers several full collections and frees almost nothing.
"""
_M_ARENA_MAX: Final = -8
"""As in malloc.h."""


def use_one_arena() -> None:
    """Make all threads use one arena of glibc, because `trim` does not free the end of any other arena.

    Otherwise a large answer keeps up to 64 MiB in the arena of its thread. No effect with other C libraries.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_ARENA_MAX, 1)


def trim() -> None:
    """Make glibc return its free pages to the system: 100 MiB after a cycle of 10,000 autoscalers.

    It takes some milliseconds, during which other threads run. No effect with other C libraries.
    """
    malloc_trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if malloc_trim is not None:
        malloc_trim(0)


def freeze() -> None:
    """Exclude all current objects from garbage collection, and collect less often.

    For use after the start: modules and settings stay, and most of what is replaced later is freed without the
    collector.
    """
    gc.set_threshold(*_COLLECTOR)
    gc.collect()
    gc.freeze()


def collect() -> None:
    """Collect reference cycles, including those from before `freeze`.

    For use after shards end, each of which leaves up to a megabyte. It stops every thread for up to a second.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()
