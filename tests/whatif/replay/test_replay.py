"""A candidate over a past: what it decides from, and what it remembers."""

from collections.abc import Sequence
from datetime import timedelta

from autoscaler.model import Autoscaler, Deployment, Failure, MetricType, Observation, Rules, TargetType, later
from autoscaler.rules.brakes import Brakes, active_brakes
from autoscaler.rules.brakes.outside_change import OutsideChangeBrake
from autoscaler.whatif.past.past import Cycle, FindingKind, Replayed
from autoscaler.whatif.replay.replay import Candidate, Replay
from tests.decide.build import CPU_60, NOW, QUEUE_15, metric, samples, scaler, state, value
from tests.replaced import replace
from tests.whatif.pasts import Life, replay


def tried(life: Life, autoscaler: Autoscaler, cycles: Sequence[Cycle] | None = None) -> list[Replayed]:
    return list(replay(cycles or life.cycles, Candidate("new", autoscaler), timedelta(0)))


def desired(found: list[Replayed]) -> list[int | None]:
    return [each.decision.desired for each in found]


def test_a_candidate_decides_from_its_own_size() -> None:
    life = Life()
    life.cpu(60, 120, 120)
    found = tried(life, replace(life.autoscaler, max_replicas=3))
    assert desired(found) == [2, 3, 3]
    assert [each.decision.current for each in found] == [2, 2, 3]
    assert [each.decision.written for each in found] == [None, 3, None]


def test_a_metric_that_was_not_queried_fails_and_is_found() -> None:
    life = Life()
    life.cpu(60, 60)
    other = metric(MetricType.PODS, TargetType.AVERAGE_VALUE, 100)
    made = Replay(Candidate("new", replace(life.autoscaler, metrics=(CPU_60, other))), timedelta(0))
    found = [made.step(cycle) for cycle in life.cycles]
    assert [[each.failed for each in one.decision.metrics] for one in found if one] == [[False, True]] * 2
    assert [each.kind for each in made.findings] == [FindingKind.UNKNOWN]


def test_a_candidate_may_have_other_names_targets_and_order_of_metrics() -> None:
    both = scaler(CPU_60, QUEUE_15, maximum=10)
    life = Life(scaler=both)
    life.see(Observation(state(2), (samples([600, 600]), value(90_000))))
    higher = replace(QUEUE_15, name="jobs", target=replace(QUEUE_15.target, value=30_000))
    (found,) = tried(life, replace(both, metrics=(higher, CPU_60)))
    assert [(each.name, each.proposal) for each in found.decision.metrics] == [("jobs", 3), ("cpu", 2)]


def test_a_candidate_with_a_longer_sync_period_has_fewer_cycles() -> None:
    life = Life()
    life.cpu(*[60] * 9)
    found = tried(life, replace(life.autoscaler, sync_period=timedelta(seconds=60)))
    assert [each.decision.now - NOW for each in found] == [timedelta(seconds=each) for each in (0, 60, 120)]


def test_ages_of_a_candidate_stay_when_the_clock_is_set() -> None:
    """A window of five minutes does not end because the clock was set forward by an hour."""
    life = Life(size=6)
    life.cpu(60)
    life.now += timedelta(hours=1)
    life.history = later(life.history, timedelta(hours=1))
    life.cpu(10)
    assert desired(tried(life, replace(life.autoscaler, max_replicas=20))) == [6, 6]


def test_a_failed_reading_is_not_zero_for_a_candidate() -> None:
    life = Life(size=6)
    life.cpu(60)
    life.see(Observation(state(6), (Failure("no answer"),)))
    assert desired(tried(life, replace(life.autoscaler, max_replicas=20)))[-1] is None


def test_changes_of_the_target_by_others_do_not_hold_a_candidate() -> None:
    """Its size is its own: no deployment resets it, and nothing else sets it."""
    life = Life(size=8, scaler=scaler(CPU_60, maximum=10))
    life.cpu(60)
    life.size = 1
    reset = replace(life.seen(60), target=replace(state(1), deployment=Deployment("7", 8, "preserve the count")))
    life.see(reset)
    life.cpu(60)
    braked = replace(life.autoscaler, max_replicas=6, rules=Rules([Brakes(outside_change=OutsideChangeBrake())]))
    found = tried(life, braked)
    assert [active_brakes(each.decision.remembered.rules.of) for each in found] == [(), (), ()]
    assert [each.decision.current for each in found] == [8, 6, 6]


def test_a_zero_that_an_operator_ended_begins_again_at_the_targets_size() -> None:
    """An autoscaler leaves only a zero of its own."""
    life = Life(size=0)
    life.see(Observation(state(0), (Failure("no instance"),)))
    life.size = 4
    life.cpu(60)
    assert [each.decision.current for each in tried(life, life.autoscaler)] == [0, 4]
