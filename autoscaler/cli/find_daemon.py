"""Finds the daemon and its state, for every command alike.

The daemon: --server, $AUTOSCALER_SERVER, the daemon that runs the file of --config.file, the service, then the default
address. A daemon's environment may tell where its socket is, and a shell has another environment; so the one that runs
a file is looked for among the sockets of this machine.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

import typer

from autoscaler import service
from autoscaler.cli.options import Where
from autoscaler.cli.server import Refused, Server
from autoscaler.errors import AutoscalerError, ServerError

if TYPE_CHECKING:  # slow: a command loads the documents that it shows, and without a daemon SQLAlchemy
    from autoscaler.config.settings import Settings
    from autoscaler.view.status import DaemonStatus

_DEFAULT_SERVER: Final = "http://127.0.0.1:9797"
_LOOK_SECONDS: Final = 2.0
"""The time for a daemon to say which file it runs: one that hangs must not cost the operator of another."""
_LISTENING: Final = Path("/proc/net/unix")
"""Lists the Unix sockets of this network namespace. Source: proc(5)."""
_PATH_FIELD: Final = 7
"""Where a socket's path is in its line, counted from 0."""


def servers(where: Where) -> Sequence[Server]:
    """Return the daemon at each address to try, in order; the only one is that of --server.

    With --config.file, one that runs another file is left out, unless the file names its address. Credentials are for
    TCP; with them no socket is tried. Raises ConfigError, ServerError; typer.BadParameter for an invalid URL.
    """
    if where.server is not None:
        return [_at(where.server, where)]
    running, refusing = [], []
    for url, sure in _places(where):
        server = _at(url, where)
        try:
            if sure or (where.config_file is not None and runs(server, where.config_file)):
                running.append(server)
        except Refused:  # the command's own request shows why; another user's socket is not the wanted one
            refusing += [server] if server.socket in (None, service.CONTROL_SOCKET) else []
        except ServerError:  # it may be another user's daemon, and must not be steered
            pass
    return running + refusing


def runs(server: Server, config: Path) -> "DaemonStatus | None":
    """Return the status of a daemon that runs the file; None: it runs another one. Raises ServerError."""
    from autoscaler.view.status import DaemonStatus  # noqa: PLC0415 - see TYPE_CHECKING above

    status = server.get(DaemonStatus, "/status/daemon", within=_LOOK_SECONDS)
    return status if Path(status.configuration).resolve() == config.resolve() else None


def status_of(config: Path) -> "DaemonStatus | None":
    """Return the status of this machine's daemon that runs the file; None: none answers. Raises as `servers`."""
    for server in servers(Where(os.environ.get("AUTOSCALER_SERVER") or None, None, config)):
        with suppress(ServerError):
            if server.is_this_machine and (status := runs(server, config)) is not None:
                return status
    return None


def configuration(path: Path | None) -> "Settings":
    """Return the named configuration; None: the default one. Raises ConfigError, AutoscalerError."""
    from autoscaler.config.loader import load  # noqa: PLC0415 - slow, and only needed without a daemon

    if path is None and not service.has_configuration():
        raise AutoscalerError(f"there is no {service.CONFIG}; name the configuration with --config.file")
    return load(path or service.CONFIG)


def state_place(config: Path | None) -> "tuple[str | None, Path, Settings | None]":
    """Return `state.url`, the state folder that is used without it, and the configuration.

    The configuration is None if no file is named and the default one does not exist. Raises ConfigError, and
    StateError as `daemons_folder`.
    """
    from autoscaler.record.folder import state_folder  # noqa: PLC0415 - slow

    settings = configuration(config) if config is not None or service.has_configuration() else None
    url = None if settings is None else settings.state.url
    return url, state_folder(os.environ) if url is not None else daemons_folder(), settings


def daemons_folder() -> Path:
    """Return the state folder of this machine's daemon. Raises StateError if there are two."""
    from autoscaler.record import folder  # noqa: PLC0415 - slow

    return folder.daemons_folder(os.environ, service.STATE_FOLDER)


def _places(where: Where) -> Iterator[tuple[str, bool]]:
    """Yield each address, and whether the daemon there is certainly the wanted one."""
    socket, address = None, None
    if where.config_file is not None:
        from autoscaler.config.control_socket import configured_places  # noqa: PLC0415 - slow

        socket, address = configured_places(where.config_file)
    any_file = where.config_file is None
    guessed = [service.CONTROL_SOCKET] if any_file else [*_control_sockets(), service.CONTROL_SOCKET]
    if where.http_config_file is None:
        for each in guessed if socket is None else [socket]:
            yield f"unix://{quote(str(each))}", any_file or socket is not None
    yield _DEFAULT_SERVER if address is None else f"http://{address}", any_file or address is not None


def _control_sockets() -> Iterator[Path]:
    """Yield the absolute paths of the listening sockets with a control socket's default name."""
    try:
        lines = _LISTENING.read_text(errors="surrogateescape").splitlines()
    except OSError:
        return
    fields = [line.split(maxsplit=_PATH_FIELD) for line in lines]
    paths = dict.fromkeys(each[_PATH_FIELD] for each in fields if len(each) > _PATH_FIELD)
    yield from [Path(path) for path in paths if path.startswith("/") and path.endswith("/control.sock")]


def _at(url: str, where: Where) -> Server:
    config = None
    if where.http_config_file is not None:
        from autoscaler.cli.http_config import load_http_config  # noqa: PLC0415 - slow, and rarely needed

        config = load_http_config(where.http_config_file)
    try:
        return Server(url, config)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--server") from None
