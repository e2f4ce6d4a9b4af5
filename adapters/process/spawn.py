"""Starts a worker with its port, environment, session and log."""

import os
import socket
import subprocess
from collections.abc import Collection
from pathlib import Path

from adapters.process.logs import open_log
from adapters.process.procfs import TOKEN_VARIABLE, Identity, identify
from adapters.process.records import Worker
from adapters.process.settings import PORT_MARK, PoolSettings
from autoscaler.target import programs


def free_port(ports: range, taken: Collection[int], begin: int) -> int | None:
    """Return a free port, searched from the range's `begin`th one; None: no port is free.

    A different beginning each time avoids the address of a worker that has just ended, whose last samples Prometheus
    still returns.
    """
    for step in range(len(ports)):
        port = ports[(begin + step) % len(ports)]
        if port not in taken and _can_be_bound(port):
            return port
    return None


def start(worker: Worker, pool: PoolSettings, log: Path) -> Identity:
    """Start the worker in its own session and return its identity. Raises OSError when it cannot be started."""
    command = [_with_port(word, worker.port) for word in pool.command]
    environment = programs.inherited()
    if worker.port is not None:
        environment["PORT"] = str(worker.port)
    environment |= {name: _with_port(value, worker.port) for name, value in pool.env.items()}
    environment[TOKEN_VARIABLE] = worker.token
    with os.fdopen(open_log(log), "ab", buffering=0) as output:
        child = subprocess.Popen(  # noqa: S603 - the operator's command, without a shell
            command,
            cwd=pool.cwd,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # it outlives the daemon, and its group can be signalled
        )
    child.returncode = 0  # makes Popen release it: it is reaped by its identity, like one found after a restart
    identity = identify(child.pid)
    if identity is None:  # only when SIGCHLD is ignored, so that children leave no zombie
        raise ProcessLookupError(f"it ended at once; see {log}")
    return identity


def _with_port(text: str, port: int | None) -> str:
    return text if port is None else text.replace(PORT_MARK, str(port))


def _can_be_bound(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # lingering connections do not matter
        try:
            probe.bind(("", port))
        except OSError:
            return False
    return True
