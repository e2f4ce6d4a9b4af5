"""Finds the control socket of the daemon that runs a configuration.

A daemon's environment tells where its socket is, unless the configuration does, and a shell has another environment.
"""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final
from urllib.parse import quote

from autoscaler.cli.server import Server
from autoscaler.cli.source import runs

_LISTENING: Final = Path("/proc/net/unix")
"""Lists the Unix sockets of this network namespace. Source: proc(5)."""
_PATH_FIELD: Final = 7
"""Where a socket's path is in its line, counted from 0."""


def socket_of(config: Path) -> Path | None:
    """Return the control socket of this machine's daemon that runs the file; None: no such daemon is known."""
    for socket in _control_sockets():
        with closing(Server(f"unix://{quote(str(socket))}")) as server:
            if runs(server, config):
                return socket
    return None


def _control_sockets() -> Iterator[Path]:
    """Yield the absolute paths of the listening sockets with a control socket's default name."""
    try:
        lines = _LISTENING.read_text(errors="surrogateescape").splitlines()
    except OSError:
        return
    fields = [line.split(maxsplit=_PATH_FIELD) for line in lines]
    paths = dict.fromkeys(each[_PATH_FIELD] for each in fields if len(each) > _PATH_FIELD)
    yield from [Path(path) for path in paths if path.startswith("/") and path.endswith("/control.sock")]
