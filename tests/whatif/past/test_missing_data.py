"""Gaps and outages of a past, with their times."""

from datetime import datetime, timedelta

from autoscaler.errors import TargetUnavailable
from autoscaler.whatif.past.missing_data import MissingData
from autoscaler.whatif.past.past import Cycle, Finding, FindingKind
from tests.decide.build import NOW
from tests.whatif.pasts import Life

PERIOD = timedelta(seconds=15)
HOUR = timedelta(hours=1)


def missing_of(cycles: list[Cycle], since: datetime = NOW, until: datetime | None = None) -> list[Finding]:
    missing = MissingData(since)
    for cycle in cycles:
        missing.add(cycle)
    missing.end(cycles[-1].at if until is None else until)
    return list(missing.findings)


def test_a_past_without_gaps_and_outages_has_no_findings() -> None:
    life = Life()
    life.cpu(60, 60, 60, 60, 60)
    assert missing_of(life.cycles) == []


def test_a_gap_has_its_begin_and_its_end() -> None:
    """Also before the first cycle and after the last."""
    life = Life()
    life.cpu(60)
    life.now += timedelta(minutes=10)
    life.cpu(60)
    last = life.cycles[-1].at
    found = missing_of(life.cycles, NOW - HOUR, last + HOUR)
    assert {each.kind for each in found} == {FindingKind.GAP}
    assert [(each.begin, each.end) for each in found] == [(NOW - HOUR, NOW), (NOW, last), (last, last + HOUR)]
    assert found[1].message == "no cycle is known for 10m15s"


def test_an_outage_of_a_metric_lasts_until_it_has_a_value_again() -> None:
    life = Life()
    life.cpu(60)
    for _ in range(3):
        life.fail()
    life.cpu(60)
    (outage,) = missing_of(life.cycles)
    assert (outage.kind, outage.begin, outage.end) == (FindingKind.OUTAGE, NOW + PERIOD, NOW + 4 * PERIOD)
    assert outage.message == "Resource metric cpu had no value in 3 cycles: no answer"


def test_an_outage_of_the_target_is_not_one_of_each_metric() -> None:
    life = Life()
    life.cpu(60)
    life.unreadable(TargetUnavailable("throttled"))
    (outage,) = missing_of(life.cycles)
    assert (outage.kind, outage.message) == (FindingKind.OUTAGE, "the target could not be read in 1 cycle: throttled")
