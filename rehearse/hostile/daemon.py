"""The daemon of all bad days, as the kernel and its log show it."""

import re
import resource
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import requests

from bench.processes import resident_mebibytes
from rehearse.hostile.log import Stretch
from tests.daemon.running import RunningDaemon, running_daemon
from tests.servers import stepped_clock

MAX_MEBIBYTES: Final = 2_500
"""A daemon that uses more is killed, to protect the machine."""
_DESCRIPTORS: Final = 1_024
"""The usual soft limit, which systemd sets, too."""


@dataclass(frozen=True, slots=True)
class Access:
    """The users of a daemon, and the user of the tests."""

    arguments: Sequence[str] = ()
    """Arguments of `run`."""
    web: Mapping[str, Any] = field(default_factory=dict)
    """The configuration's section `web`."""
    login: tuple[str, str] | None = None
    """Name and password of a user, if it has users."""
    ca: Path | None = None
    """The authority of its certificate, if it has one."""


OPEN: Final = Access()
"""Neither TLS nor users."""


class Daemon(RunningDaemon):
    """Adds a user's access, a summary of the log, and the sizes of its memory and its state."""

    def __init__(self, running: RunningDaemon, access: Access) -> None:
        super().__init__(running.process, running.config, running.stderr)
        self.access = access
        self.state = running.config.parent / "state"
        self.killed = False
        """Whether it used more than MAX_MEBIBYTES."""
        self._stretched = 0
        """The length of the log that `new_log` has returned, in bytes."""

    def ask(self, path: str, method: str = "GET", timeout: float = 10.0, **more: Any) -> requests.Response:
        """Send a request on a new connection, as its user. Raises requests.RequestException."""
        trusted = True if self.access.ca is None else str(self.access.ca)
        more = {"auth": self.access.login, "verify": trusted, "allow_redirects": False} | more
        return requests.request(method, self.url + path, timeout=timeout, **more)

    def new_log(self) -> Stretch:
        """Return a summary of the log since the last call."""
        stretch = Stretch()
        with self.stderr.open("rb") as log:
            log.seek(self._stretched)
            for line in log:
                if line.endswith(b"\n"):
                    self._stretched += len(line)
                    stretch.add(line)
        return stretch

    def forget_peak(self) -> None:
        """Reset the peak of memory (man 5 proc, clear_refs)."""
        if self.alive:
            Path(f"/proc/{self.process.pid}/clear_refs").write_text("5")

    def peak_mebibytes(self) -> float:
        """Return VmHWM; of a killed daemon, more than the limit."""
        if not self.alive:
            return float("inf") if self.killed else 0.0
        found = re.search(r"^VmHWM:\s+(\d+) kB$", Path(f"/proc/{self.process.pid}/status").read_text(), re.MULTILINE)
        return int(found[1]) / 1024 if found else 0.0

    def state_bytes(self) -> int:
        """Return the size of the database and of SQLite's other files."""
        return sum(file.stat().st_size for file in self.state.glob("state.db*"))

    def guard(self) -> None:
        """Kill it if it uses too much memory. Runs in its own thread until the daemon ends."""

        def watch() -> None:
            while self.alive:
                try:
                    if resident_mebibytes(self.process.pid) > MAX_MEBIBYTES:
                        self.killed = True
                        self.process.kill()
                except (OSError, RuntimeError):  # it has just ended
                    return
                time.sleep(0.05)

        threading.Thread(target=watch, daemon=True).start()


@contextmanager
def running(config: Path, access: Access, env: Mapping[str, str]) -> Iterator[Daemon]:
    """Run a daemon with the usual limit of descriptors, no umask, and its state beside `config`.

    Tests can step its wall clock. Raises AssertionError if it does not start.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with running_daemon(config, *access.arguments, env=env, program=stepped_clock.PROGRAM, umask=0) as found:
        resource.prlimit(found.process.pid, resource.RLIMIT_NOFILE, (min(_DESCRIPTORS, hard), hard))
        daemon = Daemon(found, access)
        daemon.url, daemon.control_socket = found.url, found.control_socket
        daemon.guard()
        yield daemon
