"""The server: uvicorn on its own thread of the daemon.

It listens on a TCP address and, if configured, on the control socket.
"""

import asyncio
import errno
import logging
import re
import socket
import ssl
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, wait
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final, NoReturn

import uvicorn
from starlette.routing import BaseRoute
from starlette.types import ASGIApp

from autoscaler.config.settings import WebSettings
from autoscaler.errors import ConfigError, ListenError, Problem, named
from autoscaler.logger import Logger
from autoscaler.threads import spawn
from autoscaler.web.app import application
from autoscaler.web.connection import Connection, Limits
from autoscaler.web.control import BACKLOG, MAX_CONNECTIONS, ControlSocket
from autoscaler.web.descriptors import most_connections
from autoscaler.web.guard import Guard
from autoscaler.web.sources import Sources
from autoscaler.web.webconfig import WebConfig

_START_SECONDS: Final = 10.0
_AT_A_TIME: Final = 16
"""Clients that asyncio accepts before it serves the others. They exceed the limit of connections for a moment."""
_STOP_SECONDS: Final = 1
"""Seconds that answers in progress get at a stop."""
_FOLLOW_SECONDS: Final = 10.0
_UNSENT_BYTES: Final = 128 * 1024
"""Bytes of an answer that the kernel buffers for a slow client. Linux doubles it."""


class WebServer:
    """One server. One thread calls `start`, `follow` and `stop`; `start` and `stop` once each."""

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
        """Binds the address and the control socket without answering yet. Raises ListenError.

        `listen`: HOST:PORT; port 0 finds a free port. `config`: of --web.config.file. `pages`: more routes. `control`:
        the control socket's path, or None. `limits`: of TCP clients; None: the defaults.
        """
        self._logger = logger
        self._config = config = config or WebConfig()
        self._socket = _listen(listen)
        try:
            self._control = None if control is None else ControlSocket(control)
        except ListenError:
            self._socket.close()
            raise
        host, port = self._socket.getsockname()[:2]
        scheme = "http" if config.tls is None else "https"
        self.url = f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"
        """The server's URL; with port 0, with the port found."""
        self.app = app = application(sources, logger, with_users=bool(config.users), pages=pages)
        host = listen.rpartition(":")[0].strip("[]")
        self._guard = Guard(app, config, sources.settings().web, host, sources.operators_of, self._control)
        logging.getLogger("uvicorn").setLevel(logging.ERROR)  # a client that does not speak HTTP must not fill the log
        self._context = None if config.tls is None else config.tls.context()
        self._limits = limits or Limits(most_connections())
        untaken_ms = int(self._limits.untaken_seconds * 1000)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, untaken_ms)  # accepted sockets inherit it
        self._server = uvicorn.Server(_settings(self._guard))
        self._failure: BaseException | None = None
        self._thread: Future[None] | None = None

    def start(self) -> None:
        """Start to answer. Raises ListenError when the server fails to start, and NoThread."""
        self._thread = spawn("web", self._run)
        until = time.monotonic() + _START_SECONDS
        while not self._server.started:
            if self._thread.done() or time.monotonic() > until:
                cause = "it does not come up" if self._failure is None else named(self._failure)
                raise ListenError(f"the HTTP server at {self.url} failed: {cause}; please report it")
            time.sleep(0.01)
        control = None if self._control is None else str(self._control.path)
        self._logger.info("listening", url=self.url, control_socket=control)

    def stop(self) -> None:
        """Finish answers in progress for a short while, then release the address."""
        logging.getLogger("uvicorn").setLevel(logging.CRITICAL)  # an answer that is dropped now is not an error
        self._server.should_exit = True
        if self._thread is not None:
            wait([self._thread], _STOP_SECONDS + 3)
        self._socket.close()
        if self._control is not None:
            self._control.close()

    def follow(self, config: WebConfig | None, web: WebSettings, seconds: float = _FOLLOW_SECONDS) -> None:
        """Take up new configurations: users, headers, limits, operators and the certificate's files.

        Raises ConfigError when a change needs a restart, and when it does not start within `seconds`; nothing is then
        changed.
        """
        before, now = self._config, config or self._config
        if now.tls != before.tls or bool(now.users) != bool(before.users):
            changed = "tls_server_config changed, or the first user was added or the last one removed"
            self._refuse(now, f"{changed}, which a reload cannot follow; restart the daemon, or change it back")
        following = Future[None]()
        self._loop.call_soon_threadsafe(self._follow, following, now, web)
        wait([following], seconds)
        if following.cancel():
            self._refuse(now, f"the HTTP server did not follow it within {seconds:g} s; reload again")
        try:
            following.result()
        except OSError as error:
            self._refuse(now, f"the certificates cannot be loaded: {error.strerror}; check the files")
        self._config = now

    def _refuse(self, config: WebConfig, message: str) -> NoReturn:
        raise ConfigError([Problem(str(config.path), 1, 1, "", message)]) from None

    def _follow(self, following: Future[None], config: WebConfig, web: WebSettings) -> None:
        """Run on the server's own thread, between two handshakes."""
        if not following.set_running_or_notify_cancel():
            return  # the caller has given up
        try:
            if self._context is not None and config.tls is not None:
                config.tls.load_into(self._context)
            self._guard.follow(config, web)
        except Exception as error:  # noqa: BLE001 - the caller raises it
            following.set_exception(error)
        else:
            following.set_result(None)

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:  # noqa: BLE001 - `start` reports it, or the log
            self._failure = error
            if self._server.started:
                self._logger.error("web_failed", error=named(error))  # noqa: TRY400 - see `named`

    async def _serve(self) -> None:
        """Serve until `stop`, then abort the connections that remain: one of TLS would wait for its client."""
        self._loop = asyncio.get_running_loop()
        self._loop.set_exception_handler(self._report)
        opened = [await self._listen_on(self._socket, self._limits, self._context)]
        if self._control is not None:
            limits = replace(self._limits, connections=MAX_CONNECTIONS)
            opened.append(await self._listen_on(self._control.listening, limits, None))
        await self._server.serve(sockets=[])
        if tasks := self._server.server_state.tasks:
            await asyncio.wait(tasks, timeout=_STOP_SECONDS)  # uvicorn has cancelled them; they say so to their clients
        for connection in [connection for of_socket in opened for connection in of_socket]:
            connection.transport.abort()

    async def _listen_on(
        self, listening: socket.socket, limits: Limits, tls: ssl.SSLContext | None
    ) -> Iterable[Connection]:
        """Accept clients from now on. Returns the open connections of the socket."""
        opened: dict[Connection, None] = {}
        connect = partial(Connection, self._server.config, self._server.server_state, limits, opened)
        seconds = None if tls is None else limits.handshake_seconds
        await self._loop.create_server(
            connect, sock=listening, backlog=_AT_A_TIME, ssl=tls, ssl_handshake_timeout=seconds
        )
        listening.listen(BACKLOG)
        return opened

    def _report(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Log an error that no handler took. Without a file descriptor, asyncio accepts again after a second."""
        cause = context.get("exception")
        self._logger.warning("web_error", error=context["message"], cause=None if cause is None else named(cause))


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


def require_free(address: str) -> None:
    """Raise ListenError if nothing can listen there now."""
    _listen(address).close()


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
    # Accepted sockets inherit both. Without the second, a body waits until the client has acknowledged the headers.
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _UNSENT_BYTES)
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening
