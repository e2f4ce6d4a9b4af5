"""A daemon with a real Prometheus and real workers, whose machine has faults."""

import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any, Final

from adapters.memory.groups import Groups
from autoscaler.record.archive import Archive
from rehearse import judge
from tests.daemon.running import (
    RunningDaemon,
    autoscaler,
    command,
    end_workers,
    external,
    finished,
    mark,
    running_daemon,
    workers,
    write_config,
)
from tests.servers.exporter import Exporter, running_exporter
from tests.servers.faults import running_faults
from tests.servers.prometheus import PrometheusServer, running_prometheus, static
from tests.servers.stepped_clock import PROGRAM, SteppedClock

HELD: Final = 4
"""The size of the pool `held`, which only its window of an hour keeps: its load needs one worker."""
NAMES: Final = ("held", "web", "other", "far")
_POOL: Final = "POOL"
"""The variable of a worker's environment with the name of its pool."""
_FIRST, _NEXT = 2, 4
_HOUR: Final = 3600
_AT_ONCE: Final = {"scaleDown": {"stabilizationWindowSeconds": 0}}


class Scene:
    """The daemon. `held` and `web` are pools of real workers, `other` and `far` groups on a connection of their own.

    `far` uses a Prometheus on another machine, whose clock is right; the others use one on the daemon's machine.
    """

    def __init__(self, folder: Path, exporter: Exporter, same: str, elsewhere: str, clock: SteppedClock) -> None:
        """`same`, `elsewhere`: URLs."""
        self.folder, self.clock = folder, clock
        self.state = folder / "state"
        self.refused_cycles = 0
        """Cycles in which a target should have been scaled and none was."""
        self.followed_seconds: list[float] = []
        """Seconds from the end of a fault until all had followed the load of that time and then another one."""
        self._exporter = exporter
        self._load = _FIRST
        exporter.values = {"held_load": HELD, "load": self._load}
        self.config = _config(folder, same, elsewhere)

    @contextmanager
    def daemon(self) -> Iterator[RunningDaemon]:
        """Run a daemon that must end in order."""
        with running_daemon(self.config, state=self.state, env=self.clock.env, program=PROGRAM) as daemon:
            yield daemon
            assert daemon.stop() == 0, "it did not end in order"

    @contextmanager
    def settled(self) -> Iterator[RunningDaemon]:
        """Run a daemon, and wait until all sizes follow the load, and only the window holds `held`."""
        with self.daemon() as daemon:
            daemon.wait_for("decision", autoscaler="held", current=HELD)
            self._exporter.values = {"held_load": 1, "load": self._load}
            daemon.wait_for("decision", autoscaler="held", reason="ScaleDownStabilized", level="info")
            daemon.until(lambda: self.sizes() == (HELD, self._load, self._load), "the first sizes")
            yield daemon

    def ask_for_more(self) -> None:
        """Change the load, so that `web`, `other` and `far` should get another size."""
        self._load = _FIRST + _NEXT - self._load
        self._exporter.values = {"held_load": 1, "load": self._load}

    def nobody_is_scaled(self, daemon: RunningDaemon, event: str, said: str, cycles: int = 3, **keys: Any) -> None:
        """Change the load, and assert that all sizes stay for so many lines of `event` with `said` in each error."""
        before, count = self.sizes(), len(daemon.events(event, **keys))
        self.ask_for_more()
        daemon.wait_for(event, count + cycles, **keys)
        new = daemon.events(event, **keys)[count:]
        assert self.sizes() == before, f"{before} became {self.sizes()} while the state could not remember it"
        assert all(said in line["error"] for line in new), f"not {said!r}: {[line['error'] for line in new]}"
        self.refused_cycles += len(new)

    def follows_again(self, daemon: RunningDaemon) -> None:
        """Assert that sizes follow the load again, and that `held` keeps its size and its workers."""
        began = time.monotonic()
        daemon.until(lambda: self.sizes() == (HELD, self._load, self._load), f"sizes of {self._load}")
        held = self.workers("held")
        self.ask_for_more()
        daemon.until(lambda: self.sizes() == (HELD, self._load, self._load), f"sizes of {self._load}")
        self.followed_seconds.append(time.monotonic() - began)
        of_held = {"autoscaler": "held", "level": "info"}  # no cycle in which a busy machine was late
        count = len(daemon.events("decision", **of_held))
        daemon.wait_for("decision", count + 2, **of_held)
        newest = daemon.events("decision", **of_held)[-1]
        assert (newest["current"], newest["reason"]) == (HELD, "ScaleDownStabilized"), newest
        assert self.workers("held") == held, "workers of `held` were replaced"

    def sizes(self) -> tuple[int, int, int]:
        """Return the sizes of `held`, `web` and `other`."""
        other = Groups(self.state / "adapters" / "other").read("other")
        return len(self.workers("held")), len(self.workers("web")), 1 if other is None else len(other.members)

    def workers(self, pool: str) -> frozenset[int]:
        """Return the pids of a pool's workers."""
        return workers(self.folder, **{_POOL: pool})

    def does_not_start(self, said: str, *prefix: str) -> None:
        """Assert that a start fails with a clear message, and that no size changes. `prefix`: of its command."""
        before = self.sizes()
        done = finished([*prefix, *command(self.config, program=PROGRAM)], self.state, self.clock.env)
        assert done.returncode == 1, f"exit status {done.returncode}: {done.stderr[-500:]}"
        last = done.stderr.strip().splitlines()[-1]
        assert said in last, f"not {said!r}: {last}"
        assert "Traceback" not in done.stderr, done.stderr[-500:]
        assert self.sizes() == before
        self.refused_cycles += 1

    def tool(self, *words: str) -> CompletedProcess[str]:
        """Run a command of the daemon. Raises AssertionError if it fails."""
        done = finished(
            [sys.executable, "-m", "autoscaler", *words, f"--config.file={self.config}"], self.state, self.clock.env
        )
        assert done.returncode == 0, done.stderr
        return done

    def remembered(self) -> None:
        """Assert that decisions wrote all changes of sizes, and that every decision can be repeated from its record."""
        with Archive.open_archive(None, self.state) as archive:
            for name in NAMES:
                records = list(archive.records(name))
                found = [*judge.decided_otherwise(records), *judge.unexplained_sizes(records)]
                assert not found, "\n".join(found)


