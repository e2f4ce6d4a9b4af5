"""Copies of a process that has imported the program: a start takes a tenth of the time of a new interpreter.

Each is a process of its own, with its own signals, streams and environment. What a new interpreter does is left to
tests/test_start.py, tests/e2e/test_wheel.py and tests/systemd.
"""

import atexit
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

_CONTEXT: Final = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["tests.daemon.preloaded"])


class Copy:
    """A running `autoscaler`, with the methods of subprocess.Popen that tests use."""

    def __init__(
        self,
        arguments: Sequence[str],
        env: Mapping[str, str],
        stdout: Path,
        stderr: Path,
        umask: int = -1,
        hostname: str | None = None,
    ) -> None:
        """`umask`: -1 keeps that of this process. `hostname`: what it takes for its host's name."""
        of_child = (list(arguments), dict(env), str(stdout), str(stderr), umask, hostname)
        self._process = _CONTEXT.Process(target=_run, args=of_child, daemon=True)
        self._process.start()
        assert self._process.pid is not None
        self.pid: int = self._process.pid

    @property
    def returncode(self) -> int | None:
        """Return the exit status, or the negative number of the signal that ended it; None: it runs."""
        return self._process.exitcode

    def poll(self) -> int | None:
        """Return `returncode`."""
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit status once it has ended. Raises TimeoutExpired."""
        self._process.join(timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired("autoscaler", timeout or 0)
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send this signal, unless the process has ended."""
        if self.returncode is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)


def _run(arguments: list[str], env: dict[str, str], stdout: str, stderr: str, umask: int, hostname: str | None) -> None:
    """Become a program that has just been started, and run it. It ends with the program's exit status."""
    for number, path in ((1, stdout), (2, stderr)):
        opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(opened, number)
        os.close(opened)
    sys.stdout, sys.stderr = os.fdopen(1, "w", closefd=False), os.fdopen(2, "w", 1, closefd=False)
    os.environ.clear()
    os.environ.update(env)
    time.tzset()
    if umask >= 0:
        os.umask(umask)
    if hostname is not None:
        socket.gethostname = lambda: hostname
    sys.path[:0] = [each for each in env.get("PYTHONPATH", "").split(":") if each not in ("", *sys.path)]
    sys.argv = ["autoscaler", *arguments]
    from autoscaler.__main__ import main

    try:
        main()
    finally:  # as an interpreter ends
        threading._shutdown()  # type: ignore[attr-defined]  # typeshed leaves it out
        atexit._run_exitfuncs()
