"""Gets documents from the daemon; if none runs, from the state."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, Self, TypeVar, cast
from urllib.parse import quote

import typer

from autoscaler.cli.options import ELSEWHERE
from autoscaler.cli.server import NotFound, Server, ServerDown, SocketRefused
from autoscaler.errors import AutoscalerError, ServerError
from autoscaler.labels import Selector
from autoscaler.times import rfc3339
from autoscaler.view.status import DaemonStatus, ReloadStatus
from autoscaler.view.summary import AutoscalerList, Summary

if TYPE_CHECKING:  # slow: a command loads the documents that it shows, and without a daemon SQLAlchemy
    from autoscaler.config import Settings
    from autoscaler.document import Document
    from autoscaler.view.reads import Reads

_Document = TypeVar("_Document", bound="Document")
DEFAULT_CONFIG: Final = Path("/etc/autoscaler/autoscaler.yaml")
_DEFAULT_SERVER: Final = "http://127.0.0.1:9797"
_SERVICE_SOCKET: Final = Path("/run/autoscaler/control/control.sock")
_SERVICE_FOLDER: Final = Path("/var/lib/autoscaler")
"""The service's state folder. A shell does not have the service's $STATE_DIRECTORY."""
_PAGE: Final = 2_500
"""Autoscalers in one answer. The daemon would need a hundred MiB for ten thousand."""
_MAX_NAME: Final = 253
"""The API's limit."""


class UnknownName(AutoscalerError):
    """There is no such autoscaler. The message names the nearest one."""


@dataclass(frozen=True, slots=True)
class Where:
    """The options that locate the daemon and, if it does not run, its state."""

    server: str | None
    """--server or $AUTOSCALER_SERVER; None: neither is given."""
    http_config: Path | None
    config: Path | None
    """The daemon's configuration, which names its control socket and its state; None: the service's."""

    def connect(self) -> Server:
        """Return the daemon at the given URL, else at its control socket, before any request.

        Credentials are for TCP; with them the socket is not used. Raises ConfigError, ServerError; typer.BadParameter
        for an invalid URL.
        """
        if self.server is not None:
            return self._at(self.server)
        socket, over_tcp = self._places()
        return self._at(over_tcp if self.http_config is not None else f"unix://{quote(str(socket))}")

    def connect_to_change(self) -> Server:
        """Return the daemon as `connect`, unless it runs another file than the given one. Also raises then."""
        server, config = self.connect(), self.config
        found_by_default = server.socket is not None and self.server is None and not self._names_socket()
        if config is not None and found_by_default and runs(server, config) is False:
            raise ServerError(
                f"no daemon that runs {config} answers, and the one at {server.url} runs another file; start the "
                "daemon, or name the one to change with --server"
            )
        return server

    def order(self, order: Callable[[Server], Sequence[str]]) -> Sequence[str]:
        """Give the daemon an order, and return the problems that it answers. Raises as `connect_to_change`."""
        server = self.connect_to_change()
        try:
            return order(server)
        except ServerDown as down:
            raise ServerError(f"{down}; start it, or {ELSEWHERE}") from None
        finally:
            server.close()

    def _names_socket(self) -> bool:
        from autoscaler.config.control_socket import configured_places  # noqa: PLC0415 - slow

        return self.config is not None and configured_places(self.config)[0] is not None

    def connect_to_read(self) -> Sequence[Server]:
        """Return the daemon at each address that a command that only reads tries, in order. Raises as `connect`."""
        first = self.connect()
        return (first,) if first.socket is None or self.server is not None else (first, self._at(self._places()[1]))

    def _at(self, url: str) -> Server:
        config = None
        if self.http_config is not None:
            from autoscaler.cli.http_config import load_http_config  # noqa: PLC0415 - slow, and rarely needed

            config = load_http_config(self.http_config)
        try:
            return Server(url, config)
        except ValueError as error:
            raise typer.BadParameter(str(error), param_hint="--server") from None

    def _places(self) -> tuple[Path, str]:
        """Return the socket and the address of the given configuration, else the service's."""
        if self.config is None:
            return _SERVICE_SOCKET, _DEFAULT_SERVER
        from autoscaler.cli.find_daemon import socket_of  # noqa: PLC0415 - it imports this module
        from autoscaler.config.control_socket import configured_places, default_socket  # noqa: PLC0415 - slow
        from autoscaler.record.folder import state_folder  # noqa: PLC0415 - slow

        socket, address = configured_places(self.config)
        socket = socket or socket_of(self.config)
        if socket is None:
            by_hand = default_socket(os.environ, state_folder(os.environ))
            # `exists` raises if a folder may not be read
            socket = by_hand if os.access(by_hand, os.F_OK) else _SERVICE_SOCKET
        if address is None:
            return socket, _DEFAULT_SERVER
        return socket, f"http://{'127.0.0.1' if address.startswith(':') else ''}{address}"


