"""The judge of the rehearsals of several hosts counts a late write as the daemons do."""

from dataclasses import replace
from datetime import datetime, timedelta

from autoscaler.model import Behavior, PolicyType, ScalingPolicy, ScalingRules, SelectPolicy
from autoscaler.record.times import to_micros
from autoscaler.record.values import Record
from rehearse.hosts.life import _arrived, _evidence, _pauses, _surely_exceeded
from rehearse.hosts.recorder import Order, Write
from rehearse.hosts.verdict import Announced, Decided
from rehearse.judge import Change
from tests.rehearse.lived import lived


def _decided(at: datetime, seconds: int = 0) -> Decided:
    """Return a write to 6 that was decided so many seconds later."""
    decided = to_micros(at) + seconds * 1_000_000
    write = Write(0, Order("aws/oak", 6, None), decided, status=200, answered=decided + 9)
    return Decided(write, Announced("web", "aws/oak", 6, 2, decided, decided, "process-0", 0))


def test_a_late_write_counts_if_a_successor_found_that_it_arrived() -> None:
    """The successor remembers the change at the time of its decision."""
    records, asked = lived()
    at = asked[0].at
    assert _arrived(records, [_decided(at), _decided(at, seconds=1)]) == [_decided(at)]


def test_a_finding_has_its_evidence() -> None:
    """A write of another autoscaler is none. What cycles remember is shown where it changes."""
    records, asked = lived()
    its = _decided(asked[0].at)
    others = its._replace(announced=its.announced._replace(name="api"))
    first, *remembered = _evidence(records, [its, others])
    assert "2 to 6" in first
    assert "aws/oak" in first
    assert any("ScaleEvent" in each for each in remembered)
    assert 1 <= len(remembered) < len(records)


def test_a_change_that_a_slightly_longer_period_allows_is_no_finding() -> None:
    """Commits are not evenly late, and a scale-in at the beginning of the period allows a larger scale-out."""
    record = _limited()
    out = [_change(record, 3, 2, 4), _change(record, 15.4, 4, 6)]
    assert _surely_exceeded(record, [_change(record, 0, 4, 2), *out]) == []
    (said,) = _surely_exceeded(record, out)
    assert "before=4, after=6" in said


def test_a_period_is_longer_by_a_takeover_within_it() -> None:
    """Between hosts whose clocks differ, changes may not age while a standby takes over. A later takeover is none."""
    record = _limited()
    changes = [_change(record, 0, 4, 2), _change(record, 4, 2, 4), _change(record, 17.5, 4, 6)]
    start = to_micros(record.decision.now)
    cycles = [start + each * 1_000_000 for each in (0, 4, 9, 16, 25)]
    assert _surely_exceeded(record, changes, _pauses(cycles, [cycles[2] - 1])) == []
    for taken in ([], [cycles[0] - 1], [cycles[4] - 1], [cycles[4]]):
        assert len(_surely_exceeded(record, changes, _pauses(cycles, taken))) == 1


def _limited() -> Record:
    """Return a record whose policies allow 2 instances in 15 s."""
    first = lived()[0][0]
    rules = ScalingRules(timedelta(0), SelectPolicy.MAX, (ScalingPolicy(PolicyType.PODS, 2, timedelta(seconds=15)),))
    return replace(first, scaler=replace(first.scaler, behavior=Behavior(rules, rules)))


def _change(record: Record, seconds: float, before: int, after: int) -> Change:
    return Change(record.decision.now + timedelta(seconds=seconds), before, after)
