"""A target's warning is one event, however long it lasts."""

from collections.abc import Sequence

from autoscaler.decide import decide, remember
from autoscaler.errors import TargetUnavailable
from autoscaler.model import Event, EventType, History, Observation, Reason, TargetState
from tests.decide.build import NOW, QUEUE_15, scaler, state, value
from tests.replaced import replace

WEB = scaler(QUEUE_15)
UNREADY = "the readiness probe GET /ready gets HTTP 404, not 2xx"


def cycle(target: TargetState | TargetUnavailable, history: History) -> tuple[Sequence[Event], History]:
    """The events of the target's warnings in one cycle, and what is remembered."""
    made = decide(WEB, Observation(target, (value(15_000),)), history, NOW)
    return [each for each in made.events if each.reason == Reason.TARGET_WARNING], remember(WEB, history, made)


def test_a_warning_is_an_event_when_it_begins() -> None:
    """An operator who looks at events finds it; a thousand equal ones would hide the others."""
    warns = replace(state(1), warnings=(UNREADY,))
    first, history = cycle(warns, History())
    second, history = cycle(warns, history)
    more, history = cycle(replace(warns, warnings=("no port is free", UNREADY)), history)
    none, history = cycle(state(1), history)
    again, _ = cycle(warns, history)
    assert first == [Event(EventType.WARNING, Reason.TARGET_WARNING, UNREADY)]
    assert (second, none) == ([], [])
    assert [each.message for each in (*more, *again)] == ["no port is free", UNREADY]


def test_a_target_that_cannot_be_read_for_a_while_does_not_repeat_its_warnings() -> None:
    """It still has them."""
    warns = replace(state(1), warnings=(UNREADY,))
    _, history = cycle(warns, History())
    _, history = cycle(TargetUnavailable("no answer"), history)
    assert cycle(warns, history)[0] == []
