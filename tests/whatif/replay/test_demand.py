"""How many replicas a load needs."""

import math
from datetime import timedelta

import pytest

from autoscaler.errors import TargetUnavailable
from autoscaler.model import (
    Failure,
    MetricSpec,
    MetricType,
    Observation,
    Phase,
    Reading,
    Rules,
    TargetState,
    TargetType,
)
from autoscaler.rules.warm_up import WarmUp
from autoscaler.whatif.past.past import Cycle
from autoscaler.whatif.replay.demand import demand_of
from tests.decide.build import CPU_60, NOW, QUEUE_15, instances, metric, samples, scaler, state, value
from tests.replaced import replace
from tests.whatif.courses import WEB, curve, cycle, demand_over, seconds

INFLIGHT_100 = metric(MetricType.PODS, TargetType.AVERAGE_VALUE, 100_000, "inflight")
SCORE_10 = metric(MetricType.OBJECT, TargetType.VALUE, 10_000, "score")


@pytest.mark.parametrize(
    ("spec", "reading", "needed"),
    [
        (CPU_60, samples([900, 900, 900, 900]), 6),  # 3.6 cores at 0.6 of a core each
        (INFLIGHT_100, samples([150_000] * 4), 6),
        (QUEUE_15, value(60_000, 22_500), 5.5),
        (SCORE_10, value(15_000), 6),  # one and a half times the target, by four
    ],
)
def test_the_demand_puts_the_metric_on_its_target(spec: MetricSpec, reading: Reading, needed: float) -> None:
    assert demand_of(scaler(spec), Observation(state(4), (reading,)), NOW) == pytest.approx(needed)


@pytest.mark.parametrize("spec", [INFLIGHT_100, SCORE_10])
def test_a_load_that_whole_replicas_carry_exactly_needs_no_more(spec: MetricSpec) -> None:
    """55 x 2.2 is a little more than 121 in binary fractions."""
    each = spec.target.value * 22 // 10
    reading = samples([each] * 55) if spec is INFLIGHT_100 else value(each)
    assert demand_of(scaler(spec), Observation(state(55), (reading,)), NOW) == 121


def test_bounds_and_tolerance_do_not_limit_the_demand() -> None:
    """Otherwise a candidate with another maximum would be measured by that of the reference."""
    autoscaler = scaler(QUEUE_15, minimum=2, maximum=4)

    assert demand_of(autoscaler, Observation(state(4), (value(150_000),)), NOW) == 10
    assert demand_of(autoscaler, Observation(state(4), (value(61_500),)), NOW) == pytest.approx(4.1)
    assert demand_of(autoscaler, Observation(state(4), (value(0),)), NOW) == 0


def test_the_metric_that_needs_most_counts() -> None:
    autoscaler = scaler(CPU_60, QUEUE_15)
    seen = Observation(state(4), (samples([300] * 4), value(105_000)))

    assert demand_of(autoscaler, seen, NOW) == 7


def test_an_instance_that_warms_up_counts_with_the_load_of_the_others() -> None:
    """It is there, and what it shows is the load of booting."""
    new = replace(instances(4)[3], ready_transition=NOW - timedelta(seconds=30))
    autoscaler = replace(scaler(INFLIGHT_100), rules=Rules([WarmUp(timedelta(seconds=60))]))
    seen = Observation(state(4, [*instances(3), new]), (samples([150_000, 150_000, 150_000, 900_000]),))
    assert demand_of(autoscaler, seen, NOW) == 6


@pytest.mark.parametrize("place", [0, 1])
def test_while_a_metric_fails_the_demand_is_unknown(place: int) -> None:
    """It may be the metric that needs most: an outage is not zero load."""
    autoscaler = scaler(CPU_60, QUEUE_15)
    readings: list[Reading | Failure] = [samples([300] * 4), value(105_000)]
    readings[place] = Failure("no answer")

    assert demand_of(autoscaler, Observation(state(4), tuple(readings)), NOW) is None


