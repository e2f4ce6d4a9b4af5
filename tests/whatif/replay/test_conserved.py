"""What a candidate reads in place of the target: the same load on its own instances."""

from datetime import timedelta

from autoscaler.model import (
    Failure,
    Instance,
    InstanceReading,
    MetricType,
    Observation,
    Phase,
    Rules,
    Sample,
    TargetType,
)
from autoscaler.rules.warm_up import WarmUp
from tests.decide.build import CPU_60, QUEUE_15, metric, scaler, value
from tests.replaced import replace
from tests.whatif.simulated import SimulatedTarget

INFLIGHT_10 = metric(MetricType.PODS, TargetType.AVERAGE_VALUE, 10_000, "inflight")
LATENCY_2 = metric(MetricType.OBJECT, TargetType.VALUE, 2_000, "latency")
WHOLE_2 = metric(MetricType.EXTERNAL, TargetType.VALUE, 2_000, "level")


def test_the_total_is_spread_over_ready_instances_to_the_thousandth() -> None:
    simulated = SimulatedTarget(scaler(INFLIGHT_10), 3)
    simulated.cycle(50_004)
    made = simulated.cycle(50_004, after=60)
    (outcome,) = made.metrics
    assert made.current == 6
    assert (outcome.ready, outcome.average_value) == (6, 8_334)


def test_a_starting_instance_is_not_ready() -> None:
    """HPA's rule for unready instances then damps the next step, as with a live autoscaler."""
    simulated = SimulatedTarget(scaler(CPU_60), 2)
    simulated.cycle(2_400)
    (outcome,) = simulated.cycle(2_400).metrics
    assert outcome.average_utilization == 120
    assert outcome.not_ready == ("new 1-1", "new 1-2")


def test_an_instance_stays_unready_for_cpu_until_a_sample_covers_only_its_time_as_ready() -> None:
    """HPA's rule for samples within cpuInitializationPeriod also holds for a candidate, whose instances take 40 s."""
    simulated = SimulatedTarget(scaler(CPU_60), 2)
    simulated.cycle(2_400)
    (outcome,) = simulated.cycle(2_400, after=45).metrics
    assert outcome.not_ready == ("new 1-1", "new 1-2")
    (outcome,) = simulated.cycle(2_400, after=15).metrics
    assert outcome.not_ready == ()


def test_utilization_uses_the_requests_of_as_many_instances() -> None:
    simulated = SimulatedTarget(scaler(CPU_60), 2)
    simulated.cycle(2_400)
    (outcome,) = simulated.cycle(2_400, after=60).metrics
    assert (outcome.ready, outcome.average_utilization) == (4, 60)


def test_a_value_keeps_its_product_with_the_ready_units() -> None:
    simulated = SimulatedTarget(scaler(LATENCY_2), 2)
    simulated.cycle({0: value(4_000)})
    (outcome,) = simulated.cycle({0: value(4_000)}, after=60).metrics
    assert simulated.fleet.size == 4
    assert (outcome.value, outcome.proposal) == (2_000, 4)


def test_the_values_of_an_external_metric_are_summed_first() -> None:
    simulated = SimulatedTarget(scaler(WHOLE_2), 2)
    simulated.cycle({0: value(1_000, 3_000)})
    (outcome,) = simulated.cycle({0: value(1_000, 3_000)}, after=60).metrics
    assert outcome.value == 2_000


def test_an_average_value_keeps_its_value() -> None:
    simulated = SimulatedTarget(scaler(QUEUE_15), 2)
    simulated.cycle(60_000)
    (outcome,) = simulated.cycle(60_000).metrics
    assert (outcome.average_value, outcome.proposal) == (15_000, 4)


def test_a_metric_that_fails_for_the_target_fails_for_a_candidate() -> None:
    simulated = SimulatedTarget(scaler(INFLIGHT_10), 2)
    made = simulated.cycle({0: Failure("no answer")})
    assert [each.error for each in made.metrics] == ["no answer"]
    assert simulated.fleet.size == 2


def test_an_outage_of_all_samples_is_not_zero_load() -> None:
    simulated = SimulatedTarget(scaler(INFLIGHT_10), 4)
    made = simulated.cycle({0: InstanceReading({}, {}, unmatched=('instance="x"',))})
    assert "no sample matches an instance" in str(made.metrics[0].error)
    assert "i-1" in str(made.metrics[0].error)
    assert made.desired is None


def test_an_instance_without_a_sample_counts_as_loaded_as_the_others() -> None:
    """One of ten has no sample: the load is unchanged, and one in ten of the candidate's instances has none either."""
    simulated = SimulatedTarget(scaler(INFLIGHT_10), 10)
    reading = simulated.readings(100_000)[0]
    assert isinstance(reading, InstanceReading)
    seen = replace(reading, samples={name: each for name, each in reading.samples.items() if name != "i-3"})
    (outcome,) = simulated.cycle({0: seen}).metrics
    assert (outcome.ready, outcome.average_value, len(outcome.missing)) == (9, 10_000, 1)


def test_a_starting_instance_without_a_sample_has_no_load() -> None:
    simulated = SimulatedTarget(scaler(INFLIGHT_10), 2)
    simulated.cycle(20_000)
    reading = simulated.readings(20_000)[0]
    young = Instance("new", Phase.RUNNING, True, ready_transition=simulated.now, started_at=simulated.now)
    grown = replace(simulated.state(), replicas=3, status_replicas=3, instances=(*simulated.state().instances, young))
    simulated.now += timedelta(seconds=15)
    made = simulated.see(Observation(grown, (reading,)))
    assert (made.metrics[0].average_value, made.metrics[0].missing) == (10_000, ())


def test_instances_that_warm_up_carry_load_which_their_samples_do_not_show() -> None:
    """The candidate has the target's whole load, also while half of it warms up; its own new instances warm up, too."""
    simulated = SimulatedTarget(replace(scaler(INFLIGHT_10), rules=Rules([WarmUp(timedelta(seconds=60))])), 4)
    simulated.cycle(60_000)
    assert simulated.fleet.size == 6
    since = simulated.now + timedelta(seconds=15)
    workers = simulated.state().instances
    new = [replace(each, ready_transition=since) for each in workers[2:]]
    half = replace(simulated.state(), instances=(*workers[:2], *new))
    for after, ready, warming, average in ((60, 4, 2, 10_000), (45, 6, 0, 10_000)):
        simulated.now += timedelta(seconds=after)
        reading = simulated.readings(60_000)[0]
        made = simulated.see(Observation(half, (reading,)))
        (outcome,) = made.metrics
        assert (outcome.ready, len(outcome.aside), outcome.average_value) == (ready, warming, average)


def test_a_large_candidate_has_at_most_a_thousand_instances() -> None:
    """Sizes can be in the millions, and an average in thousandths stays exact."""
    simulated = SimulatedTarget(scaler(QUEUE_15, INFLIGHT_10, minimum=1_000_001, maximum=2_000_000), 2)
    simulated.cycle(20_000)
    made = simulated.cycle(20_000, after=60)
    assert (made.current, made.metrics[1].ready, made.metrics[1].average_value) == (1_000_001, 1_000_001, 0)


def test_a_samples_age_is_the_targets() -> None:
    """The rule for cpu samples uses their times."""
    simulated = SimulatedTarget(scaler(CPU_60), 1)
    old = simulated.now - timedelta(seconds=20)
    reading = InstanceReading({"i-1": Sample(600, old, timedelta(seconds=30))}, {"i-1": 1000})
    made = simulated.cycle(
        {
            0: reading,
        },
        after=0,
    )
    assert made.metrics[0].average_utilization == 60
