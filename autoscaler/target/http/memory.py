"""What large answers took of memory, given back to the system.

glibc keeps what is freed, for each thread's arena apart and up to 64 MiB in each: after one large answer the process
would stay as large as it was.
"""

import ctypes
import threading
from typing import Final

_LARGE: Final = 2**22
"""Bytes of an answer. Below, what is kept is less than what the daemon uses anyway."""
_seen: Final = threading.Event()


def answered(size: int) -> None:
    """An answer of so many bytes has been read, whatever becomes of it."""
    if size > _LARGE:
        _seen.set()


def give_back() -> None:
    """Give the system what earlier large answers took and nobody holds any more; nothing where there were none."""
    if _seen.is_set():
        _seen.clear()
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:  # glibc's alone; others give back by themselves
            trim(0)
