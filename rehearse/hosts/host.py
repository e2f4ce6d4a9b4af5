"""One of the daemons that share a database, with the proxies between it and all servers."""

import random
import signal
import subprocess
import threading
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import requests
import yaml

from rehearse.hosts import launched
from rehearse.hosts.database_proxy import DatabaseProxy
from rehearse.hosts.recorder import Recorder, now_micros
from tests.daemon.running import command, environment
from tests.servers.stepped_clock import SteppedClock
from tests.waiting import until
from tests.web.unix import unix_session

PATIENCE_SECONDS: Final = 120.0
"""How long the tests wait for an expected event. The machine may be busy."""
_RELOADED: Final = '"event": "reloaded"'
_READY: Final = '"event": "ready"'
_UP_SECONDS: Final = 1_000_000.0
"""The longest uptime of a host."""


def wait_until(true: Callable[[], bool], what: str, within: float = PATIENCE_SECONDS) -> None:
    """Wait for a condition. Raises AssertionError if it does not hold within so many seconds."""
    until(true, what, within, every_seconds=0.1)


@dataclass(slots=True)
class Host:
    """A host. Its daemon is started, killed and paused; the host stays."""

    number: int
    folder: Path
    config: Path
    database: DatabaseProxy
    recorders: Mapping[str, Recorder]
    """The recorder of each back end: `nomad`, `aws`."""
    clock: SteppedClock
    env: Mapping[str, str] = field(default_factory=dict)
    planted: str | None = None
    """The bug that is planted in its next daemons (`plants`)."""
    daemons: list[tuple[int, int]] = field(default_factory=list)
    """All its daemons: start, in microseconds since 1970, and pid. Pids are reused."""
    process: subprocess.Popen[bytes] | None = None
    _began: int = 0
    """The length of the log when the daemon was started."""
    _paused_at: int | None = None
    _first: str = ""
    """The first configuration."""

    @property
    def log(self) -> Path:
        """Return the log of its daemons."""
        return self.folder / "stderr"

    def last_words(self, lines: int = 12) -> str:
        """Return the last lines of its daemons."""
        return "\n".join(f"host {self.number}: {line}" for line in self.log.read_text().splitlines()[-lines:])

    def boot(self, chance: random.Random) -> None:
        """Boot the host: it gets a boot id of its own and a past boot time. Its daemon must not run."""
        assert self.process is None
        self.clock.boot(uuid.UUID(int=chance.getrandbits(128)).hex, chance.uniform(1, _UP_SECONDS))

    def start(self) -> int:
        """Start a daemon, while none runs. Returns the time."""
        assert self.process is None
        planted = {} if self.planted is None else {launched.PLANTED: self.planted}
        at = now_micros()
        with self.log.open("ab") as out:
            self._began = out.tell()
            self.process = subprocess.Popen(
                command(self.config, program=launched.PROGRAM),
                stdin=subprocess.DEVNULL,
                stderr=out,
                env=environment(self.folder / "state", **self.clock.env, **self.env, **planted),
            )
        self.daemons.append((at, self.process.pid))
        return at

    def configure(self, change: Callable[[dict[str, Any]], None]) -> None:
        """Change the first configuration for the next start of its daemon."""
        if not self._first:
            self._first = self.config.read_text()
        wanted = yaml.safe_load(self._first)
        change(wanted)
        self.config.write_text(yaml.safe_dump(wanted))

    def reload(self, change: Callable[[dict[str, Any]], None]) -> None:
        """Reload its daemon with this change of the first configuration."""
        assert self.process is not None
        self.configure(change)
        reloaded = self.log.read_text().count(_RELOADED)
        self.process.send_signal(signal.SIGHUP)
        wait_until(lambda: self.log.read_text().count(_RELOADED) > reloaded, f"a reload of host {self.number}")

    def running(self) -> bool:
        """Return whether its daemon lives. It may be paused."""
        return self.process is not None and self.process.poll() is None

    def ready(self) -> bool:
        """Return whether its daemon has started. One that starts may still end when it is paused for long."""
        return _READY.encode() in self.log.read_bytes()[self._began :]

    def kill(self) -> int:
        """End the daemon by SIGKILL. Returns the time, in microseconds since 1970."""
        assert self.process is not None
        at = now_micros()
        self.process.kill()
        self.process.wait()
        self.process = None
        return at

    def pause(self) -> int:
        """Send SIGSTOP. Returns the time."""
        assert self.process is not None
        self._paused_at = now_micros()
        self.process.send_signal(signal.SIGSTOP)
        return self._paused_at

    def go_on(self, *, suspended: bool = False) -> int:
        """Send SIGCONT. Returns the time. `suspended`: the machine was stopped, with its CLOCK_MONOTONIC."""
        assert self.process is not None
        assert self._paused_at is not None
        at = now_micros()
        if suspended:
            self.clock.suspend((at - self._paused_at) / 1_000_000)
        self._paused_at = None
        self.process.send_signal(signal.SIGCONT)
        return at

    def terminate(self) -> int:
        """Send SIGTERM. Returns the time. The daemon ends after its calls; `ended` waits for that."""
        assert self.process is not None
        at = now_micros()
        self.process.terminate()
        return at

    def ended(self) -> None:
        """Wait until the daemon has ended by itself. Raises AssertionError if it hung or failed."""
        assert self.process is not None
        code = self.process.wait(PATIENCE_SECONDS)
        self.process = None
        assert code == 0, f"host {self.number} ended with {code}:\n{self.last_words()}"

    def resign(self) -> int:
        """Ask the daemon to let another one lead, on a thread of its own. Returns the time."""
        at = now_micros()
        threading.Thread(target=self._resign, daemon=True).start()
        return at

    def _resign(self) -> None:
        path = Path(self.env["RUNTIME_DIRECTORY"]) / "control" / "control.sock"
        with suppress(requests.RequestException), unix_session(path) as session:
            session.post("http://localhost/-/resign", timeout=PATIENCE_SECONDS)
