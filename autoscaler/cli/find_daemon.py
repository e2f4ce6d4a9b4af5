"""Finds out whether a daemon runs a configuration."""

import os
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from autoscaler.cli.server import Server, ServerDown, SocketRefused
from autoscaler.errors import ServerError

if TYPE_CHECKING:  # slow
    from autoscaler.documents.status import DaemonStatus


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
