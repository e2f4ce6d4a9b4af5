"""A write hangs past its cycle's deadline in its own thread. Later cycles take it into account."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from autoscaler.act.actuator import Actuator
from autoscaler.act.writers import Writers
from autoscaler.cycle import Ports, reconcile
from autoscaler.drain.drainer import Drainer
from autoscaler.errors import TargetDeferred, TargetError, TargetUnavailable
from autoscaler.model import (
    Autoscaler,
    Behavior,
    Call,
    Decision,
    MetricSpec,
    MetricTarget,
    MetricType,
    Observation,
    Observed,
    Outcome,
    PolicyType,
    Query,
    ScaleChange,
    ScaleOutcome,
    ScalingPolicy,
    ScalingRules,
    SelectPolicy,
    TargetRef,
    TargetState,
    TargetType,
    ValueReading,
    Written,
)
from autoscaler.observe.observer import Observer
from autoscaler.record.housekeeping import Retention
from autoscaler.record.state import State
from autoscaler.target import Adapter
from autoscaler.target.contract.harness import RecordingLogger
from tests.clocks import FakeClock
from tests.waiting import PATIENCE_SECONDS, until

START = datetime(2026, 1, 1, tzinfo=UTC)
FOUR_PER_MINUTE = ScalingRules(
    timedelta(0), SelectPolicy.MAX, (ScalingPolicy(PolicyType.PODS, 4, timedelta(minutes=1)),), None
)
WEB = Autoscaler(
    "web",
    TargetRef("fleet", "web-asg"),
    1,
    100,
    (MetricSpec(MetricType.EXTERNAL, "jobs", MetricTarget(TargetType.AVERAGE_VALUE, 1000), Query("jobs")),),
    Behavior(scale_up=FOUR_PER_MINUTE),
)


class Back(Adapter):
    """A group whose next write hangs until `lands` is set."""

    concurrent_writes = 2

    def __init__(self) -> None:
        self.size = 5
        self.hangs = True
        self.begun, self.lands = threading.Event(), threading.Event()

    def observe(self, targets: Sequence[TargetRef], call: Call) -> Mapping[TargetRef, TargetState | TargetError]:
        raise AssertionError("the test says what is observed")

    def scale(self, target: TargetRef, change: ScaleChange, call: Call) -> ScaleOutcome:
        self.begun.set()
        if self.hangs:
            self.hangs = False
            self.lands.wait(PATIENCE_SECONDS)
        self.size = change.size
        return Written(change.size)


class Seen:
    """Stands for the observer: the group's size, and the number of waiting jobs."""

    def __init__(self, back: Back) -> None:
        self._back = back
        self.jobs = 0

    def observe(self, scalers: Sequence[Autoscaler], call: Call, *_: object) -> Observed:
        reading = ValueReading((self.jobs * 1000,))
        return Observed(
            {each.name: Observation(TargetState(self._back.size, self._back.size, ()), (reading,)) for each in scalers}
        )


class Daemon:
    """The ports of a shard with its own state. Each cycle is 15 s after the one before. Its clock stands."""

    def __init__(self, back: Back, folder: Path) -> None:
        self.back, self.folder, self.now, self.clock = back, folder, START, FakeClock()
        self.start()

    def start(self) -> None:
        self.state = State.open(None, self.folder, Retention())
        self.actuator = Actuator(self.back, self.clock, RecordingLogger())
        self.seen = Seen(self.back)
        ledger = self.state.ledger("fleet")
        drainer = Drainer(self.back, {}, self.clock, RecordingLogger())
        self.ports = Ports(cast("Observer", self.seen), ledger, self.actuator, drainer, self.clock)

    def cycle(self, jobs: int, *, seconds: float = PATIENCE_SECONDS) -> Decision:
        """`seconds`: how long it waits for a write that has begun."""
        self.seen.jobs, self.now = jobs, self.now + timedelta(seconds=15)
        (made,) = reconcile([WEB], Call(self.now, self.clock.monotonic() + seconds), self.ports).decisions
        return made

    def lands(self) -> None:
        self.back.lands.set()
        until(lambda: not self.actuator.writers.writing(), "the end of the write")


@pytest.fixture
def daemon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Daemon]:
    daemon, spawn = Daemon(Back(), tmp_path), Writers._spawn

    def spawned(*given: Any) -> None:
        spawn(*given)
        assert daemon.back.begun.wait(PATIENCE_SECONDS)

    monkeypatch.setattr(Writers, "_spawn", spawned)
    yield daemon
    daemon.lands()
    daemon.state.close()


def test_a_write_that_arrives_late_counts_under_the_policy(daemon: Daemon) -> None:
    """The policy allows four Pods a minute.

    The write from 5 to 8 hangs, 9 is wanted, and 8 arrives. Then 9 is allowed.
    """
    assert isinstance(daemon.cycle(8, seconds=0.01).outcome, TargetUnavailable)
    waiting = daemon.cycle(20)
    assert waiting.change is not None
    assert waiting.change.size == 9
    assert isinstance(waiting.outcome, TargetDeferred)
    daemon.lands()
    assert daemon.back.size == 8
    assert daemon.cycle(20).written == 9
    assert daemon.cycle(20).written is None


def test_a_write_that_arrives_after_a_crash_counts_under_the_policy(daemon: Daemon) -> None:
    """The daemon dies in a cycle that wants 9. The state has only the intent of 8, which is under way."""

    class Dying(Ports):
        def act(self, decisions: Sequence[Decision], call: Call, busy: frozenset[TargetRef]) -> Mapping[str, Outcome]:
            raise KeyboardInterrupt

    daemon.cycle(8, seconds=0.01)
    ports = daemon.ports
    daemon.ports = Dying(ports.observer, ports.ledger, ports.actuator, ports.drainer, ports.clock)
    with pytest.raises(KeyboardInterrupt):
        daemon.cycle(20)
    daemon.lands()
    daemon.state.close()
    daemon.start()
    assert daemon.cycle(20).written == 9


def test_after_a_write_that_ends_between_intent_and_write_the_next_cycle_writes(daemon: Daemon) -> None:
    """A write without an intent is not sent."""
    daemon.cycle(8, seconds=0.01)

    class Landing(Ports):
        def act(self, decisions: Sequence[Decision], call: Call, busy: frozenset[TargetRef]) -> Mapping[str, Outcome]:
            daemon.lands()
            return super().act(decisions, call, busy)

    ports = daemon.ports
    daemon.ports = Landing(ports.observer, ports.ledger, ports.actuator, ports.drainer, ports.clock)
    assert isinstance(daemon.cycle(20).outcome, TargetDeferred)
    assert daemon.back.size == 8
    daemon.ports = ports
    assert daemon.cycle(20).written == 9
