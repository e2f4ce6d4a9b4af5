"""The autoscaler's own zero below a minimum that is not minReplicas alone: it ends at once."""

from datetime import timedelta

import pytest

from autoscaler.errors import TargetUnavailable
from autoscaler.model import ConfiguredRule, Failure, Limits, ManualControls, MetricType, Override, Rules, TargetType
from autoscaler.rules.idle import Idle
from autoscaler.rules.schedules import Schedules
from autoscaler.windows import ScheduleEntry
from tests.decide.build import NOW, QUEUE_15, Life, metric, scaler, state, value
from tests.hpa.build import own_zero
from tests.replaced import replace

FAILED = Failure("connection refused")
INFLIGHT = metric(MetricType.PODS, TargetType.AVERAGE_VALUE, 10_000, "inflight")
DAY = timedelta(days=1)
OVERRIDE = Override(None, None, "ann", "", NOW, None)


def scheduled(minimum: int | None = None, *, after: timedelta = timedelta(0)) -> Schedules:
    """An entry that is open for a day, and opens `after` now."""
    opens = (NOW + after).replace(tzinfo=None)
    return Schedules((ScheduleEntry("office", "UTC", start=opens, end=opens + DAY, min_replicas=minimum),))


@pytest.mark.parametrize(
    ("rules", "changes", "override", "limits", "size"),
    [
        ([scheduled(4)], {"min_replicas": 0}, None, Limits(), 4),
        ([scheduled(4)], {}, None, Limits(), 4),
        ([scheduled(4, after=DAY)], {}, None, Limits(), 2),  # minReplicas is what the schedules return to
        ([], {}, replace(OVERRIDE, minimum=5), Limits(), 5),
        ([], {}, None, Limits(1, None, "the group"), 2),
        ([], {}, None, Limits(3, None, "the group"), 3),
        ([Idle(timedelta(minutes=1), (None,))], {}, replace(OVERRIDE, minimum=1), Limits(), 1),
        ([], {"metrics": (INFLIGHT,)}, None, Limits(), 2),  # it has no value at 0, so the zero would never end
    ],
)
def test_every_other_minimum_ends_an_own_zero_at_once_while_all_metrics_fail(
    rules: list[ConfiguredRule], changes: dict[str, object], override: Override | None, limits: Limits, size: int
) -> None:
    """A fleet must be there at 08:00."""
    life = own_zero(minimum=2)
    life.edit(rules=Rules(rules), **changes)
    life.history = replace(life.history, manual=ManualControls(override=override))
    life.step(FAILED, after=15, target=replace(state(0), limits=limits))
    assert life.size == size


def test_the_minimum_of_an_active_target_ends_an_own_zero_at_once_while_all_metrics_fail() -> None:
    """A metric that was active counts as active while it has no value."""
    idle = Idle(timedelta(minutes=1), (5_000,))
    life = Life(replace(scaler(QUEUE_15, minimum=3), rules=Rules([idle])), 4)
    life.step(value(0))
    life.step(value(0), after=60)
    assert life.size == 0
    life.step(value(30_000), after=15, outcome=TargetUnavailable("down"))
    life.step(FAILED, after=15)
    assert life.size == 3
