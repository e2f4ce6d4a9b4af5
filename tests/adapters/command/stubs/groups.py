"""What the stubs share: the groups' names, and how a tool fails."""

import os
import sys
import zlib
from typing import Any, NoReturn

Groups = dict[str, Any]
"""The name of a group -> its instances' names."""


def resized(group: list[str], name: str, size: int) -> None:
    del group[size:]
    group += [f"{name}-{os.urandom(2).hex()}" for _ in range(size - len(group))]


def deleted(groups: Groups, wanted: str) -> bool:
    """Remove the machine with this number; return whether there was one."""
    for names in groups.values():
        kept = [one for one in names if str(number(one)) != wanted]
        if len(kept) < len(names):
            names[:] = kept
            return True
    return False


def number(name: str) -> int:
    """Return the number by which a cloud knows the machine."""
    return zlib.crc32(name.encode())


def fail(message: str) -> NoReturn:
    sys.stderr.write(f"{message}\n")
    sys.exit(1)
