"""The machine's clock is set, or the machine is suspended."""

import os
import signal
import time
from collections.abc import Callable
from typing import Any, Final

from rehearse.machine.scene import Scene
from tests.daemon.running import RunningDaemon

HOUR: Final = 3600.0
DAY: Final = 24 * HOUR
STEPS: Final = (HOUR, -HOUR, DAY, -DAY)
_NEAR_SECONDS: Final = 60.0
_CYCLES: Final = 4


def _noticed(daemon: RunningDaemon, seconds: float, count: int = 1) -> None:
    line = daemon.wait_for("clock_stepped", count)
    assert abs(line["seconds"] - seconds) < _NEAR_SECONDS, line


def it_is_set(scene: Scene, step: int) -> None:
    """Set the clock while the daemon runs, and set it right later."""
    seconds = STEPS[step % len(STEPS)]
    with scene.settled() as daemon:
        for count, (offset, moved) in enumerate(((seconds, seconds), (0.0, -seconds)), start=1):
            scene.clock.set(offset)
            _noticed(daemon, moved, count)
            scene.follows_again(daemon)
    scene.remembered()


def it_is_set_while_no_daemon_runs(scene: Scene, step: int) -> None:
    seconds = STEPS[step % len(STEPS)]
    with scene.settled():
        pass
    scene.clock.set(seconds)
    with scene.daemon() as daemon:
        scene.follows_again(daemon)
    scene.remembered()


def it_differs_from_the_clock_of_prometheus(scene: Scene, step: int) -> None:
    """Let the clocks differ. `far` uses a server on another machine, which would return the load of another time."""
    seconds = STEPS[step % len(STEPS)]
    with scene.settled() as daemon:
        daemon.until(lambda: _size(daemon, "far") == _size(daemon, "web"), "the size of `far`")
        before = _size(daemon, "far")
        scene.clock.set(seconds)
        daemon.wait_for("clock_stepped")

        def refused() -> list[dict[str, Any]]:
            """Return the decisions that name the clock; in other cycles a busy machine may be late."""
            lines = daemon.events("decision", autoscaler="far", level="warning", desired=None)
            said = ("check this machine's clock", "then this machine's")
            return [line for line in lines if any(each in line["message"] for each in said)]

        daemon.until(lambda: bool(refused()), "a refused cycle")
        scene.follows_again(daemon)  # the others
        daemon.until(lambda: len(refused()) >= _CYCLES, f"{_CYCLES} refused cycles")
        assert {line["current"] for line in refused()} <= {before, None}, refused()
        scene.refused_cycles += _CYCLES
        scene.clock.set(0)
        daemon.wait_for("clock_stepped", 2)
        scene.follows_again(daemon)
        daemon.until(lambda: _size(daemon, "far") == _size(daemon, "web"), "`far` follows again")
    scene.remembered()


def it_sleeps(scene: Scene, _: int) -> None:
    """Suspend the machine for less than a window, and for longer. clock_gettime(2) shows for how long."""
    with scene.settled() as daemon:
        scene.clock.sleep(HOUR / 2)
        scene.follows_again(daemon)
        count = len(daemon.events("decision", autoscaler="web"))
        began = time.monotonic()
        scene.clock.sleep(2 * HOUR)
        daemon.wait_for("decision", autoscaler="held", written=1)
        daemon.until(lambda: len(scene.workers("held")) == 1, "the window of an hour is over")
        decided = len(daemon.events("decision", autoscaler="web")) - count
        assert decided <= 3 + 2 * (time.monotonic() - began), (
            f"{decided} cycles at once: missed cycles must not be repeated"
        )
        assert not daemon.events("clock_stepped"), daemon.events("clock_stepped")
    scene.remembered()


def its_host_stops_it(scene: Scene, _: int) -> None:
    """Stop the guest without its knowledge: daemon and workers stand still, and then its clock is set right."""
    with scene.settled() as daemon:
        pids = [daemon.process.pid, *scene.workers("held"), *scene.workers("web")]
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        time.sleep(2.5)  # the stopped daemon must miss some cycles
        scene.clock.set(HOUR)
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
        _noticed(daemon, HOUR)
        scene.follows_again(daemon)
    scene.remembered()


def _size(daemon: RunningDaemon, name: str) -> int:
    newest = daemon.events("decision", autoscaler=name)[-1]
    size: int = newest["written"] or newest["current"]
    return size


CASES: Final[dict[str, Callable[[Scene, int], None]]] = {
    "the clock is set by an hour or a day while it runs": it_is_set,
    "the clock is set while no daemon runs": it_is_set_while_no_daemon_runs,
    "the clock differs from that of a Prometheus elsewhere": it_differs_from_the_clock_of_prometheus,
    "the machine sleeps": it_sleeps,
    "the machine's host stops it for an hour": its_host_stops_it,
}
