"""Sockets to an engine that has no host and port: a local socket, or SSH.

For SSH the daemon runs the machine's ssh client as the docker command line does, so its configuration, agent and known
hosts apply.
"""

import os
import socket
import subprocess
import tempfile
from contextlib import AbstractContextManager
from typing import IO, Final

from adapters.docker_swarm.settings import Endpoint, Scheme
from autoscaler.target import TargetForbidden, TargetUnavailable
from autoscaler.target.http import Dial

_SSH_ENDS_WITHIN_SECONDS: Final = 1.0


class Dialer(AbstractContextManager["Dialer"]):
    """Opens sockets to an engine for one adapter call. The ssh clients that it starts end with the call."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._ssh: list[tuple[subprocess.Popen[bytes], IO[bytes]]] = []
        ways: dict[Scheme, Dial] = {Scheme.UNIX: self._connect_unix, Scheme.SSH: self._start_ssh}
        self.dial: Final[Dial | None] = ways.get(endpoint.scheme)
        """Connects. None: the endpoint is a host and a port. Raises TargetError when an operator must act."""

    def __exit__(self, *_: object) -> None:
        for process, errors in self._ssh:
            _end(process)
            errors.close()

    def ssh_errors(self) -> str:
        """Return the error output of the ssh clients so far, for an error message."""
        texts = (os.pread(errors.fileno(), 1000, 0).decode(errors="replace") for _, errors in self._ssh)
        return "; ".join(" ".join(text.split()) for text in texts if text)

    def _connect_unix(self, seconds: float) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.settimeout(seconds)
            connection.connect(self._endpoint.address)
        except OSError as error:
            connection.close()
            if isinstance(error, PermissionError):
                raise TargetForbidden(
                    f"{self._endpoint}: permission denied; add the daemon's user to the socket's group "
                    "(systemd/autoscaler.service.d/docker.conf does it)"
                ) from None
            if isinstance(error, FileNotFoundError):
                raise _missing(self._endpoint, "the socket") from None
            raise
        return connection

    def _start_ssh(self, seconds: float) -> socket.socket:
        endpoint = self._endpoint
        command = ["ssh", "-T", "-o", "BatchMode=yes"]
        command += ["-l", endpoint.user] if endpoint.user else []
        command += ["-p", str(endpoint.port)] if endpoint.port else []
        command += ["--", endpoint.address, "docker", "system", "dial-stdio"]
        errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed by __exit__
        ours, theirs = socket.socketpair()
        ours.settimeout(seconds)
        try:
            process = subprocess.Popen(  # noqa: S603 - no shell, and the address cannot be an option after `--`
                command, stdin=theirs.fileno(), stdout=theirs.fileno(), stderr=errors, start_new_session=True
            )
        except OSError as error:
            ours.close()
            errors.close()
            if isinstance(error, FileNotFoundError):
                raise _missing(endpoint, "the ssh client") from None
            raise
        finally:
            theirs.close()
        self._ssh.append((process, errors))
        return ours


def _missing(endpoint: Endpoint, thing: str) -> TargetUnavailable:
    return TargetUnavailable(f"{endpoint}: {thing} does not exist; is Docker running here, and the address right?")


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(_SSH_ENDS_WITHIN_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
