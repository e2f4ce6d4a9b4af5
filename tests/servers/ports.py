"""Free ports on the loopback interface."""

import os
import socket
from typing import Final

_FIRST: Final = 21_000
_EACH: Final = 500


def free_port() -> int:
    """A TCP port on 127.0.0.1 that nothing listens on now. Another process may take it first: start soon."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def port_range() -> str:
    """Ports for pools of the process adapter, as its `ports` setting. Each worker of pytest-xdist has its own.

    Two pools that begin at one port may both find it free. Then Prometheus scrapes the other pool's worker.
    """
    first = _FIRST + _EACH * int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    return f"{first}-{first + _EACH - 1}"
