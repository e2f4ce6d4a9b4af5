"""A failing autoscaler does not affect the others."""

from typing import Any, cast

import pytest

from autoscaler import cycle
from autoscaler.decide import apply_outcome
from autoscaler.errors import StateError, TargetNotFound
from autoscaler.model import Call, DrainReport, Observation, Observed, TargetRef, Written
from tests.clocks import FakeClock
from tests.schedule.ports import FakePorts, scaler

SCALERS = (scaler("a"), scaler("b"), scaler("c"))
CALLS = ["observe", "recall", "standing", "intend", "act", "record", "drain", "announce"]


def run(ports: FakePorts) -> cycle.CycleResult:
    clock = FakeClock()
    return cycle.reconcile(SCALERS, Call(clock.now(), clock.monotonic() + 15), ports)


def test_a_sound_batch_is_one_cycle() -> None:
    """Each port is called once, in the cycle's order."""
    ports = FakePorts()
    result = run(ports)
    assert [made.name for made in result.decisions] == ["a", "b", "c"]
    assert result.broken == {}
    assert ports.calls == CALLS


def test_an_exception_in_a_decision_does_not_affect_the_others() -> None:
    """The others are decided from the same observation, and written once."""
    ports = FakePorts()
    ports.broken = {"b"}
    result = run(ports)
    assert [made.name for made in result.decisions] == ["a", "c"]
    assert result.broken.keys() == {"b"}
    assert ports.calls == CALLS
    assert ports.written == ["a", "c"]
    assert ports.recorded == ["a", "c"]


def test_an_autoscaler_that_fails_after_the_write_is_not_written_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The batch has the outcome of its write, which nothing else knows."""

    def breaking(decision, outcome):  # type: ignore[no-untyped-def] # replaces apply_outcome
        if decision.name == "b":
            raise ArithmeticError
        return apply_outcome(decision, outcome)

    monkeypatch.setattr(cycle, "apply_outcome", breaking)
    ports = FakePorts()
    result = run(ports)
    assert [made.name for made in result.decisions] == ["a", "c"]
    assert isinstance(result.broken["b"], ArithmeticError)
    assert ports.calls == CALLS
    assert ports.recorded == ["a", "c"]
    assert result.unrecorded == {"b": Written(3)}


@pytest.mark.parametrize("verb", ["recall", "intend", "record"])
def test_an_autoscaler_that_fails_in_a_stage_is_left_out_of_later_stages(verb: str) -> None:
    """A damaged history is not treated as empty, nothing is written without an intent, and the others continue."""
    ports = FakePorts()
    ports.fails_for[verb] = {"b": StateError("its row is damaged")}
    result = run(ports)
    assert [made.name for made in result.decisions] == ["a", "c"]
    assert str(result.broken["b"]) == "its row is damaged"
    assert ports.calls == CALLS
    assert ports.written == (["a", "b", "c"] if verb == "record" else ["a", "c"])
    assert ports.recorded == ports.drained == ports.announced == ["a", "c"]
    assert result.unrecorded == ({"b": Written(3)} if verb == "record" else {})


@pytest.mark.parametrize("verb", ["recall", "standing", "intend", "record"])
def test_without_its_state_the_batch_fails_as_one(verb: str) -> None:
    """Nothing may be scaled without the state, and nothing was written after `intend` failed."""
    ports = FakePorts()
    ports.fails[verb] = StateError("the disk is full")
    with pytest.raises(StateError, match="disk is full"):
        run(ports)
    assert ports.written == ([] if verb != "record" else ["a", "b", "c"])


@pytest.mark.parametrize("verb", ["observe", "recall", "standing", "act", "record", "drain"])
def test_a_failing_port_fails_the_batch(verb: str) -> None:
    """The port's own exception is raised, and no port is called twice."""
    ports = FakePorts()
    ports.fails[verb] = ZeroDivisionError()
    with pytest.raises(ZeroDivisionError):
        run(ports)
    assert ports.calls.count(verb) == 1


class Parts:
    """Stands for the observer, the ledger and the drainer. Only the target of "b" has a drain."""

    def __init__(self) -> None:
        self.report = DrainReport("i-1", "it answered 503")

    def claim(self) -> None:
        """Claim nothing: no other shard is there."""

    def sightings(self, targets: object) -> dict[TargetRef, object]:
        return {}

    def observe(self, *_: object) -> Observed:
        return Observed({one.name: Observation(TargetNotFound("gone"), ()) for one in SCALERS})

    def reports(self, target: TargetRef) -> tuple[DrainReport, ...]:
        return (self.report,) if target == SCALERS[1].target else ()


def test_an_observation_has_the_reports_of_its_targets_drains() -> None:
    """A decision learns only from these that a drain has ended."""
    parts = Parts()
    any_of = cast("Any", parts)
    ports = cycle.Ports(observer=any_of, ledger=any_of, actuator=any_of, drainer=any_of, clock=FakeClock())
    found = ports.observe(SCALERS, Call(FakeClock().now(), 0)).observations
    assert {name: seen.drains for name, seen in found.items()} == {"a": (), "b": (parts.report,), "c": ()}
