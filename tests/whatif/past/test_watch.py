"""What is missing in a past is listed, with its times."""

from datetime import datetime, timedelta

from autoscaler.errors import TargetUnavailable
from autoscaler.whatif.past.past import Finding, FindingKind, Moment
from autoscaler.whatif.past.watch import Watch
from tests.decide.build import NOW
from tests.whatif.pasts import Life

CYCLE = timedelta(seconds=15)


def watched(moments: list[Moment], since: datetime = NOW, until: datetime | None = None) -> list[Finding]:
    watch = Watch(since, CYCLE)
    for moment in moments:
        watch.see(moment)
    watch.end(moments[-1].at if until is None else until)
    return list(watch.findings)


def test_a_past_without_gaps_and_outages_has_no_findings() -> None:
    life = Life()
    for _ in range(5):
        life.cpu(60)
    assert watched(life.moments) == []


def test_a_gap_has_its_begin_and_its_end() -> None:
    life = Life()
    life.see(life.seen(60), away=timedelta(minutes=10))
    life.cpu(60)
    (gap,) = watched(life.moments)
    assert (gap.kind, gap.begin, gap.end) == (FindingKind.GAP, NOW, NOW + timedelta(minutes=10, seconds=15))
    assert gap.message == "no cycle is known for 10m15s"


def test_time_before_the_first_and_after_the_last_cycle_is_a_gap() -> None:
    life = Life()
    life.cpu(60)
    hour = timedelta(hours=1)
    found = watched(life.moments, NOW - hour, NOW + hour)
    assert [(each.begin, each.end) for each in found] == [(NOW - hour, NOW), (NOW, NOW + hour)]


def test_an_outage_of_a_metric_lasts_until_it_has_a_value_again() -> None:
    life = Life()
    life.cpu(60)
    for _ in range(3):
        life.fail()
    life.cpu(60)
    (outage,) = watched(life.moments)
    assert (outage.kind, outage.begin, outage.end) == (FindingKind.OUTAGE, NOW + CYCLE, NOW + 4 * CYCLE)
    assert outage.message == "Resource metric cpu had no value in 3 cycles: no answer"


def test_an_outage_of_the_target_is_not_one_of_each_metric() -> None:
    life = Life()
    life.cpu(60)
    life.unreadable(TargetUnavailable("throttled"))
    (outage,) = watched(life.moments)
    assert (outage.kind, outage.message) == (FindingKind.OUTAGE, "the target could not be read in 1 cycle: throttled")
