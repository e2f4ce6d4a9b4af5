"""Why a size is wanted, in the words of events and explanations."""

from datetime import timedelta

from autoscaler.decide import decide
from autoscaler.model import (
    HPA,
    Direction,
    History,
    HpaMemory,
    ManualControls,
    MetricType,
    Observation,
    Override,
    Pause,
    Reason,
    Recommendation,
    Step,
    TargetType,
)
from autoscaler.rules.manual import PAUSED, Manual
from tests.decide.build import NOW, metric, scaler, state, value

QUEUE = metric(MetricType.EXTERNAL, TargetType.AVERAGE_VALUE, 10_000, "queue")


def test_a_reason_is_its_name_as_kubernetes_writes_it() -> None:
    """Alerts and scripts compare these words."""
    assert {str(each) for each in Reason} == {each.name.title().replace("_", "") for each in Reason}


def test_a_size_that_the_window_raises_is_said_to_be() -> None:
    """Something else lowered the size, and an earlier recommendation is higher: no metric is above its target."""
    history = History(hpa=HpaMemory((Recommendation(8, NOW - timedelta(seconds=60)),)))
    for waiting in (20_000, 50_000):  # the metrics ask for less, and for the same
        made = decide(scaler(QUEUE), Observation(state(5), (value(waiting),)), history, NOW)
        assert made.change is not None
        assert (made.change.size, made.change.reason) == (
            8,
            "a higher recommendation in the stabilization window for scaling in",
        )


def test_a_size_that_is_wanted_under_a_pause_has_its_reason() -> None:
    """The pause says why the size stays, and not why another one is wanted."""
    pause = Pause(Direction.BOTH, "ann", "deploy", NOW, None)
    override = Override(5, None, "bob", "event", NOW, None)
    history = History(manual=ManualControls(pause, override))
    made = decide(scaler(QUEUE, minimum=3), Observation(state(3), (value(20_000),)), history, NOW)
    assert made.change is None
    assert made.trace == (
        Step(HPA, Reason.RESCALE, 3, 5, "the size is below the minimum set by bob"),
        Step(Manual.name, PAUSED, 5, 3, "paused by ann until it is resumed: deploy"),
    )