class DocumentSource:
    """Gets documents. Every method raises AutoscalerError.

    Once the daemon has not answered, all further documents come from the state.
    """

    def __init__(self, where: Where) -> None:
        """As `Where.connect`."""
        self._where = where
        self._servers = list(where.connect_to_read())
        """The first one is used, and removed if no daemon answers."""
        self._local: Reads | None = None
        self.refused_reload: ReloadStatus | None = None
        """The daemon's last reload, if it was refused, from the last call of `autoscalers` or `named`."""
        self.led = True
        """Whether a daemon leads those that share the state, from the same call."""
        self._closing = ExitStack()
        for each in self._servers:
            self._closing.callback(each.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.close()

    def autoscalers(self, selector: Selector | None = None, containing: str = "") -> Sequence[Summary]:
        """Return all autoscalers, or those whose labels match and whose names contain a text, by name."""
        found: list[Summary] = []
        fits, name = None if selector is None else selector.text, containing[:_MAX_NAME]
        while True:
            page = self.read(
                AutoscalerList, "/autoscalers", offset=len(found), limit=_PAGE, name=name, labelSelector=fits
            )
            self.refused_reload, self.led = page.refused_reload, page.led
            found += page.autoscalers
            if len(found) >= page.total or not page.autoscalers:
                return found

    def named(self, names: Sequence[str]) -> Sequence[Summary]:
        """Return the autoscalers with these names, in their order. Raises UnknownName."""
        alone = names[0] if len(set(names)) == 1 else ""  # one does not need an answer about the whole fleet
        known = {each.name: each for each in self.autoscalers(containing=alone)}
        for name in names:
            if name not in known:
                raise unknown(name, [each.name for each in self.autoscalers()])
        return [known[name] for name in dict.fromkeys(names)]

    @property
    def is_from_state(self) -> bool:
        """Return whether no daemon has answered, so that documents come from the state."""
        return self._local is not None

    def read(
        self, kind: type[_Document], path: str, of: str | None = None, **parameters: str | int | datetime | None
    ) -> _Document:
        """Return the answer of one of the API's operations: from the daemon, else made here from the state.

        `of`: the autoscaler, in place of `{name}` in the path. Raises UnknownName if there is no such one.
        """
        given = {
            key: rfc3339(value) if isinstance(value, datetime) else value
            for key, value in parameters.items()
            if value is not None
        }
        try:
            return self._answer(kind, path, of or "", given)
        except NotFound:
            known = [] if of is None else [each.name for each in self.autoscalers()]
            if of is None or of in known:
                raise
            raise unknown(of, known) from None

    def _answer(self, kind: type[_Document], path: str, of: str, given: Mapping[str, str | int]) -> _Document:
        parts = [of if each == "{name}" else each for each in path.removeprefix("/").split("/")]
        while self._local is None:
            server = self._servers[0]
            try:
                return server.get(kind, *parts, **given)
            except (ServerDown, SocketRefused) as down:
                if len(self._servers) > 1:
                    del self._servers[0]
                    continue
                if isinstance(down, SocketRefused):
                    raise
                if self._where.server is not None and not server.is_this_machine:
                    raise ServerDown(f"{down}; start it there, or {ELSEWHERE}") from None
                self._local = self._open(down)
        from pydantic import ValidationError  # noqa: PLC0415 - see TYPE_CHECKING above

        from autoscaler.view.reads import NoDecision, UnknownAutoscaler  # noqa: PLC0415 - likewise

        try:
            return cast("_Document", self._local.answer(path, of, given))
        except (NoDecision, UnknownAutoscaler) as error:
            raise NotFound(str(error)) from None
        except ValidationError as error:  # such as of a name that none can have
            first = error.errors(include_url=False)[0]
            raise NotFound(f"{first['loc'][0]}: {first['msg']}; correct it") from None

    def _open(self, down: ServerDown) -> "Reads":
        from autoscaler.clock import SystemClock  # noqa: PLC0415 - see TYPE_CHECKING above
        from autoscaler.record import Archive  # noqa: PLC0415 - see TYPE_CHECKING above
        from autoscaler.view.reads import Reads  # noqa: PLC0415

        url, folder, settings = state_place(self._where.config)
        try:
            archive = Archive.open_archive(url, folder)
        except AutoscalerError as error:
            raise ServerDown(f"{down}; if it runs, {ELSEWHERE}. Its state cannot be read either: {error}") from None
        self._closing.enter_context(archive)
        place = "its database" if url is not None else folder
        typer.echo(f"{down}; the following is from its state in {place}. If it runs, {ELSEWHERE}", err=True)
        return Reads(archive, lambda: settings, SystemClock())


def runs(server: Server, config: Path) -> DaemonStatus | Literal[False] | None:
    """Return the status of a daemon that runs the file; False: it runs another one; None: it does not answer."""
    try:
        status = server.get(DaemonStatus, "status", "daemon")
    except ServerError:
        return None
    return Path(status.configuration).resolve() == config.resolve() and status


def state_place(config: Path | None) -> "tuple[str | None, Path, Settings | None]":
    """Return `state.url`, the state folder that is used without it, and the configuration.

    The configuration is None if no file is named and the default one does not exist. Raises ConfigError, and
    StateError as `daemons_folder`.
    """
    from autoscaler.record.folder import state_folder  # noqa: PLC0415 - see TYPE_CHECKING above

    settings = _settings(config)
    url = None if settings is None else settings.state.url
    return url, state_folder(os.environ) if url is not None else daemons_folder(), settings


def daemons_folder(service: Path | None = None) -> Path:
    """Return the state folder of this machine's daemon. Raises StateError if there are two."""
    from autoscaler.record import folder  # noqa: PLC0415 - see TYPE_CHECKING above

    return folder.daemons_folder(os.environ, service or _SERVICE_FOLDER)


def running_config(config: Path | None, candidate: Path) -> Path:
    """Return the running configuration: the named file, else the default one, else the candidate."""
    return config or (DEFAULT_CONFIG if DEFAULT_CONFIG.exists() else candidate)


def _settings(path: Path | None) -> "Settings | None":
    from autoscaler.config import load  # noqa: PLC0415 - slow, and only needed without a daemon

    if path is None and not DEFAULT_CONFIG.exists():
        return None
    return load(path or DEFAULT_CONFIG)


def unknown(name: str, known: Iterable[str]) -> UnknownName:
    """Return the error for a name that is not among `known`. It suggests the nearest name."""
    return UnknownName(f"there is no autoscaler {name[:64]!r}; {nearest(name, known, '`autoscaler get` lists them')}")


def nearest(name: str, known: Iterable[str], otherwise: str) -> str:
    """Return the remedy for a name that is not among `known`. `otherwise`: the remedy if none is near."""
    near = get_close_matches(name, sorted(known), n=1)
    return f"did you mean {near[0]}?" if near else otherwise
