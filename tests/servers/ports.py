"""Free ports on the loopback interface, which one test process keeps until it ends.

No other program chooses from their ranges: the kernel's ports of outgoing connections begin at 32768, those of Nomad's
allocations at 20000. Workers of pytest-xdist, and several runs on one machine, reserve ports by locks on the bytes of
one file. The locks end with their process.
"""

import fcntl
import os
import socket
from functools import cache
from typing import Final

from tests.temporary import FOR_ALL_RUNS

_SINGLE: Final = range(10_000, 15_000)
_POOLS: Final = range(15_000, 20_000)

_reserved: set[int] = set()


def free_port() -> int:
    """Return a TCP port that nothing listens on and that no other test is given."""
    return _reserve(_SINGLE, 1)


def free_ports(count: int = 100) -> str:
    """Return a range of as many ports, as in a pool's settings.

    No later pool has them, because Prometheus still has samples of the workers of an earlier one.
    """
    first = _reserve(_POOLS, count)
    return f"{first}-{first + count - 1}"


def _reserve(ports: range, count: int) -> int:
    """Return the first of `count` adjacent ports."""
    for first in ports[::count]:
        wanted = range(first, first + count)
        if wanted[-1] in ports and _reserved.isdisjoint(wanted) and _lock(wanted):
            _reserved.update(wanted)
            if all(map(_is_free, wanted)):
                return first
    raise AssertionError(f"no {count} adjacent ports are free between {ports[0]} and {ports[-1]}")


def _lock(ports: range) -> bool:
    """Return whether this process has them now."""
    try:
        fcntl.lockf(_locks(), fcntl.LOCK_EX | fcntl.LOCK_NB, len(ports), ports[0])
    except OSError:
        return False
    return True


@cache
def _locks() -> int:
    """Return the descriptor of the file of locks. To close it would end them."""
    return os.open(FOR_ALL_RUNS / f"ports-of-tests-{os.getuid()}", os.O_CREAT | os.O_RDWR, 0o600)


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("", port))
        except OSError:
            return False
    return True
