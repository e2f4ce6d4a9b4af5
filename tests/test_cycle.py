"""A failing autoscaler never stops another."""

import pytest

from autoscaler import cycle
from autoscaler.decide import conclude
from autoscaler.errors import StateError
from autoscaler.model import Call, Written
from tests.schedule.clock import FakeClock
from tests.schedule.ports import FakePorts, scaler

SCALERS = (scaler("a"), scaler("b"), scaler("c"))


def run(ports: FakePorts) -> cycle.Batch:
    clock = FakeClock()
    return cycle.reconcile(SCALERS, Call(clock.now(), clock.monotonic() + 15), ports)


def test_a_sound_batch_is_one_cycle() -> None:
    """Each port is asked once, in the cycle's order."""
    ports = FakePorts()
    result = run(ports)
    assert [made.name for made in result.decisions] == ["a", "b", "c"]
    assert result.broken == {}
    assert ports.calls == ["observe", "recall", "standing", "intend", "act", "record", "announce"]


def test_an_autoscaler_whose_decision_raises_costs_the_others_nothing() -> None:
    """A bug in the arithmetic of one: the rest are decided on the same observation, and written once."""
    ports = FakePorts()
    ports.broken = {"b"}
    result = run(ports)
    assert [made.name for made in result.decisions] == ["a", "c"]
    assert result.broken.keys() == {"b"}
    assert ports.calls == ["observe", "recall", "standing", "intend", "act", "record", "announce"]
    assert ports.written == ["a", "c"]
    assert ports.recorded == ["a", "c"]


def test_one_that_breaks_after_the_write_is_not_written_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """What its write came to is said: nothing else knows of it."""

    def breaking(decision, outcome):  # type: ignore[no-untyped-def]  # stands in for conclude alone
        if decision.name == "b":
            raise ArithmeticError
        return conclude(decision, outcome)

    monkeypatch.setattr(cycle, "conclude", breaking)
    ports = FakePorts()
    result = run(ports)
    assert [made.name for made in result.decisions] == ["a", "c"]
    assert isinstance(result.broken["b"], ArithmeticError)
    assert ports.calls == ["observe", "recall", "standing", "intend", "act", "record", "announce"]
    assert ports.recorded == ["a", "c"]
    assert result.unrecorded == {"b": Written(3)}


@pytest.mark.parametrize("verb", ["recall", "intend", "record"])
def test_one_that_a_stage_fails_for_is_left_out_of_what_follows(verb: str) -> None:
    """A damaged memory is not taken for an empty one, nothing is written that was not intended, and the rest go on."""
    ports = FakePorts()
    ports.fails_for[verb] = {"b": StateError("its row is damaged")}
    result = run(ports)
    assert [made.name for made in result.decisions] == ["a", "c"]
    assert str(result.broken["b"]) == "its row is damaged"
    assert ports.calls == ["observe", "recall", "standing", "intend", "act", "record", "announce"]
    assert ports.written == (["a", "b", "c"] if verb == "record" else ["a", "c"])
    assert ports.recorded == ports.announced == ["a", "c"]
    assert result.unrecorded == ({"b": Written(3)} if verb == "record" else {})


@pytest.mark.parametrize("verb", ["recall", "standing", "intend", "record"])
def test_without_its_state_the_batch_fails_as_one(verb: str) -> None:
    """Nothing may be scaled without it; after `intend` failed nothing was."""
    ports = FakePorts()
    ports.fails[verb] = StateError("the disk is full")
    with pytest.raises(StateError, match="disk is full"):
        run(ports)
    assert ports.written == ([] if verb != "record" else ["a", "b", "c"])


@pytest.mark.parametrize("verb", ["observe", "recall", "standing", "act", "record"])
def test_a_port_that_breaks_is_nobodys_fault_among_the_autoscalers(verb: str) -> None:
    """The bug comes out as itself, and no port is asked twice."""
    ports = FakePorts()
    ports.fails[verb] = ZeroDivisionError()
    with pytest.raises(ZeroDivisionError):
        run(ports)
    assert ports.calls.count(verb) == 1
