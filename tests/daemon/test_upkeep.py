"""The memory of ended shards is freed."""

from collections.abc import Callable, Sequence
from datetime import datetime

import pytest

from autoscaler import memory
from autoscaler.record import Cut
from autoscaler.runtime import Upkeep
from autoscaler.target.contract.harness import RecordingLogger
from tests.schedule.clock import FakeClock


class FakeShards:
    """Stands for `schedule.Shards`: the number of retired shards."""

    def __init__(self) -> None:
        self.retired = 0


@pytest.fixture
def collected(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return the times of collections, on the clock."""
    done: list[float] = []
    monkeypatch.setattr(memory, "collect", lambda: done.append(CLOCK.monotonic()))
    return done


CLOCK = FakeClock()


@pytest.fixture
def shards() -> FakeShards:
    return FakeShards()


class FakeState:
    """A state that answers."""

    def __init__(self) -> None:
        self.archive = self

    def cuts(self) -> Sequence[Cut]:
        return ()

    def tidy(self, now: datetime) -> None:
        pass


@pytest.fixture
def turn(shards: FakeShards) -> Callable[[], None]:
    upkeep = Upkeep(FakeState(), lambda _: None, lambda _: None, shards, CLOCK, RecordingLogger())  # type: ignore[arg-type]  # fakes

    def a_second_later() -> None:
        CLOCK.advance(1)
        upkeep.turn()

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
