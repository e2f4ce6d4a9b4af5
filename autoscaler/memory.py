"""What the process frees of memory goes back to the system, and the cyclic collector looks at little."""

import ctypes
import gc
from typing import Final

_BLOCK: Final = 2**20
"""Bytes. Larger blocks are mapped one by one, and of each arena's end no more than this is kept."""
_COLLECTOR: Final = (10_000, 10, 100)
"""Of the collector's three generations. By itself it looks at the young ones after 700 and 7,000 new objects, and at
all whenever a quarter came anew: with 10,000 autoscalers that is several times a cycle, which makes nearly everything
anew and nearly no garbage."""
_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_THRESHOLD: Final = -3
_M_ARENA_MAX: Final = -8
"""As malloc.h has them."""


def return_freed() -> None:
    """From now on, glibc returns large blocks as they are freed, and threads share one arena for the others.

    By itself it raises both thresholds with the blocks that it meets, up to 64 MiB, and then keeps as much in each of
    its arenas, 16 of them on two processors. Other C libraries do not, and nothing is done there.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_ARENA_MAX, 1)
        mallopt(_M_MMAP_THRESHOLD, _BLOCK)
        mallopt(_M_TRIM_THRESHOLD, _BLOCK)


def trim() -> None:
    """Have glibc return the pages that are free now between others, too: of 10,000 autoscalers' cycle 80 MiB.

    It takes some milliseconds, in which other threads go on.
    """
    malloc_trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if malloc_trim is not None:
        malloc_trim(0)


def freeze() -> None:
    """From now on, the cyclic collector looks at nothing that is there now, and at the rest less often.

    For after a start: modules and settings stay, and what of them goes is for the most part freed without it.
    """
    gc.set_threshold(*_COLLECTOR)
    gc.collect()
    gc.freeze()


def collect() -> None:
    """Free what refers to itself and is used no more, of before `freeze` too. By itself the collector seldom looks.

    For after shards have ended: each leaves up to a megabyte of such behind. It holds every thread for up to a second.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()
