"""How many replicas a load needs, whatever there is."""

import math
from datetime import timedelta

import pytest

from autoscaler.errors import MetricError, TargetUnavailable
from autoscaler.model import MetricSpec, MetricType, Observation, Phase, Reading, TargetState, TargetType
from autoscaler.whatif.past.past import Moment
from autoscaler.whatif.replay.demand import demand_of, demand_over
from tests.decide.build import CPU_60, NOW, QUEUE_15, instances, metric, samples, scaler, state, value
from tests.replaced import replace
from tests.whatif.courses import WEB, curve, moment, seconds

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
def test_it_is_what_puts_the_metric_on_its_target(spec: MetricSpec, reading: Reading, needed: float) -> None:
    assert demand_of(scaler(spec), Observation(state(4), (reading,)), NOW) == pytest.approx(needed)


@pytest.mark.parametrize("spec", [INFLIGHT_100, SCORE_10])
def test_a_load_that_whole_replicas_carry_exactly_needs_no_further_one(spec: MetricSpec) -> None:
    """55 x 2.2 is a little more than 121 in binary fractions."""
    each = spec.target.value * 22 // 10
    reading = samples([each] * 55) if spec is INFLIGHT_100 else value(each)
    assert demand_of(scaler(spec), Observation(state(55), (reading,)), NOW) == 121


def test_neither_bounds_nor_tolerance_cut_it() -> None:
    """Else a candidate with another maximum would be held to the reference's own."""
    autoscaler = scaler(QUEUE_15, minimum=2, maximum=4)

    assert demand_of(autoscaler, Observation(state(4), (value(150_000),)), NOW) == 10
    assert demand_of(autoscaler, Observation(state(4), (value(61_500),)), NOW) == pytest.approx(4.1)
    assert demand_of(autoscaler, Observation(state(4), (value(0),)), NOW) == 0


def test_the_metric_that_needs_most_counts() -> None:
    autoscaler = scaler(CPU_60, QUEUE_15)
    seen = Observation(state(4), (samples([300] * 4), value(105_000)))

    assert demand_of(autoscaler, seen, NOW) == 7


@pytest.mark.parametrize("place", [0, 1])
def test_while_a_metric_fails_nothing_is_known(place: int) -> None:
    """It may be the one that needs most: an outage is not zero load."""
    autoscaler = scaler(CPU_60, QUEUE_15)
    readings: list[Reading | MetricError] = [samples([300] * 4), value(105_000)]
    readings[place] = MetricError("no answer")

    assert demand_of(autoscaler, Observation(state(4), tuple(readings)), NOW) is None


def test_a_target_that_could_not_be_read_tells_nothing() -> None:
    seen = Observation(TargetUnavailable("no answer"), (value(105_000),))

    assert demand_of(WEB, seen, NOW) is None


def test_no_instance_is_no_measurement() -> None:
    """A cpu metric of a target that was scaled to zero says nothing about the load."""
    assert demand_of(scaler(CPU_60), Observation(TargetState(0, 0, ()), (samples([]),)), NOW) is None
    assert demand_of(scaler(SCORE_10), Observation(TargetState(3, 0, ()), (value(50_000),)), NOW) is None


def test_from_zero_a_value_says_how_many() -> None:
    assert demand_of(scaler(SCORE_10), Observation(TargetState(0, 0, ()), (value(25_000),)), NOW) == 2.5


def test_an_instance_without_a_sample_carries_as_much_as_the_others() -> None:
    """Left out, a scrape that fails for half of them would halve the demand."""
    seen = Observation(state(4), (samples([150_000] * 2),))

    assert demand_of(scaler(INFLIGHT_100), seen, NOW) == 6


def test_an_instance_that_starts_carries_nothing_yet() -> None:
    starting = replace(instances(1)[0], name="i-9", phase=Phase.PENDING, ready=False)
    seen = Observation(state(5, [*instances(4), starting]), (samples([150_000] * 4),))

    assert demand_of(scaler(INFLIGHT_100), seen, NOW) == 6


def test_a_moment_stands_until_the_next_one_and_for_a_period_before_a_gap() -> None:
    """An hour in which nothing was seen is an hour of nothing, not of the last value."""
    demand = curve([2, 3, 4, 5], times=[0, 15, 3600, 3630])

    assert list(demand.seconds) == [15, 15, 30, 15]
    assert [demand.follows_gap(place) for place in range(4)] == [True, False, True, False]
    assert demand.counts(NOW + seconds(29))
    assert not demand.counts(NOW + seconds(30))
    assert not demand.counts(NOW - seconds(1))


def test_each_moment_has_the_period_that_was_configured_then() -> None:
    """A reload from 15 s to 60 s makes no gaps of what follows."""
    slow = replace(WEB, sync_period=timedelta(seconds=60))
    moments = [moment(0, 2), moment(15, 2), moment(75, 2, autoscaler=slow), moment(135, 2, autoscaler=slow)]

    assert list(demand_over(WEB, moments).seconds) == [15, 60, 60, 60]


def test_a_clock_set_back_counts_no_time_twice() -> None:
    demand = curve([2, 3, 4, 5], times=[0, 30, 15, 45])

    assert list(demand.at) == [(NOW + seconds(after)).timestamp() for after in (0, 30, 45)]


def test_readings_are_put_in_the_order_of_the_reference() -> None:
    """The daemon's own configuration then may have had its metrics in another order, and more of them."""
    then = scaler(CPU_60, replace(QUEUE_15, query=replace(QUEUE_15.query, expr="queue")))
    reference = scaler(replace(QUEUE_15, query=replace(QUEUE_15.query, expr="queue")))
    seen = Observation(state(4), (samples([900] * 4), value(30_000)))

    assert list(demand_over(reference, [Moment(NOW, seen, scaler=then)]).needed) == [2]


def test_at_its_maximum_and_above_its_target_demand_may_hide() -> None:
    reference = scaler(QUEUE_15, maximum=3)

    demand = curve([3, 3.2, 3.4, 9], reference=reference)

    assert list(demand.saturated) == [0, 0, 1, 1]  # 3.2 is within the tolerance of 10 %
    assert list(demand.unsaturated().counted) == [1, 1, 0, 0]


def test_what_is_not_known_is_never_saturated() -> None:
    seen = Observation(state(100), (MetricError("no answer"),))

    demand = demand_over(WEB, [Moment(NOW, seen)])

    assert math.isnan(demand.needed[0])
    assert list(demand.saturated) == [0]


def test_a_part_of_the_time_is_chosen_from_what_counts() -> None:
    demand = curve([2, 2, 2, 2]).between(NOW + seconds(15), NOW + seconds(45))

    assert list(demand.counted) == [0, 1, 1, 0]
    assert list(demand.between(NOW, NOW + seconds(30)).counted) == [0, 1, 0, 0]


def test_without_a_reference_it_is_told_by_what_was_configured_first() -> None:
    """A case has no candidate; a reload in it must not give it two scales."""
    first, second = scaler(QUEUE_15), scaler(replace(QUEUE_15, target=replace(QUEUE_15.target, value=30_000)))
    moments = [moment(0, 4, autoscaler=first), moment(15, 4, autoscaler=second)]

    assert list(demand_over(None, moments).needed) == [4, 4]
    assert list(demand_over(None, [moment(0, 4)]).needed) == []
