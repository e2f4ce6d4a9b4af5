"""Sockets to an engine that are all closed at the deadline, however slowly their bytes trickle.

A timeout in `requests` limits each wait for bytes, not their sum; here a timer ends the sum. SSH is the ssh client of
the machine, run as the docker command line runs it, so that its configuration, agent and known hosts apply.
"""

import os
import socket
import subprocess
import tempfile
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import IO, Any, Final, Self

import requests.adapters
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection

from adapters.docker_swarm.settings import Endpoint, Transport
from autoscaler.target import TargetError, TargetForbidden, TargetUnavailable

_SSH_ENDS_WITHIN_SECONDS: Final = 1.0


class Line(AbstractContextManager["Line"]):
    """The connections of one adapter call."""

    def __init__(self, endpoint: Endpoint, left: Callable[[], float]) -> None:
        self._endpoint = endpoint
        self.left: Final = left
        """Seconds to the deadline; negative when it has passed."""
        self._guards: list[socket.socket] = []  # copies: TLS takes the socket itself away
        self._ssh: list[tuple[subprocess.Popen[bytes], IO[bytes]]] = []
        self._timer = threading.Timer(max(left(), 0), self._cut)
        self._timer.daemon = True
        self.adapter: Final[requests.adapters.HTTPAdapter] = _LineAdapter(_pool(endpoint, self._dial))
        """A transport for a requests session, to be mounted on the engine's URL."""

    def __enter__(self) -> Self:
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        self.adapter.close()
        for guard in self._guards:
            guard.close()
        for process, errors in self._ssh:
            _end(process)
            errors.close()

    def said(self) -> str:
        """What the ssh client said on its error output so far, for the message of a failure."""
        texts = (os.pread(errors.fileno(), 1000, 0).decode(errors="replace") for _, errors in self._ssh)
        return "; ".join(" ".join(text.split()) for text in texts if text)

    def _cut(self) -> None:
        for guard in tuple(self._guards):
            try:
                guard.shutdown(socket.SHUT_RDWR)
            except OSError:  # closed or never connected: there is nothing to cut
                continue

    def _dial(self) -> socket.socket:
        """A connected socket. Raises TargetError: urllib3 lets it pass as it is."""
        try:
            connection = self._connect()
        except TimeoutError:
            raise TargetUnavailable(f"{self._endpoint} could not be reached within the cycle's deadline") from None
        except OSError as error:
            raise _unreachable(self._endpoint, error) from error
        self._guards.append(connection.dup())
        if self.left() <= 0:  # the timer may have gone off before this socket was known to it
            self._cut()
        return connection

    def _connect(self) -> socket.socket:
        match self._endpoint.transport:
            case Transport.UNIX:
                return self._try_connect(socket.socket(socket.AF_UNIX), self._endpoint.address)
            case Transport.TCP:
                return self._connect_tcp()
            case Transport.SSH:
                return self._start_ssh()

    def _connect_tcp(self) -> socket.socket:
        failure: OSError = OSError("the name has no address")
        found = socket.getaddrinfo(self._endpoint.address, self._endpoint.port, type=socket.SOCK_STREAM)
        for family, kind, protocol, _, address in found:
            try:
                return self._try_connect(socket.socket(family, kind, protocol), address)
            except OSError as error:
                failure = error
        raise failure

    def _try_connect(self, connection: socket.socket, address: Any) -> socket.socket:
        try:
            connection.settimeout(self._remaining())
            connection.connect(address)
        except OSError:
            connection.close()
            raise
        return connection

    def _start_ssh(self) -> socket.socket:
        endpoint, left = self._endpoint, self._remaining()
        command = ["ssh", "-T", "-o", "BatchMode=yes"]
        command += ["-l", endpoint.user] if endpoint.user else []
        command += ["-p", str(endpoint.port)] if endpoint.port else []
        command += ["--", endpoint.address, "docker", "system", "dial-stdio"]
        errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed by __exit__
        ours, theirs = socket.socketpair()
        ours.settimeout(left)
        try:
            process = subprocess.Popen(  # noqa: S603 - no shell, and the address cannot be an option after `--`
                command, stdin=theirs.fileno(), stdout=theirs.fileno(), stderr=errors, start_new_session=True
            )
        except OSError:
            ours.close()
            errors.close()
            raise
        finally:
            theirs.close()
        self._ssh.append((process, errors))
        return ours

    def _remaining(self) -> float:
        left = self.left()
        if left <= 0:
            raise TimeoutError
        return left


class _LineAdapter(requests.adapters.HTTPAdapter):
    """Sends every request through one pool, whatever its host: an engine is behind one address."""

    def __init__(self, pool: HTTPConnectionPool) -> None:
        super().__init__()
        self._pool = pool

    def get_connection_with_tls_context(self, *_: Any, **__: Any) -> HTTPConnectionPool:
        """The pool; proxies are not for engines."""
        return self._pool

    def request_url(self, request: requests.PreparedRequest, proxies: Any) -> str:  # noqa: ARG002 - requests' signature
        """The path alone."""
        return request.path_url

    def close(self) -> None:
        """Close idle connections."""
        self._pool.close()
        super().close()


def _pool(endpoint: Endpoint, dial: Callable[[], socket.socket]) -> HTTPConnectionPool:
    class Plain(HTTPConnection):
        def _new_conn(self) -> socket.socket:
            return dial()

    class Encrypted(HTTPSConnection):
        def _new_conn(self) -> socket.socket:
            return dial()

    host = endpoint.address if endpoint.transport is Transport.TCP else "docker"
    pool = (HTTPConnectionPool if endpoint.tls is None else HTTPSConnectionPool)(host, endpoint.port)
    pool.ConnectionCls = Plain if endpoint.tls is None else Encrypted
    return pool


def _unreachable(endpoint: Endpoint, error: OSError) -> TargetError:
    if isinstance(error, PermissionError) and endpoint.transport is Transport.UNIX:
        return TargetForbidden(
            f"{endpoint}: permission denied; let the daemon's user into the socket's group "
            "(systemd/autoscaler.service.d/docker.conf does it)"
        )
    if isinstance(error, FileNotFoundError):
        missing = "the socket" if endpoint.transport is Transport.UNIX else "the ssh client"
        return TargetUnavailable(f"{endpoint}: {missing} does not exist; is Docker running here, and `host` right?")
    return TargetUnavailable(f"{endpoint} cannot be reached: {error.strerror or error}")


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(_SSH_ENDS_WITHIN_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
