"""The memory of ended shards is freed, and the leader alone does the housekeeping of the state."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from datetime import datetime
from typing import Any

import pytest

from autoscaler import collector
from autoscaler.errors import StateError
from autoscaler.record.values import Cut
from autoscaler.runtime import upkeep
from autoscaler.runtime.upkeep import Upkeep
from autoscaler.target.contract.harness import RecordingLogger
from autoscaler.threads import _set_result
from tests.clocks import FakeClock


class FakeShards:
    """Stands for `schedule.Shards`: the number of retired shards."""

    def __init__(self) -> None:
        self.retired = 0


@pytest.fixture
def collected(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return the times of collections, on the clock."""
    done: list[float] = []
    monkeypatch.setattr(collector, "collect", lambda: done.append(CLOCK.monotonic()))
    return done


CLOCK = FakeClock()


@pytest.fixture
def shards() -> FakeShards:
    return FakeShards()


class FakeState:
    """A state that answers."""

    def __init__(self) -> None:
        self.checked, self.tidied = 0, 0
        self.failure: Exception | None = None
        """Why it cannot be tidied."""

    def check(self) -> Sequence[Cut]:
        self.checked += 1
        return ()

    def tidy(self, now: datetime) -> None:
        self.tidied += 1
        if self.failure is not None:
            raise self.failure


def at_once(_name: str, work: Callable[[], Any]) -> Future[Any]:
    """Stand for `spawn`: the work is done when it returns."""
    done = Future[Any]()
    _set_result(done, work)
    return done


@pytest.fixture
def state() -> FakeState:
    return FakeState()


@pytest.fixture
def leads() -> set[str]:
    """Not empty while the daemon leads."""
    return {"it does"}


@pytest.fixture
def log() -> RecordingLogger:
    return RecordingLogger()


@pytest.fixture
def turn(
    state: FakeState, shards: FakeShards, leads: set[str], log: RecordingLogger, monkeypatch: pytest.MonkeyPatch
) -> Callable[[], None]:
    monkeypatch.setattr(upkeep, "spawn", at_once)
    beside = Upkeep(
        state,  # type: ignore[arg-type]  # a fake
        lambda _: None,
        lambda _: None,
        lambda: bool(leads),
        shards,  # type: ignore[arg-type]  # a fake
        CLOCK,
        log,
    )

    def a_second_later() -> None:
        CLOCK.advance(1)
        beside.turn()

    return a_second_later


def test_nothing_is_collected_while_no_shard_has_ended(turn: Callable[[], None], collected: list[float]) -> None:
    """A collection of a large fleet blocks every thread for up to a second."""
    for _ in range(100):
        turn()
    assert collected == []


def test_after_the_end_of_shards_their_memory_is_collected_once(
    turn: Callable[[], None], shards: FakeShards, collected: list[float]
) -> None:
    shards.retired = 2
    for _ in range(30):
        turn()
    assert len(collected) == 1


def test_a_standby_checks_the_state_and_leaves_the_housekeeping_to_the_leader(
    turn: Callable[[], None], state: FakeState, leads: set[str]
) -> None:
    """Two daemons that delete the same rows would wait for each other."""
    leads.clear()
    for _ in range(20):
        turn()
    assert state.checked > 1
    assert state.tidied == 0
    leads.add("it does")
    for _ in range(6):
        turn()
    assert state.tidied > 0


@pytest.mark.parametrize(
    ("failure", "said"), [(StateError("the disk is full"), "the disk is full"), (KeyError("row"), "KeyError at ")]
)
def test_housekeeping_that_fails_is_logged_and_tried_again(
    turn: Callable[[], None], state: FakeState, log: RecordingLogger, failure: Exception, said: str
) -> None:
    """A damaged row must not end it for good."""
    state.failure = failure
    while state.tidied < 2:
        turn()
    ((level, event, keys),) = log.lines
    assert (level, event) == ("error", "state_failed")
    assert said in keys["error"]
