"""One of the daemons that share a database, with what stands between it and the world."""

import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.daemon.running import command, environment
from tests.faults.hosts.database_proxy import DatabaseProxy
from tests.faults.hosts.recorder import Recorder, now_micros
from tests.servers import stepped_clock
from tests.servers.stepped_clock import SteppedClock

PATIENCE_SECONDS: Final = 120.0
"""How long anything is waited for that must come: the machine may be busy with others."""


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
    nomad: Recorder
    aws: Recorder
    clock: SteppedClock
    program: Sequence[str] = stepped_clock.PROGRAM
    env: Mapping[str, str] = field(default_factory=dict)
    daemons: list[tuple[int, int]] = field(default_factory=list)
    """All there were: when each was started, in microseconds since 1970, and its pid. Pids come again."""
    pauses: list[tuple[int, int]] = field(default_factory=list)
    """From when to when they were stopped by SIGSTOP; microseconds since 1970."""
    process: subprocess.Popen[bytes] | None = None
    _paused_at: int | None = None

    @property
    def log(self) -> Path:
        """What its daemons have said."""
        return self.folder / "stderr"

    def last_words(self, lines: int = 12) -> str:
        """What its daemons have said last."""
        return "\n".join(f"host {self.number}: {line}" for line in self.log.read_text().splitlines()[-lines:])

    def start(self) -> None:
        """Start a daemon. It runs none now."""
        assert self.process is None
        at = now_micros()
        with self.log.open("ab") as out:
            self.process = subprocess.Popen(
                command(self.config, program=self.program),
                stdin=subprocess.DEVNULL,
                stderr=out,
                env=environment(self.folder / "state", **self.clock.env, **self.env),
            )
        self.daemons.append((at, self.process.pid))

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

    def go_on(self) -> int:
        """SIGCONT. When that was."""
        assert self.process is not None
        assert self._paused_at is not None
        at = now_micros()
        self.pauses.append((self._paused_at, at))
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
