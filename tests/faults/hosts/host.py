"""One of the daemons that share a database, with what stands between it and the world."""

import random
import signal
import subprocess
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

from tests.daemon.running import command, environment
from tests.faults.hosts import launched
from tests.faults.hosts.database_proxy import DatabaseProxy
from tests.faults.hosts.recorder import Recorder, now_micros
from tests.servers.stepped_clock import SteppedClock

PATIENCE_SECONDS: Final = 120.0
"""How long anything is waited for that must come: the machine may be busy with others."""
_RELOADED: Final = '"event": "reloaded"'
_UP_SECONDS: Final = 1_000_000.0
"""How long ago a host was booted at most."""


def wait_until(
    true: Callable[[], bool], what: str, every_seconds: float = 0.1, within: float = PATIENCE_SECONDS
) -> None:
    """Raises AssertionError when it does not come within so many seconds."""
    end = time.monotonic() + within
    while not true():
        assert time.monotonic() < end, f"{what}: did not come within {within:g} s"
        time.sleep(every_seconds)


@dataclass(slots=True)
class Host:
    """Its daemon is started, killed and paused; the host stays."""

    number: int
    folder: Path
    config: Path
    database: DatabaseProxy
    recorders: Mapping[str, Recorder]
    """By the back end: `nomad`, `aws`."""
    clock: SteppedClock
    env: Mapping[str, str] = field(default_factory=dict)
    planted: str | None = None
    """The bug that is planted in its daemons from the next one on (`plants`)."""
    daemons: list[tuple[int, int]] = field(default_factory=list)
    """All there were: when each was started, in microseconds since 1970, and its pid. Pids come again."""
    process: subprocess.Popen[bytes] | None = None
    _paused_at: int | None = None
    _first: str = ""
    """The first configuration."""

    @property
    def log(self) -> Path:
        """What its daemons have said."""
        return self.folder / "stderr"

    def last_words(self, lines: int = 12) -> str:
        """What its daemons have said last."""
        return "\n".join(f"host {self.number}: {line}" for line in self.log.read_text().splitlines()[-lines:])

    def boot(self, chance: random.Random) -> None:
        """It is a machine of its own: nobody else's boot id, and started some time ago. Its daemon does not run."""
        assert self.process is None
        self.clock.boot(uuid.UUID(int=chance.getrandbits(128)).hex, chance.uniform(1, _UP_SECONDS))

    def start(self) -> int:
        """Start a daemon. It runs none now. When that was."""
        assert self.process is None
        planted = {} if self.planted is None else {launched.PLANTED: self.planted}
        at = now_micros()
        with self.log.open("ab") as out:
            self.process = subprocess.Popen(
                command(self.config, program=launched.PROGRAM),
                stdin=subprocess.DEVNULL,
                stderr=out,
                env=environment(self.folder / "state", **self.clock.env, **self.env, **planted),
            )
        self.daemons.append((at, self.process.pid))
        return at

    def configure(self, change: Callable[[dict[str, Any]], None]) -> None:
        """Its daemon is to follow the first configuration with this change from its next start on."""
        if not self._first:
            self._first = self.config.read_text()
        wanted = yaml.safe_load(self._first)
        change(wanted)
        self.config.write_text(yaml.safe_dump(wanted))

    def reload(self, change: Callable[[dict[str, Any]], None]) -> None:
        """Have its daemon follow the first configuration with this change."""
        assert self.process is not None
        self.configure(change)
        reloaded = self.log.read_text().count(_RELOADED)
        self.process.send_signal(signal.SIGHUP)
        wait_until(lambda: self.log.read_text().count(_RELOADED) > reloaded, f"a reload of host {self.number}")

    def running(self) -> bool:
        """Whether its daemon lives; it may be paused."""
        return self.process is not None and self.process.poll() is None

    def kill(self) -> int:
        """End it by SIGKILL. When that was, in microseconds since 1970."""
        assert self.process is not None
        at = now_micros()
        self.process.kill()
        self.process.wait()
        self.process = None
        return at

    def pause(self) -> int:
        """SIGSTOP. When that was."""
        assert self.process is not None
        self._paused_at = now_micros()
        self.process.send_signal(signal.SIGSTOP)
        return self._paused_at

    def go_on(self, *, suspended: bool = False) -> int:
        """SIGCONT. When that was. `suspended`: it was the machine that was stopped, its CLOCK_MONOTONIC with it."""
        assert self.process is not None
        assert self._paused_at is not None
        at = now_micros()
        if suspended:
            self.clock.suspend((at - self._paused_at) / 1_000_000)
        self._paused_at = None
        self.process.send_signal(signal.SIGCONT)
        return at

    def stop(self) -> int:
        """SIGTERM; its exit code."""
        assert self.process is not None
        self.process.terminate()
        code = self.process.wait(PATIENCE_SECONDS)
        self.process = None
        return code
