import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest

from demo.stage import Stage

pytestmark = pytest.mark.slow

WINDOW = timedelta(seconds=20)
"""Of the scale-down stabilization in this test."""


class Play:
    """A stage, and every decision that its daemons have logged."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.decisions: list[dict[str, Any]] = []

    def until(self, what: str, condition: Callable[[dict[str, Any]], bool], within_seconds: float = 90) -> int:
        """The number of the first decision from now on that meets the condition. Fails when none does in time."""
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
def play() -> Iterator[Play]:
    with Stage(slower_scale_in) as stage:
        stage.set_traffic(30)
        stage.start_prometheus()
        stage.start_daemon()
        yield Play(stage)


def test_a_daemon_killed_and_restarted_keeps_its_workers_and_its_windows(play: Play) -> None:
    """A crash must cost nothing: the same processes go on, and scaling in waits neither anew nor not at all.

    The load falls, and half a window later the daemon is killed and started again. Had it forgotten the window, it
    would wait a whole one from its restart; had it ignored it, it would scale in at once.
    """

    def size(number: int) -> Callable[[dict[str, Any]], bool]:
        return lambda line: line["current"] == number and line["metrics"][0]["value"] == "10"

    play.until("3 workers at 10 requests each", size(3))
    workers = play.stage.workers()
    assert len(workers) == 3

    play.stage.set_traffic(6)
    low = play.until("about the lower load", lambda line: line["metrics"][0]["value"] == "2")
    last_high = play.at(low - 1)
    play.until(
        "half a window later",
        lambda line: datetime.fromisoformat(line["timestamp"]) - last_high > WINDOW / 2,
    )
    play.stage.kill_daemon()
    assert play.stage.workers() == workers

    play.stage.start_daemon()
    restarted = play.until("taken after the restart", lambda line: line["current"] == 3)
    over = play.at(restarted) - last_high >= WINDOW  # on a busy machine the restart took the window's other half
    if not over:
        assert play.decisions[restarted]["written"] is None
        assert play.stage.workers() == workers

    written = play.decisions[restarted]["written"] is not None
    scale_in = restarted if written else play.until("a scale-in", lambda line: line["written"] is not None)
    assert play.decisions[scale_in]["written"] == 2
    assert play.at(scale_in) - last_high >= WINDOW
    assert play.at(scale_in) - play.at(restarted) < WINDOW
    play.until("at 2 workers", lambda line: line["current"] == 2)
    assert play.stage.workers().items() < workers.items()
