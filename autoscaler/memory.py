"""Settings of the allocator and the garbage collector that keep memory and pauses small."""

import ctypes
import gc
from typing import Final

_BLOCK: Final = 2**20
"""Bytes. Larger blocks are mapped separately, and at most this much is kept at the end of an arena."""
_COLLECTOR: Final = (10_000, 10, 100)
"""Thresholds of the collector's three generations.

With the defaults, a cycle of 10,000 autoscalers triggers several full collections and frees almost nothing.
"""
_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_THRESHOLD: Final = -3
_M_ARENA_MAX: Final = -8
"""As in malloc.h."""


def return_freed() -> None:
    """Make glibc return large blocks as soon as they are freed, and use one arena for all threads.

    By default it raises both thresholds up to 64 MiB with the blocks that it frees, and keeps as much in each arena, 16
    of them on two processors. No effect with other C libraries.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_ARENA_MAX, 1)
        mallopt(_M_MMAP_THRESHOLD, _BLOCK)
        mallopt(_M_TRIM_THRESHOLD, _BLOCK)


def trim() -> None:
    """Make glibc return free pages between used ones too: 80 MiB after a cycle of 10,000 autoscalers.

    It takes some milliseconds, during which other threads run.
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
