"""Starts a worker: its port, its environment, its session, its log."""

import os
import socket
import subprocess
from collections.abc import Collection
from pathlib import Path

from adapters.process.logs import pipe
from adapters.process.procfs import TOKEN_VARIABLE, Identity, identify
from adapters.process.records import Worker
from adapters.process.settings import PORT_MARK, PoolSettings

INHERITED = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TZ", "TMPDIR")
"""All that a worker gets of the daemon's environment, which may hold tokens and systemd's sockets."""


def free_port(ports: range, taken: Collection[int], begin: int) -> int | None:
    """A port that nobody has, searched round the range from its `begin`th; None: there is none.

    Beginning elsewhere each time keeps a new worker from the address of one just gone, whose last samples
    Prometheus still answers with.
    """
    for step in range(len(ports)):
        port = ports[(begin + step) % len(ports)]
        if port not in taken and _can_be_bound(port):
            return port
    return None


def start(worker: Worker, pool: PoolSettings, log: Path) -> Identity:
    """Start it in a session of its own and say who it is. Raises OSError when it cannot be started."""
    command = [_with_port(word, worker.port) for word in pool.command]
    environment = {name: os.environ[name] for name in INHERITED if name in os.environ}
    if worker.port is not None:
        environment["PORT"] = str(worker.port)
    environment |= {name: _with_port(value, worker.port) for name, value in pool.env.items()}
    environment[TOKEN_VARIABLE] = worker.token
    child = subprocess.Popen(  # noqa: S603 - the operator's own command, from the configuration, without a shell
        command,
        cwd=pool.cwd,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=pipe(log),
        stderr=subprocess.STDOUT,
        start_new_session=True,  # it outlives us, and its group can be signalled as a whole
    )
    child.returncode = 0  # tells Popen to let go: it is reaped by its identity, like one found after a restart
    identity = identify(child.pid)
    if identity is None:  # only when somebody ignores SIGCHLD, so that children leave no zombie
        raise ProcessLookupError(f"it ended at once; see {log}")
    return identity


def _with_port(text: str, port: int | None) -> str:
    return text if port is None else text.replace(PORT_MARK, str(port))


def _can_be_bound(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # connections that linger do not matter
        try:
            probe.bind(("", port))
        except OSError:
            return False
    return True
