"""More writes than a cycle has time for: several run at a time, and each is made in some cycle."""

import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from adapters.aws_asg import AwsAsg
from autoscaler.act.actuator import Actuator
from autoscaler.errors import TargetNotWritten, TargetUnavailable
from autoscaler.model import Call, Decision, Outcome, ScaleChange, TargetRef, TargetState, Written
from autoscaler.target.contract import RecordingLogger, make_context
from tests.adapters.aws.connecting import Clock
from tests.adapters.aws_asg.conftest import Cloud, Connect, LiveAdapter
from tests.decisions import decision
from tests.servers.aws.world import World
from tests.servers.faults import Fault

pytestmark = pytest.mark.slow
_CYCLE_SECONDS = 25.0
"""By a clock that each write advances by a second."""


class WriteClock(Clock):
    """A monotonic clock that only writes advance."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self._seconds = 0.0
        self._lock = threading.Lock()

    def monotonic(self) -> float:
        return self._seconds

    def advance(self) -> None:
        with self._lock:
            self._seconds += 1


class Account:
    """Groups that shall reach the wanted sizes, cycle by cycle."""

    def __init__(self, cloud: Cloud, folder: Path) -> None:
        self._clock = WriteClock(cloud.world)
        context = make_context(
            AwsAsg.Settings.model_validate({"region": "eu-west-1", "endpointUrl": cloud.server.url}),
            folder,
            clock=self._clock,
        )
        self.adapter = AwsAsg(context)
        self._actuator = Actuator(self.adapter, self._clock, RecordingLogger())
        cloud.server.faults.faults.append(Fault("SetDesiredCapacity", first=self._clock.advance))

    def cycle(self, wanted: Mapping[str, int]) -> Mapping[str, Outcome]:
        call = Call(self._clock.now(), self._clock.monotonic() + _CYCLE_SECONDS)
        states = self.adapter.observe([TargetRef("test", name) for name in wanted], call)
        decisions = [
            _rescale(target, state, wanted[target.name])
            for target, state in states.items()
            if isinstance(state, TargetState) and state.replicas != wanted[target.name]
        ]
        return self._actuator.act(decisions, call)


def _rescale(target: TargetRef, state: TargetState, size: int) -> Decision:
    change = ScaleChange(f"{target.name}-{size}", size, state.replicas, state.revision, "a test says so")
    return decision(target.name, target=target, change=change)


@pytest.fixture
def account(cloud: Cloud, connect: Connect, tmp_path: Path) -> Iterator[Account]:
    """80 groups, alternately of the sizes 2 and 0. `connect` sets the credentials."""
    cloud.server.create_many(f"group-{number:02}" for number in range(80))
    for group in list(cloud.server.groups().values())[::2]:
        group.set_desired_capacity(2)
    made = Account(cloud, tmp_path / "account")
    yield made
    made.adapter.close()


def test_no_group_starves_and_scale_outs_go_first(cloud: Cloud, account: Account) -> None:
    """In file order alone, the last groups were never written while the first ones had writes."""
    wanted = dict.fromkeys(cloud.server.groups(), 1)
    outs = {name for name, group in cloud.server.groups().items() if group.desired_capacity == 0}
    written: list[set[str]] = []
    for _ in range(5):
        outcomes = account.cycle(wanted)
        written.append({name for name, outcome in outcomes.items() if isinstance(outcome, Written)})
        assert all(isinstance(outcome, Written | TargetUnavailable | TargetNotWritten) for outcome in outcomes.values())
    assert written[0] <= outs
    assert len(written[0]) >= 15
    assert not account.cycle(wanted)
    assert {group.desired_capacity for group in cloud.server.groups().values()} == {1}


def test_throttled_writes_are_repeated(cloud: Cloud, connection: LiveAdapter) -> None:
    """Eight threads share one budget and retry after a pause; each write is made once."""
    names = [f"group-{number}" for number in range(8)]
    cloud.server.create_many(names)
    states = {name: connection.state(name) for name in names}
    cloud.server.refuse("SetDesiredCapacity", "Throttling", times=4)
    with ThreadPoolExecutor(len(names)) as threads:
        outcomes = list(threads.map(lambda name: connection.scale(name, states[name], 1), names))
    assert outcomes == [Written(1)] * len(names)
    assert cloud.server.count("SetDesiredCapacity") == len(names) + 4
