"""The state of a target at each step: a given size, and the instances that have samples."""

from datetime import timedelta

from autoscaler.errors import TargetUnavailable
from autoscaler.model import Autoscaler, MetricType, Phase, TargetState
from autoscaler.observe.answers import Answers
from autoscaler.observe.plan import question
from autoscaler.observe.result import Point, QueryResult, ResultType
from autoscaler.whatif.prometheus.states import States
from tests.decide.build import NOW
from tests.observe.build import metric, scaler

STEP = timedelta(seconds=15)
LOAD = metric(MetricType.PODS, "load")
WEB = scaler(LOAD)


def answers(*instances: str, **labels: str) -> Answers:
    points = tuple([Point({"instance": each, **labels}, 1.0) for each in instances])
    return Answers({question(LOAD.query): QueryResult(ResultType.VECTOR, points)})


class Steps:
    """The steps of one past."""

    def __init__(self, autoscaler: Autoscaler = WEB) -> None:
        self._states = States(autoscaler)
        self.now = NOW - STEP

    def step(self, size: int | None, *instances: str, **labels: str) -> TargetState:
        state = self.known(size, *instances, **labels)
        assert isinstance(state, TargetState)
        return state

    def known(self, size: int | None, *instances: str, **labels: str) -> TargetState | TargetUnavailable:
        self.now += STEP
        return self._states.at(self.now, size, answers(*instances, **labels))


def test_an_instance_starts_with_its_first_sample() -> None:
    steps = Steps()
    steps.step(1, "a")
    _, added = steps.step(2, "a", "b").instances
    assert (added.started_at, added.phase, added.ready) == (steps.now, Phase.RUNNING, True)


def test_an_instance_ends_with_its_samples() -> None:
    steps = Steps()
    steps.step(2, "a", "b")
    assert [each.name for each in steps.step(1, "a").instances] == ["a"]


def test_a_step_without_any_sample_keeps_the_instances() -> None:
    """Prometheus was down, not the instances: they are not new when it is back."""
    steps = Steps()
    begun = steps.step(2, "a", "b")
    steps.step(2)
    assert steps.step(2, "a", "b") == begun


def test_without_a_size_the_target_is_unavailable() -> None:
    """The number of samples is no size: of a pool that grows they come late."""
    assert isinstance(Steps().known(None, "a"), TargetUnavailable)


def test_an_instance_without_a_sample_is_pending() -> None:
    state = Steps().step(3, "a")
    assert (state.replicas, state.status_replicas, state.ready) == (3, 3, 1)


def test_without_a_metric_of_instances_all_of_them_are_ready() -> None:
    state = Steps(scaler(metric(MetricType.EXTERNAL, "load"))).step(3, "a")
    assert (state.replicas, state.ready) == (3, 3)


def test_of_more_instances_than_the_size_the_newest_leave() -> None:
    steps = Steps()
    steps.step(1, "c")
    state = steps.step(1, "a", "b", "c")
    assert {each.name: each.deleting for each in state.instances} == {"a": True, "b": True, "c": False}


def test_an_instance_has_its_address_with_and_without_port() -> None:
    """As adapters list it, so that samples of another exporter on the same machine belong to it."""
    (found,) = Steps().step(1, "10.0.0.1:80", alloc_id="a1").instances
    assert found.name == "a1"
    assert found.identities == {"a1", "10.0.0.1:80", "10.0.0.1"}


def test_without_a_change_the_state_is_the_same_object() -> None:
    """Deciding is quicker then, and a week has 40,320 steps."""
    steps = Steps()
    assert steps.step(1, "a") is steps.step(1, "a")


def test_a_huge_size_takes_no_memory() -> None:
    """A query may return any number."""
    state = Steps().step(2_000_000_000, "a")
    assert (state.replicas, len(state.instances)) == (2_000_000_000, 2)
