"""What the process frees of memory goes back to the system."""

import ctypes
from typing import Final

_BLOCK: Final = 2**20
"""Bytes. Larger blocks are mapped one by one, and of each arena's end no more than this is kept."""
_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_THRESHOLD: Final = -3
"""As malloc.h has them."""


def return_freed() -> None:
    """From now on, glibc returns large blocks as they are freed.

    By itself it raises both thresholds with the blocks that it meets, up to 64 MiB, and then keeps as much in each of
    its arenas, 16 of them on two processors. Other C libraries do not, and nothing is done there.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, _BLOCK)
        mallopt(_M_TRIM_THRESHOLD, _BLOCK)
