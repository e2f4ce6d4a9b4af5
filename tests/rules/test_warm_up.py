"""Instances that start slowly: until its warm-up ends, an instance counts as HPA counts one without a sample."""

from datetime import timedelta
from typing import Final

import pytest

from autoscaler.model import Instance, MetricOutcome, MetricSpec, MetricType, Phase, Rules, TargetState, TargetType
from autoscaler.rules.brakes import Brakes
from autoscaler.rules.brakes.loss import LossBrake
from autoscaler.rules.brakes.unfulfilled import UnfulfilledBrake
from autoscaler.rules.warm_up import WarmUp
from tests.decide.build import (
    CPU_60,
    LONG_AGO,
    NOW,
    Life,
    first_decision,
    instances,
    metric,
    samples,
    scaler,
    state,
    value,
)
from tests.replaced import replace
from tests.rules.braking import active

PODS_100M: Final = metric(MetricType.PODS, TargetType.AVERAGE_VALUE, 100)
WARM_UP: Final = timedelta(seconds=90)


def new(name: str, seconds: float, *, ready: bool = True) -> Instance:
    """An instance that has been ready for so long."""
    since = NOW - timedelta(seconds=seconds)
    return Instance(name, Phase.RUNNING, ready=ready, ready_transition=since, started_at=LONG_AGO)


def outcome(
    target: TargetState, *values: int, spec: MetricSpec = PODS_100M, warm_up: timedelta | None = WARM_UP
) -> MetricOutcome:
    autoscaler = replace(scaler(spec), rules=Rules([] if warm_up is None else [WarmUp(warm_up)]))
    return first_decision(autoscaler, target, samples(values)).metrics[0]


def test_the_load_of_booting_asks_for_nothing() -> None:
    """Two of four boot at nine times the target. Their samples would ask for 20; without them the size fits."""
    target = state(4, [*instances(2), new("i-2", 10), new("i-3", 89)])
    made = outcome(target, 100, 100, 900, 900)
    assert (made.proposal, made.aside, made.missing, made.ready) == (4, ("i-2", "i-3"), (), 2)
    assert outcome(target, 100, 100, 900, 900, warm_up=None).proposal == 20


def test_scaling_out_an_instance_that_warms_up_counts_as_idle() -> None:
    """The new one takes its part of the load when it is warm, so it is not asked for a second time."""
    made = outcome(state(4, [*instances(3), new("i-3", 10)]), 200, 200, 200, 900)
    assert (made.proposal, made.detail) == (6, "ratio 1.500 x 4, assuming that 1 instance warming up is at 0")


@pytest.mark.parametrize(
    ("spec", "each", "wanted", "ratio", "at"),
    [(PODS_100M, 40, 2, "0.600", "the target"), (CPU_60, 240, 3, "0.817", "100 % of the request")],
    ids=["pods", "cpu"],
)
def test_scaling_in_an_instance_that_warms_up_counts_in_full(
    spec: MetricSpec, each: int, wanted: int, ratio: str, at: str
) -> None:
    """An idle boot must not end instances: it counts as its target, or as its full request."""
    target = state(3, [*instances(2), new("i-2", 10)])
    assert outcome(target, each, each, 0, spec=spec, warm_up=None).proposal == 1
    made = outcome(target, each, each, 0, spec=spec)
    assert (made.proposal, made.detail) == (
        wanted,
        f"ratio {ratio} x 3, assuming that 1 instance warming up is at {at}",
    )


def test_at_its_end_the_warm_up_is_over() -> None:
    target = state(2, [*instances(1), new("i-1", 90)])
    assert outcome(target, 100, 300).aside == ()


def test_an_instance_that_was_never_ready_warms_up() -> None:
    """Its warm-up has not begun, so its load is that of booting, too."""
    target = state(2, [*instances(1), new("i-1", 500, ready=False)])
    assert outcome(target, 100, 900).aside == ("i-1",)


def test_an_instance_that_was_unready_for_a_moment_does_not_warm_up_again() -> None:
    """A health check that flaps must not hide the load of an instance that works."""
    flapped = replace(new("i-1", 5), first_ready=LONG_AGO)
    assert outcome(state(2, [*instances(1), flapped]), 100, 900).aside == ()
    assert outcome(state(2, [*instances(1), replace(flapped, ready=False)]), 100, 900).aside == ()


def test_a_new_instance_without_a_sample_is_not_called_missing() -> None:
    """It is as expected, and must not raise the alert for instances without samples."""
    made = outcome(state(2, [*instances(1), new("i-1", 10)]), 100)
    assert (made.aside, made.missing, made.missing_ratio) == (("i-1",), (), 0.0)


def test_while_all_warm_up_the_metric_has_no_value() -> None:
    """As with pods without samples, HPA then keeps the size: an unknown load is no zero load."""
    made = outcome(state(2, [new("i-0", 10), new("i-1", 20)]), 900, 900)
    assert made.proposal is None
    assert made.error == "no sample counts before a warm-up of 1m30s has ended; warming up: i-0, i-1"


def test_the_own_warm_up_of_a_target_applies_unless_the_autoscaler_has_one() -> None:
    """The group of AWS says how long; 0s switches it off."""
    target = replace(state(2, [*instances(1), new("i-1", 100)]), warm_up=timedelta(seconds=120))
    assert outcome(target, 100, 300, warm_up=None).aside == ("i-1",)
    assert outcome(target, 100, 300).aside == ()
    assert outcome(target, 100, 300, warm_up=timedelta(0)).aside == ()


def test_ready_and_value_targets_ignore_the_warm_up() -> None:
    """A queue's value is multiplied by the ready instances, and READY shows those that serve."""
    objects = metric(MetricType.OBJECT, TargetType.VALUE, 15_000)
    autoscaler = replace(scaler(objects), rules=Rules([WarmUp(WARM_UP)]))
    made = first_decision(autoscaler, state(3, [*instances(2), new("i-2", 10)]), value(80_000))
    assert (made.ready, made.metrics[0].proposal) == (3, 16)


def test_brakes_ignore_the_warm_up() -> None:
    """Instances that warm up exist: they are neither missing nor lost."""
    brakes = Brakes(unfulfilled=UnfulfilledBrake(progress_deadline=timedelta(seconds=1)), loss=LossBrake())
    life = Life(replace(scaler(PODS_100M), rules=Rules([WarmUp(WARM_UP), brakes])), 8)
    half_new = state(8, [*instances(4), *[new(f"i-{number}", 0) for number in range(4, 8)]])
    for _ in range(3):
        assert active(life.step(samples([100] * 8), after=15, target=half_new)) == []


def test_weights_count_in_units() -> None:
    """A machine of two units that warms up counts as two when scaling in."""
    workers = [*instances(2), replace(new("i-2", 10), weight=2)]
    made = outcome(state(4, workers), 40, 40, 0)
    assert (made.proposal, made.detail) == (3, "ratio 0.700 x 4, assuming that 1 instance warming up is at the target")
