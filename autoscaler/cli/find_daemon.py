"""Finds the daemon that runs a configuration, and its control socket.

A daemon's environment tells where its socket is, unless the configuration does, and a shell has another environment.
"""

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from autoscaler.cli.server import Server, ServerDown, SocketRefused
from autoscaler.errors import ServerError

if TYPE_CHECKING:  # slow
    from autoscaler.documents.status import DaemonStatus

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


def status_of(config: Path) -> "tuple[DaemonStatus, bool] | None":
    """Return the status of the daemon that runs the file, and whether it is on this machine; None: none answers.

    The daemon is at $AUTOSCALER_SERVER, else here. Raises ServerError.
    """
    from autoscaler.cli.source import Where  # noqa: PLC0415 - it imports this module
    from autoscaler.documents.status import DaemonStatus  # noqa: PLC0415 - slow, and not needed without --config.file

    for server in Where(os.environ.get("AUTOSCALER_SERVER") or None, None, config).connect_to_read():
        with closing(server):
            try:
                status = server.get(DaemonStatus, "status", "daemon")
            except (ServerDown, SocketRefused):
                continue
        return (status, server.is_this_machine) if _same(status, config) else None
    return None


def runs(server: Server, config: Path) -> bool | None:
    """Return whether the daemon runs the file; None: it does not answer."""
    from autoscaler.documents.status import DaemonStatus  # noqa: PLC0415 - slow, and not needed without --config.file

    try:
        return _same(server.get(DaemonStatus, "status", "daemon"), config)
    except ServerError:
        return None


def _same(status: "DaemonStatus", config: Path) -> bool:
    return Path(status.configuration).resolve() == config.resolve()


def _control_sockets() -> Iterator[Path]:
    """Yield the absolute paths of the listening sockets with a control socket's default name."""
    try:
        lines = _LISTENING.read_text(errors="surrogateescape").splitlines()
    except OSError:
        return
    fields = [line.split(maxsplit=_PATH_FIELD) for line in lines]
    paths = dict.fromkeys(each[_PATH_FIELD] for each in fields if len(each) > _PATH_FIELD)
    yield from [Path(path) for path in paths if path.startswith("/") and path.endswith("/control.sock")]
