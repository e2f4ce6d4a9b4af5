"""The daemon goes on when its log cannot be written; tests/log/test_stream.py has more ways."""

import fcntl
import os
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from tests.daemon.running import RunningDaemon, autoscaler, running_daemon, workers, write_config
from tests.servers.ports import free_port

pytestmark = pytest.mark.slow

_MIN_PIPE: Final = 4096


@contextmanager
def daemon_that_logs_to(log_to: int, folder: Path, prometheus: str) -> Iterator[RunningDaemon]:
    """Yield a daemon with this stderr, whose autoscalers `web` and `jobs` ask for 2 and 1 workers."""
    config = write_config(folder, prometheus, [autoscaler("web", "vector(2)"), autoscaler("jobs", "vector(1)")])
    port = free_port()
    listen = f"--web.listen-address=127.0.0.1:{port}"
    with running_daemon(config, listen, "--log.level=debug", log_to=log_to) as daemon:
        daemon.url = f"http://127.0.0.1:{port}"
        yield daemon


def decisions(daemon: RunningDaemon) -> float:
    """Return how many decisions it has made; 0 before it answers."""
    try:
        text = daemon.metrics()
    except OSError:
        return 0
    return sum(map(float, re.findall(r"^autoscaler_reconciliations_total\{.*\} (.*)$", text, re.MULTILINE)))


def scales_on(daemon: RunningDaemon, folder: Path, prometheus: str) -> None:
    """Wait for cycles, then for both autoscalers' new sizes after a reload, then end it."""
    daemon.until(lambda: decisions(daemon) >= 20, "ten cycles")
    write_config(folder, prometheus, [autoscaler("web", "vector(4)"), autoscaler("jobs", "vector(3)")])
    daemon.send(signal.SIGHUP)
    daemon.until(lambda: len(workers(folder)) == 7, "7 workers")
    assert daemon.stop() == 0


def test_a_reader_that_stops_reading_stops_nothing_else(folder: Path, prometheus: str) -> None:
    """A log shipper that hangs must not keep load from being served, nor the daemon from ending.

    When it reads again, it gets whole lines.
    """
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, _MIN_PIPE)
    try:
        with daemon_that_logs_to(writer, folder, prometheus) as daemon:
            os.close(writer)
            scales_on(daemon, folder, prometheus)
        text = b""
        while part := os.read(reader, 2**16):
            text += part
        assert text.startswith(b'{"timestamp"')
    finally:
        os.close(reader)


def test_a_daemon_without_stderr_runs(folder: Path, prometheus: str) -> None:
    """Its lines must not land in a file that takes the number of stderr, such as its state."""
    config = write_config(folder, prometheus, [autoscaler("web", "vector(2)")])
    port = free_port()
    program = (
        "-c",
        "import os, sys; os.close(2); os.execv(sys.executable, [sys.executable, '-m', 'autoscaler', *sys.argv[1:]])",
    )
    with running_daemon(config, f"--web.listen-address=127.0.0.1:{port}", program=program) as daemon:
        daemon.url = f"http://127.0.0.1:{port}"
        daemon.until(lambda: len(workers(folder)) == 2, "2 workers")
        assert str(Path(f"/proc/{daemon.process.pid}/fd/2").readlink()) == os.devnull
        assert daemon.stop() == 0
