import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest

from demo.stage import Stage

pytestmark = pytest.mark.slow

WINDOW = timedelta(seconds=20)
"""The scale-down stabilization in this test."""


class Recording:
    """A stage, and every decision that its daemons have logged."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.decisions: list[dict[str, Any]] = []

    def until(self, what: str, condition: Callable[[dict[str, Any]], bool], within_seconds: float = 90) -> int:
        """Return the number of the first new decision that meets the condition. Fail if there is none in time."""
        begin, end = len(self.decisions), time.monotonic() + within_seconds
        while True:
            self.stage.check_running()
            self.decisions += [line for line in self.stage.new_lines() if line["event"] == "decision"]
            for at in range(begin, len(self.decisions)):
                if condition(self.decisions[at]):
                    return at
            assert time.monotonic() < end, f"no decision was {what}; the last: {self.decisions[-1:]}"
            time.sleep(0.2)

    def at(self, number: int) -> datetime:
        return datetime.fromisoformat(self.decisions[number]["timestamp"])


def slower_scale_in(settings: dict[str, Any]) -> None:
    settings["controller"]["syncPeriod"] = "1s"
    behavior = settings["autoscalers"][0]["behavior"]
    behavior["scaleUp"]["policies"][0]["value"] = 8
    behavior["scaleDown"]["stabilizationWindowSeconds"] = int(WINDOW.total_seconds())


@pytest.fixture
def recording() -> Iterator[Recording]:
    with Stage(slower_scale_in) as stage:
        stage.set_traffic(30)
        stage.start_prometheus()
        stage.start_daemon()
        yield Recording(stage)


def test_a_daemon_killed_and_restarted_keeps_its_workers_and_its_windows(recording: Recording) -> None:
    """After a crash the same processes go on, and the stabilization window continues.

    The load falls, and half a window later the daemon is killed and started again. Without its memory the daemon would
    wait a whole window from its restart, or scale in at once.
    """

    def size(number: int) -> Callable[[dict[str, Any]], bool]:
        return lambda line: line["current"] == number and line["metrics"][0]["value"] == "10"

    recording.until("3 workers at 10 requests each", size(3))
    workers = recording.stage.workers()
    assert len(workers) == 3

    recording.stage.set_traffic(6)
    low = recording.until("about the lower load", lambda line: line["metrics"][0]["value"] == "2")
    last_high = recording.at(low - 1)
    recording.until(
        "half a window later",
        lambda line: datetime.fromisoformat(line["timestamp"]) - last_high > WINDOW / 2,
    )
    recording.stage.kill_daemon()
    assert recording.stage.workers() == workers

    recording.stage.start_daemon()
    restarted = recording.until("taken after the restart", lambda line: line["current"] == 3)
    over = recording.at(restarted) - last_high >= WINDOW  # on a busy machine the restart took the window's other half
    if not over:
        assert recording.decisions[restarted]["written"] is None
        assert recording.stage.workers() == workers

    written = recording.decisions[restarted]["written"] is not None
    scale_in = restarted if written else recording.until("a scale-in", lambda line: line["written"] is not None)
    assert recording.decisions[scale_in]["written"] == 2
    assert recording.at(scale_in) - last_high >= WINDOW
    assert recording.at(scale_in) - recording.at(restarted) < WINDOW
    recording.until("at 2 workers", lambda line: line["current"] == 2)
    assert recording.stage.workers().items() < workers.items()