def _config(folder: Path, same: str, elsewhere: str) -> Path:
    def scaler(name: str, adapter: str, load: str, **more: Any) -> dict[str, Any]:
        metric = external(load)
        if name == "far":
            metric["external"]["query"]["prometheus"] = "elsewhere"
        return autoscaler(name, "", adapter, metrics=[metric], **more)

    pools = {
        name: {
            "command": ["sleep", "3600"],
            "env": mark(folder) | {_POOL: name},
            "initialReplicas": HELD if name == "held" else 1,
        }
        for name in ("held", "web")
    }
    return write_config(
        folder,
        {"default": {"url": same, "timeout": "1s"}, "elsewhere": {"url": elsewhere, "timeout": "1s"}},
        [
            scaler("held", "local", "held_load", behavior={"scaleDown": {"stabilizationWindowSeconds": _HOUR}}),
            scaler("web", "local", "load", behavior=_AT_ONCE),
            scaler("other", "other", "load", behavior=_AT_ONCE),
            scaler("far", "other", "load", behavior=_AT_ONCE),
        ],
        {"local": {"type": "process", "pools": pools}, "other": {"type": "memory", "groups": {"other": {}, "far": {}}}},
    )


class Stage:
    """The servers that all scenes share."""

    def __init__(self, exporter: Exporter, prometheus: PrometheusServer) -> None:
        self._exporter, self._prometheus = exporter, prometheus

    @contextmanager
    def scene(self, folder: Path) -> Iterator[Scene]:
        """Run a new scene. `folder` exists. Its workers end with it."""
        clock = SteppedClock(folder)
        with running_faults(self._prometheus.url, clock) as same:
            try:
                yield Scene(folder, self._exporter, same.url, self._prometheus.url, clock)
            finally:
                end_workers(folder)


@contextmanager
def stage(folder: Path) -> Iterator[Stage]:
    """Run a real Prometheus and its exporter, with files in `folder`, which exists."""
    with ExitStack() as stack:
        exporter = stack.enter_context(running_exporter({"load": 1.0}))
        server = stack.enter_context(running_prometheus(folder, [static("load", exporter.address)], interval="200ms"))
        server.wait_for("load")
        yield Stage(exporter, server)
