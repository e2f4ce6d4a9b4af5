"""Keeps the daemon's memory small: the free pages of glibc."""

import ctypes
from typing import Final

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
