"""The number of connections, which leaves file descriptors for scaling."""

import resource
from typing import Final

_MAX_CONNECTIONS: Final = 256
_MIN_CONNECTIONS: Final = 8
_DESCRIPTORS: Final = 4096
"""The soft limit that the process requests. Workers inherit it, so it is moderate."""


def most_connections() -> int:
    """Return 256, or half of the process's file descriptors if that is less; scaling uses the other half.

    Raises a low soft limit as far as the hard limit allows: systemd and shells set 1,024.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, _DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            soft = wanted
        except OSError:  # a sandbox may forbid it; the lower limit then applies
            pass
    half = _MAX_CONNECTIONS if soft == resource.RLIM_INFINITY else soft // 2
    return max(_MIN_CONNECTIONS, min(_MAX_CONNECTIONS, half))
