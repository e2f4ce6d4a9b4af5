"""The wall clock is set while the daemon runs: no window is over, nobody waits, and what is newest stays newest."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.daemon.running import RunningDaemon, autoscaler, running_daemon, write_config
from tests.servers.scripted import Wire, scripted
from tests.servers.stepped_clock import PROGRAM, SteppedClock

pytestmark = pytest.mark.slow

HOUR, DAY = 3600.0, 86_400.0


@contextmanager
def answering(loads: Mapping[str, int]) -> Iterator[str]:
    """The URL of a Prometheus whose clock is set with the daemon's, as on one machine: a query names its load."""

    def script(wire: Wire) -> None:
        while True:
            head, _, body = wire.read().decode().partition("\r\n\r\n")
            asked = parse_qs(urlsplit(head.split()[1]).query) | parse_qs(body)
            (name,), (at,) = asked["query"], asked["time"]
            sample = {"metric": {}, "value": [float(at), str(loads[name])]}
            answer = {"status": "success", "data": {"resultType": "vector", "result": [sample]}}
            date = format_datetime(datetime.fromtimestamp(float(at), UTC), usegmt=True)
            wire.answer(json.dumps(answer).encode(), headers=f"Date: {date}\r\n".encode())

    with scripted(script) as server:
        yield server.url


class Scene:
    """A pool that was at 5 and whose load is low since, and a neighbour on another connection."""

    def __init__(self, folder: Path, url: str, loads: dict[str, int]) -> None:
        self.clock, self.loads = SteppedClock(folder), loads
        groups = {"other": {"type": "memory", "groups": {"neighbour": {}}}}
        scalers = [autoscaler("web", "web"), autoscaler("neighbour", "neighbour", adapter="other")]
        self.config = write_config(folder, url, scalers, groups)

    @contextmanager
    def daemon(self) -> Iterator[RunningDaemon]:
        with running_daemon(self.config, env=self.clock.env, program=PROGRAM) as daemon:
            yield daemon
            assert daemon.stop() == 0

    def stands(self, daemon: RunningDaemon) -> None:
        """The pool is held at 5 in the next cycles, and the neighbour follows its load."""
        count = len(daemon.events("decision", autoscaler="web", level="info"))
        self.loads["neighbour"] += 1
        daemon.wait_for("decision", autoscaler="neighbour", written=self.loads["neighbour"])
        daemon.wait_for("decision", autoscaler="web", level="info", count=count + 3)
        assert {
            (line["current"], line["desired"], line["reason"])
            for line in daemon.events("decision", autoscaler="web", level="info")[count:]
        } == {(5, 5, "ScaleDownStabilized")}


@pytest.fixture
def scene(folder: Path) -> Iterator[Scene]:
    loads = {"web": 5, "neighbour": 1}
    with answering(loads) as url:
        yield Scene(folder, url, loads)


def begin(scene: Scene, daemon: RunningDaemon) -> None:
    daemon.wait_for("decision", autoscaler="web", current=5)
    scene.loads["web"] = 1
    daemon.wait_for("decision", autoscaler="web", reason="ScaleDownStabilized")


def test_a_clock_that_is_set_ends_no_window_and_delays_no_cycle(scene: Scene) -> None:
    """An hour forward took a pool from 20 to 1 at once; an hour back would stall the scheduler for an hour."""
    with scene.daemon() as daemon:
        begin(scene, daemon)
        for count, (offset, step) in enumerate([(HOUR, HOUR), (-HOUR, -2 * HOUR), (DAY, DAY + HOUR)], start=1):
            scene.clock.set(offset)
            assert daemon.wait_for("clock_stepped", count)["seconds"] == pytest.approx(step, abs=1)
            scene.stands(daemon)
        # a busy machine may leave out a few; a schedule that followed the clock would an hour's, or a day's
        assert len(daemon.events("tick_missed")) < 10
