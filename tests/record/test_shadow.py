"""A dry run's shadow is kept as everything else is: through restarts, and through steps of the clock."""

from datetime import timedelta

from autoscaler.decide import conclude, decide
from autoscaler.model import (
    Autoscaler,
    Decision,
    MetricSpec,
    MetricTarget,
    MetricType,
    Observation,
    Observed,
    Proposed,
    Query,
    Shadow,
    TargetState,
    TargetType,
    ValueReading,
    later,
)
from autoscaler.record import Ledger
from tests.record.conftest import Opener
from tests.record.samples import START, scaler
from tests.replaced import replace
from tests.schedule.clock import FakeClock

JOBS = MetricSpec(MetricType.EXTERNAL, "jobs", MetricTarget(TargetType.AVERAGE_VALUE, 10_000), Query("jobs"))


class DryRun:
    """One autoscaler whose target has two instances for ever."""

    def __init__(self, opener: Opener) -> None:
        self.opener, self.clock = opener, FakeClock(START)
        self.ledger: Ledger = opener.ledger()
        self.scaler: Autoscaler = replace(
            scaler("web", "web"), metrics=(JOBS,), behavior=None, dry_run=True, min_replicas=1, max_replicas=9
        )

    def shadow(self) -> Shadow:
        """As the next cycle recalls it."""
        self.ledger.follow_clock(self.clock.moment())
        found = self.ledger.recall([self.scaler])["web"].shadow
        assert found is not None
        return found

    def cycle(self, jobs: int) -> Decision:
        self.clock.advance(15)
        self.ledger.follow_clock(self.clock.moment())
        seen = Observation(TargetState(2, 2, ()), (ValueReading((1000 * jobs,)),))
        made = decide(self.scaler, seen, self.ledger.recall([self.scaler])["web"], self.clock.now())
        if made.change is not None:
            made = conclude(made, Proposed(made.change.size))
        self.ledger.record({"web": self.scaler}, Observed({"web": seen}), [made])
        return made


def test_it_is_there_again_after_a_restart(opener: Opener) -> None:
    daemon = DryRun(opener)
    assert daemon.cycle(40).desired == 4
    before = daemon.shadow()
    daemon.ledger = opener.restart()
    daemon.ledger.follow([daemon.scaler])
    assert daemon.shadow() == before
    made = daemon.cycle(40)
    assert (made.current, made.shadow, made.desired) == (2, 4, 4)


def test_it_keeps_its_age_when_the_clock_is_set(sqlite_opener: Opener) -> None:
    daemon = DryRun(sqlite_opener)
    daemon.cycle(40)
    before = daemon.shadow()
    daemon.clock.step(3600)
    assert daemon.shadow() == later(before, timedelta(hours=1))


def test_charts_have_its_size(sqlite_opener: Opener) -> None:
    daemon = DryRun(sqlite_opener)
    for _ in range(2):
        daemon.cycle(40)
    rows = list(sqlite_opener.archive().series("web"))
    assert [(row.current, row.shadow, row.desired) for row in rows] == [(2, 2, 4), (2, 4, 4)]
