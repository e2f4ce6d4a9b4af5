"""A file system without a byte left."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_PIECES: Final = (2**20, 2**12)
"""Bytes, the large ones first: somebody else writes there, too, so what is left is not known."""


@contextmanager
def filled(folder: Path) -> Iterator[None]:
    """The file system that the folder is on is full, as long as the block lasts."""
    filler = folder / "filler"
    with filler.open("wb") as file:
        size = 0
        for piece in _PIECES:
            while _took(file.fileno(), size, piece):
                size += piece
    try:
        yield
    finally:
        filler.unlink()


def _took(descriptor: int, size: int, piece: int) -> bool:
    try:
        os.posix_fallocate(descriptor, size, piece)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        return False
    return True