def test_without_the_target_the_demand_is_unknown() -> None:
    seen = Observation(TargetUnavailable("no answer"), (value(105_000),))

    assert demand_of(WEB, seen, NOW) is None


def test_without_an_instance_the_demand_is_unknown() -> None:
    """The cpu of a target at zero says nothing about the load."""
    assert demand_of(scaler(CPU_60), Observation(TargetState(0, 0, ()), (samples([]),)), NOW) is None
    assert demand_of(scaler(SCORE_10), Observation(TargetState(3, 0, ()), (value(50_000),)), NOW) is None


def test_a_value_gives_the_demand_at_zero() -> None:
    assert demand_of(scaler(SCORE_10), Observation(TargetState(0, 0, ()), (value(25_000),)), NOW) == 2.5


def test_an_instance_without_a_sample_counts_as_much_as_the_others() -> None:
    """Otherwise a scrape that fails for half of them would halve the demand."""
    seen = Observation(state(4), (samples([150_000] * 2),))

    assert demand_of(scaler(INFLIGHT_100), seen, NOW) == 6


def test_an_instance_that_starts_carries_no_load() -> None:
    starting = replace(instances(1)[0], name="i-9", phase=Phase.PENDING, ready=False)
    seen = Observation(state(5, [*instances(4), starting]), (samples([150_000] * 4),))

    assert demand_of(scaler(INFLIGHT_100), seen, NOW) == 6


def test_a_cycle_counts_until_the_next_one_and_for_a_period_before_a_gap() -> None:
    """An hour without a cycle is not an hour of the last value."""
    demand = curve([2, 3, 4, 5], times=[0, 15, 3600, 3630])

    assert list(demand.seconds) == [15, 15, 30, 15]
    assert [demand.follows_gap(place) for place in range(4)] == [True, False, True, False]


def test_each_cycle_has_the_period_of_its_configuration() -> None:
    """A reload from 15 s to 60 s makes no gaps."""
    slow = replace(WEB, sync_period=timedelta(seconds=60))
    cycles = [cycle(0, 2), cycle(15, 2), cycle(75, 2, autoscaler=slow), cycle(135, 2, autoscaler=slow)]

    assert list(demand_over(WEB, cycles).seconds) == [15, 60, 60, 60]


def test_after_a_clock_is_set_back_no_time_counts_twice() -> None:
    demand = curve([2, 3, 4, 5], times=[0, 30, 15, 45])

    assert list(demand.at) == [(NOW + seconds(after)).timestamp() for after in (0, 30, 45)]


def test_readings_are_put_in_the_order_of_the_reference() -> None:
    """The recorded configuration may have more metrics, in another order."""
    then = scaler(CPU_60, replace(QUEUE_15, query=replace(QUEUE_15.query, expr="queue")))
    reference = scaler(replace(QUEUE_15, query=replace(QUEUE_15.query, expr="queue")))
    seen = Observation(state(4), (samples([900] * 4), value(30_000)))

    assert list(demand_over(reference, [Cycle(NOW, seen, scaler=then)]).needed) == [2]


def test_a_target_at_its_maximum_and_above_target_is_saturated() -> None:
    reference = scaler(QUEUE_15, maximum=3)

    demand = curve([3, 3.2, 3.4, 9], reference=reference)

    assert demand.saturated_seconds == 30  # 3.2 is within the tolerance of 10 %


def test_an_unknown_demand_is_not_saturated() -> None:
    seen = Observation(state(100), (Failure("no answer"),))

    demand = demand_over(WEB, [Cycle(NOW, seen, WEB)])

    assert math.isnan(demand.needed[0])
    assert demand.saturated_seconds == 0


def test_the_configuration_of_each_cycle_defines_its_demand() -> None:
    """A reload changes what is on target, for the daemon and for every candidate alike."""
    first, second = scaler(QUEUE_15), scaler(replace(QUEUE_15, target=replace(QUEUE_15.target, value=30_000)))
    cycles = [cycle(0, 4, autoscaler=first), cycle(15, 4, autoscaler=second)]

    assert list(demand_over(None, cycles).needed) == [4, 2]
