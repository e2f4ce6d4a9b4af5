"""The daemon that lives through it all, as its kernel and its log show it."""

import json
import re
import resource
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import requests

from bench.hostile.log import Stretch
from bench.processes import resident_mebibytes
from tests.daemon.running import command, environment
from tests.servers import stepped_clock
from tests.web.unix import unix_session

MOST_MEBIBYTES: Final = 2_500
"""A daemon that takes more is killed before it takes the machine."""
_DESCRIPTORS: Final = 1_024
"""The usual soft limit, and systemd's."""
_LISTENING_SECONDS: Final = 60.0


class BenchError(Exception):
    """There is nothing to measure; the message says why."""


@dataclass(frozen=True, slots=True)
class Access:
    """Who may reach a daemon, and as whom we do."""

    arguments: Sequence[str] = ()
    """Of `run`."""
    web: Mapping[str, Any] = field(default_factory=dict)
    """The section of the configuration."""
    login: tuple[str, str] | None = None
    """Name and password of a user, where it has users."""
    ca: Path | None = None
    """Whose signature its certificate bears, where it has one."""


OPEN: Final = Access()
"""Neither TLS nor users."""


class Daemon:
    """One process that runs."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path, state: Path, access: Access) -> None:
        self.process = process
        self.state = state
        self.access = access
        self.url = ""
        self.control_socket = Path()
        self.killed = False
        """It took more than MOST_MEBIBYTES."""
        self._log = log
        self._read = 0

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return self.process.poll() is None

    def ask(self, path: str, method: str = "GET", timeout: float = 10.0, **more: Any) -> requests.Response:
        """One request on a connection of its own, as its user. Raises requests.RequestException."""
        trusted = True if self.access.ca is None else str(self.access.ca)
        more = {"auth": self.access.login, "verify": trusted, "allow_redirects": False} | more
        return requests.request(method, self.url + path, timeout=timeout, **more)

    def change(self, path: str) -> int:
        """The status that an operator's POST over the control socket is answered. Raises requests.RequestException."""
        with unix_session(self.control_socket) as session:
            return session.post(f"http://localhost{path}", json={}, timeout=10).status_code

    def new_log(self) -> Stretch:
        """What it has logged since the last call."""
        stretch = Stretch()
        with self._log.open("rb") as log:
            log.seek(self._read)
            for line in log:
                if line.endswith(b"\n"):
                    self._read += len(line)
                    stretch.add(line)
        return stretch

    def forget_peak(self) -> None:
        """The peak of memory begins anew from here (man 5 proc, clear_refs)."""
        if self.alive:
            Path(f"/proc/{self.process.pid}/clear_refs").write_text("5")

    def peak_mebibytes(self) -> float:
        """VmHWM; a daemon that was killed had more than it may."""
        if not self.alive:
            return float("inf") if self.killed else 0.0
        found = re.search(r"^VmHWM:\s+(\d+) kB$", Path(f"/proc/{self.process.pid}/status").read_text(), re.MULTILINE)
        return int(found[1]) / 1024 if found else 0.0

    def state_bytes(self) -> int:
        """Of the database and what SQLite keeps beside it."""
        return sum(file.stat().st_size for file in self.state.glob("state.db*"))

    def wait_until_it_listens(self) -> None:
        """Until its log says where. Raises BenchError."""
        end = time.monotonic() + _LISTENING_SECONDS
        while not self.url:
            if not self.alive or time.monotonic() > end:
                raise BenchError(f"the daemon does not start:\n{self._log.read_text(errors='replace')[-2000:]}")
            for line in self._log.read_bytes().splitlines():
                if b'"listening"' in line:
                    said = json.loads(line)
                    self.url, self.control_socket = said["url"], Path(said["control_socket"])
            time.sleep(0.05)

    def guard(self) -> None:
        """Kill it when it takes too much, from a thread of its own, until it ends."""

        def watch() -> None:
            while self.alive:
                try:
                    if resident_mebibytes(self.process.pid) > MOST_MEBIBYTES:
                        self.killed = True
                        self.process.kill()
                except (OSError, RuntimeError):  # it has just ended
                    return
                time.sleep(0.05)

        threading.Thread(target=watch, daemon=True).start()


@contextmanager
def running(config: Path, access: Access, env: Mapping[str, str]) -> Iterator[Daemon]:
    """A daemon under the usual limit of descriptors and no umask at all, its state beside `config`.

    Its wall clock can be stepped. Raises BenchError when it does not start.
    """
    state, log = config.parent / "state", config.parent / f"log-{time.monotonic_ns()}"
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with log.open("wb") as output:
        process = subprocess.Popen(
            command(config, "--log.format=json", *access.arguments, program=stepped_clock.PROGRAM),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=environment(state, **env),
            umask=0,
        )
    resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (min(_DESCRIPTORS, hard), hard))
    daemon = Daemon(process, log, state, access)
    try:
        daemon.wait_until_it_listens()
        daemon.guard()
        yield daemon
    finally:
        process.kill()
        process.wait()
