"""Free ports on the loopback interface."""

import socket


def free_port() -> int:
    """A TCP port on 127.0.0.1 that nothing listens on now. Another process may take it first: start soon."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port
