"""How many connections there may be: file descriptors are kept for scaling."""

import resource
from typing import Final

_MOST_CONNECTIONS: Final = 256
_FEWEST_CONNECTIONS: Final = 8
_DESCRIPTORS: Final = 4096
"""That the process asks for where the hard limit allows it. Workers inherit it, so it is no larger than useful."""


def most_connections() -> int:
    """256, or half of the descriptors that this process may open; the other half is for scaling.

    Raises the soft limit where it is low and the hard one allows it: systemd's and a shell's is 1,024.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, _DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            soft = wanted
        except OSError:  # a sandbox may forbid it: then fewer have to do
            pass
    half = _MOST_CONNECTIONS if soft == resource.RLIM_INFINITY else soft // 2
    return max(_FEWEST_CONNECTIONS, min(_MOST_CONNECTIONS, half))
