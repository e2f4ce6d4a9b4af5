"""A dry run's shadow survives restarts and steps of the clock."""

from datetime import timedelta

from autoscaler.model import Decision, MetricTarget, Observation, Shadow, TargetState, TargetType, ValueReading, later
from tests.record.conftest import Opener
from tests.record.cycles import QUEUE, Cycles
from tests.record.samples import scaler
from tests.replaced import replace


class Shadowed(Cycles):
    """A dry run whose target always has two instances, and whose metric asks for one for ten jobs."""

    def __init__(self, opener: Opener) -> None:
        jobs = replace(QUEUE, target=MetricTarget(TargetType.AVERAGE_VALUE, 10_000))
        web = replace(scaler(), metrics=(jobs,), behavior=None, dry_run=True, min_replicas=1, max_replicas=9)
        super().__init__(opener, web, seconds=15)

    def shadow(self) -> Shadow:
        found = self.history().shadow
        assert found is not None
        return found

    def jobs(self, count: int) -> Decision:
        return self.cycle(Observation(TargetState(2, 2, ()), (ValueReading((1000 * count,)),)))


def test_the_shadow_survives_a_restart(opener: Opener) -> None:
    run = Shadowed(opener)
    assert run.jobs(40).desired == 4
    before = run.shadow()
    run.restart()
    run.ledger.follow([run.autoscaler])
    assert run.shadow() == before
    made = run.jobs(40)
    assert (made.current, made.shadow, made.desired) == (2, 4, 4)


def test_the_shadow_keeps_its_age_when_the_clock_is_set(sqlite_opener: Opener) -> None:
    run = Shadowed(sqlite_opener)
    run.jobs(40)
    before = run.shadow()
    run.clock.step(3600)
    assert run.shadow() == later(before, timedelta(hours=1))


def test_charts_show_the_shadows_size(sqlite_opener: Opener) -> None:
    run = Shadowed(sqlite_opener)
    for _ in range(2):
        run.jobs(40)
    rows = list(sqlite_opener.archive().series("web"))
    assert [(row.current, row.shadow, row.desired) for row in rows] == [(2, 2, 4), (2, 4, 4)]
