"""A rehearsal's own file systems, and full ones."""

import errno
import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.servers.required import require

_PIECES: Final = (2**20, 2**12)
"""Sizes of blocks, the largest first. Other programs write there, too, so the free space is unknown."""


_SYS_ADMIN: Final = 21
"""The number of the capability that mounting needs (capabilities(7), linux/capability.h)."""


def require_mounts() -> None:
    """Skip the test unless this process may mount: root mostly may, but not in every container."""
    found = re.search(r"^CapEff:\s+([0-9a-f]+)$", Path("/proc/self/status").read_text(), re.MULTILINE)
    if found is None or not int(found[1], 16) >> _SYS_ADMIN & 1:
        require("disks of the test's own need the right to mount (CAP_SYS_ADMIN)")


def run(*words: str, may_be: frozenset[int] = frozenset({0})) -> None:
    """Run a command of the system. Raises AssertionError if its exit status differs."""
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode in may_be, f"{' '.join(words)}: {done.stderr}"


@contextmanager
def in_memory(folder: Path, size: int) -> Iterator[None]:
    """Mount a new file system of so many bytes at `folder`, which is created."""
    folder.mkdir(mode=0o700)
    run("mount", "-t", "tmpfs", "-o", f"size={size},mode=0700", "tmpfs", str(folder))
    try:
        yield
    finally:
        run("umount", "--lazy", str(folder))  # a worker that ends may have its log open


@contextmanager
def filled(folder: Path) -> Iterator[None]:
    """Fill the folder's file system as long as the block lasts."""
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
