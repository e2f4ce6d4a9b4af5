"""The server: uvicorn on a thread of its own inside the daemon."""

import asyncio
import errno
import logging
import re
import socket
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import uvicorn
from starlette.routing import BaseRoute

from autoscaler.errors import AutoscalerError, ConfigError, named
from autoscaler.logger import Logger
from autoscaler.web.app import application
from autoscaler.web.guard import Guard
from autoscaler.web.sources import Sources
from autoscaler.web.webconfig import WebConfig, load_web_config

_START_SECONDS: Final = 10.0
_STOP_SECONDS: Final = 1
"""That what is being answered may still take."""
_GOODBYE_SECONDS: Final = 0.05
"""For connections that are being closed: TLS takes a few more turns of the loop to say so."""
_MOST_CONNECTIONS: Final = 512


class ListenError(AutoscalerError):
    """The address cannot be listened on: the daemon does not start without it."""


class WebServer:
    """One server. `start` and `stop` are called once each, `reload` in between; all from one thread."""

    def __init__(
        self,
        sources: Sources,
        listen: str,
        config: WebConfig | None,
        logger: Logger,
        pages: Sequence[BaseRoute] = (),
    ) -> None:
        """Takes the address, and answers nobody yet. Raises ListenError."""
        self._logger = logger
        self._config = config
        self._socket = _listen(listen)
        host, port = self._socket.getsockname()[:2]
        scheme = "http" if config is None or config.tls is None else "https"
        self.url = f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"
        """Where it listens; with port 0, the port that was found."""
        app = application(sources, logger, with_users=config is not None and bool(config.users), pages=pages)
        self._guard = Guard(app, config, sources.clock, listen.rpartition(":")[0].strip("[]"))
        settings = uvicorn.Config(
            self._guard,
            loop="asyncio",
            http="h11",
            ws="none",
            lifespan="off",
            interface="asgi3",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            limit_concurrency=_MOST_CONNECTIONS,
            timeout_graceful_shutdown=_STOP_SECONDS,
        )
        settings.load()
        logging.getLogger("uvicorn").setLevel(logging.ERROR)  # whoever sends no HTTP must not fill our log
        self._context = None if config is None or config.tls is None else config.tls.context()
        settings.ssl = self._context
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
        self._logger.info("listening", url=self.url)

    def stop(self) -> None:
        """Finish what is being answered, for a short while, and let go of the address."""
        self._server.should_exit = True
        if self._thread.is_alive():
            self._thread.join(_STOP_SECONDS + 2)
        self._socket.close()

    def reload(self) -> Sequence[str]:
        """Follow the web configuration's file: its users, and what stands in its certificate's files.

        Returns what is wrong with it; then nothing has changed. Other changes of TLS are refused: they need a restart.
        """
        if self._config is None:
            return ()
        try:
            config = load_web_config(self._config.path)
        except ConfigError as error:
            return [str(problem) for problem in error.problems]
        if config.tls != self._config.tls or bool(config.users) != bool(self._config.users):
            changed = "tls_server_config changed, or the first user was added or the last one removed"
            return [f"{config.path}: {changed}, which a reload cannot follow; restart the daemon, or change it back"]
        try:
            asyncio.run_coroutine_threadsafe(self._follow(config), self._loop).result(_START_SECONDS)
        except OSError as error:
            return [f"{config.path}: the certificates cannot be loaded: {error.strerror}; check the files"]
        self._config = config
        return ()

    async def _follow(self, config: WebConfig) -> None:
        """On the server's own thread, between two handshakes."""
        if self._context is not None and config.tls is not None:
            config.tls.load_into(self._context)
        self._guard.follow(config)

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        await self._server.serve(sockets=[self._socket])
        for connection in self._server.server_state.connections:  # TLS clients that do not answer our goodbye
            connection.transport.abort()
        await asyncio.sleep(_GOODBYE_SECONDS)

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:  # noqa: BLE001 - reported by `start`, or logged
            self._failure = error
            if self._server.started:
                self._logger.error("web_failed", error=named(error))  # noqa: TRY400 - see `named`


def serve(
    sources: Sources,
    listen: str,
    web_config: Path | None,
    logger: Logger,
    pages: Sequence[BaseRoute] = (),
) -> WebServer:
    """A server that holds its address and awaits `start`.

    `listen`: HOST:PORT; port 0 finds a free one. `web_config`: --web.config.file. `pages`: further routes.
    Raises ListenError, and ConfigError for the web configuration.
    """
    return WebServer(sources, listen, None if web_config is None else load_web_config(web_config), logger, pages)


def _listen(address: str) -> socket.socket:
    match = re.fullmatch(r"(?:\[([0-9A-Fa-f:.%\w]+)\]|([A-Za-z0-9._-]*)):([0-9]{1,5})", address)
    if match is None or int(match[3]) > 65535:
        raise ListenError(f"{address[:100]!r} is not a valid listen address; expected HOST:PORT, as in 127.0.0.1:9797")
    host, port = match[1] or match[2], int(match[3])
    try:
        found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        family, _, _, _, place = found
        listening = socket.create_server(place[:2], family=family, backlog=128)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            cause = "is in use by another process; stop that one, or listen elsewhere (--web.listen-address)"
        else:
            cause = f"cannot be listened on: {error.strerror or error}; correct --web.listen-address"
        raise ListenError(f"the address {address} {cause}") from None
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # what is accepted inherits it: no 40 ms waits
    return listening
