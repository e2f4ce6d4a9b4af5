"""The server: uvicorn on a thread of its own inside the daemon; `connections` accepts its clients.

It answers on a TCP address and, where it is given one, on the control socket.
"""

import asyncio
import errno
import logging
import re
import socket
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, wait
from dataclasses import replace
from pathlib import Path
from typing import Final, NoReturn

import uvicorn
from starlette.routing import BaseRoute
from starlette.types import ASGIApp

from autoscaler.config.settings import WebSettings
from autoscaler.errors import ConfigError, ListenError, Problem, named
from autoscaler.logger import Logger
from autoscaler.web.app import application
from autoscaler.web.connections import BACKLOG, Connections, Limits
from autoscaler.web.control import MOST_CONNECTIONS, ControlGuard, ControlSocket
from autoscaler.web.descriptors import most_connections
from autoscaler.web.guard import Guard
from autoscaler.web.refusals import Refusals
from autoscaler.web.sources import Sources
from autoscaler.web.webconfig import WebConfig

_START_SECONDS: Final = 10.0
_STOP_SECONDS: Final = 1
"""That what is being answered may still take."""
_FOLLOW_SECONDS: Final = 10.0
_UNSENT_BYTES: Final = 128 * 1024
"""Of an answer, that the kernel keeps for a client that is slow to take it. Linux doubles it."""


class WebServer:
    """One server. `start` and `stop` are called once each, `follow` in between; all from one thread."""

    def __init__(
        self,
        sources: Sources,
        listen: str,
        config: WebConfig | None,
        logger: Logger,
        pages: Sequence[BaseRoute] = (),
        control: Path | None = None,
        limits: Limits | None = None,
    ) -> None:
        """Takes the address and the control socket's path, and answers nothing yet. Raises ListenError.

        `listen`: HOST:PORT; port 0 finds a free one. `config`: of --web.config.file. `pages`: further routes.
        `control`: the control socket's path; None: there is none. `limits`: of clients over TCP; None: the usual ones.
        """
        self._logger = logger
        self._config = config
        self._socket = _listen(listen)
        try:
            self._control = None if control is None else ControlSocket(control)
        except ListenError:
            self._socket.close()
            raise
        host, port = self._socket.getsockname()[:2]
        scheme = "http" if config is None or config.tls is None else "https"
        self.url = f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"
        """Where it listens; with port 0, the port that was found."""
        app = application(sources, logger, with_users=config is not None and bool(config.users), pages=pages)
        clock, host = sources.clock, listen.rpartition(":")[0].strip("[]")
        self._guard = Guard(app, config, sources.settings().web, clock, host, logger)
        settings = _settings(self._guard)
        logging.getLogger("uvicorn").setLevel(logging.ERROR)  # a client that sends no HTTP must not fill our log
        self._context = None if config is None or config.tls is None else config.tls.context()
        limits, refusals = limits or Limits(most_connections()), Refusals("connection_flood", clock, logger)
        self._connections = [Connections(self._socket, limits, self._context, settings, refusals)]
        if self._control is not None:
            of_control = _settings(ControlGuard(app, self._control))
            limits = replace(limits, connections=MOST_CONNECTIONS)
            self._connections.append(Connections(self._control.listening, limits, None, of_control, refusals))
        self._server = uvicorn.Server(settings)
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="web", daemon=True)

    def start(self) -> None:
        """Answer from now on. Raises ListenError when the server does not come up."""
        self._thread.start()
        until = time.monotonic() + _START_SECONDS
        while not self._server.started:
            if not self._thread.is_alive() or time.monotonic() > until:
                cause = "it does not come up" if self._failure is None else named(self._failure)
                raise ListenError(f"the HTTP server at {self.url} failed: {cause}; please report it")
            time.sleep(0.01)
        control = None if self._control is None else str(self._control.path)
        self._logger.info("listening", url=self.url, control_socket=control)

    def stop(self) -> None:
        """Finish what is being answered, for a short while, and let go of the address."""
        logging.getLogger("uvicorn").setLevel(logging.CRITICAL)  # an answer that is given up now is no error
        self._server.should_exit = True
        if self._thread.is_alive():
            self._thread.join(_STOP_SECONDS + 3)
        self._socket.close()
        if self._control is not None:
            self._control.close()

    def follow(self, config: WebConfig | None, web: WebSettings, seconds: float = _FOLLOW_SECONDS) -> None:
        """Follow other configurations: users, headers, limits, operators, and what the certificate's files hold now.

        Raises ConfigError for what needs a restart, and when it is not begun within so many seconds; then nothing has
        changed.
        """
        before = self._config or WebConfig(Path())
        now = config or before
        if now.tls != before.tls or bool(now.users) != bool(before.users):
            changed = "tls_server_config changed, or the first user was added or the last one removed"
            self._refuse(now, f"{changed}, which a reload cannot follow; restart the daemon, or change it back")
        following = Future[None]()
        self._loop.call_soon_threadsafe(self._follow, following, config, web)
        wait([following], seconds)
        if following.cancel():
            self._refuse(now, f"the HTTP server did not follow it within {seconds:g} s; reload again")
        try:
            following.result()
        except OSError as error:
            self._refuse(now, f"the certificates cannot be loaded: {error.strerror}; check the files")
        self._config = config

    def _refuse(self, config: WebConfig, message: str) -> NoReturn:
        raise ConfigError([Problem(str(config.path), 1, 1, "", message)]) from None

    def _follow(self, following: Future[None], config: WebConfig | None, web: WebSettings) -> None:
        """On the server's own thread, between two handshakes."""
        if not following.set_running_or_notify_cancel():
            return  # the caller has given up
        try:
            if self._context is not None and config is not None and config.tls is not None:
                config.tls.load_into(self._context)
            self._guard.follow(config, web)
        except Exception as error:  # noqa: BLE001 - the caller's
            following.set_exception(error)
        else:
            following.set_result(None)

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:  # noqa: BLE001 - reported by `start`, or logged
            self._failure = error
            if self._server.started:
                self._logger.error("web_failed", error=named(error))  # noqa: TRY400 - see `named`

    async def _serve(self) -> None:
        """Until `stop`. Connections that are left then are cancelled by asyncio.run."""
        self._loop = asyncio.get_running_loop()
        async with asyncio.TaskGroup() as group:
            accepting = [group.create_task(each.accept(self._server.server_state)) for each in self._connections]
            await self._server.serve(sockets=[])
            for each in accepting:
                each.cancel()


def _settings(app: ASGIApp) -> uvicorn.Config:
    settings = uvicorn.Config(
        app,
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=_STOP_SECONDS,
    )
    settings.load()
    return settings


def _listen(address: str) -> socket.socket:
    match = re.fullmatch(r"(?:\[([0-9A-Fa-f:.%\w]+)\]|([A-Za-z0-9._-]*)):([0-9]{1,5})", address)
    if match is None or int(match[3]) > 65535:
        raise ListenError(f"{address[:100]!r} is not a valid listen address; expected HOST:PORT, as in 127.0.0.1:9797")
    host, port = match[1] or match[2], int(match[3])
    try:
        found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        family, _, _, _, place = found
        listening = socket.create_server(place[:2], family=family, backlog=BACKLOG)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            cause = "is in use by another process; stop that one, or listen elsewhere (--web.listen-address)"
        else:
            cause = f"cannot be listened on: {error.strerror or error}; correct --web.listen-address"
        raise ListenError(f"the address {address} {cause}") from None
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # what is accepted inherits it: no 40 ms waits
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _UNSENT_BYTES)
    return listening
