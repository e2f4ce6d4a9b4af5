"""The last value that a metric had before it failed."""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, TypeAlias

from autoscaler.document import Document, Seconds
from autoscaler.model import ConditionType, Decision, TargetType
from autoscaler.view.notation import decimal, number

if TYPE_CHECKING:  # the command line reads the daemon's documents without SQLAlchemy
    from autoscaler.record.archive import Archive

MetricKey: TypeAlias = tuple[str, TargetType]
"""A metric's name and the type of its target."""
_NEAR: Final = timedelta(hours=1)
_FARTHEST: Final = timedelta(days=1)


class LastValue(Document):
    """The last value of a metric that has none now."""

    value: float
    """Percents for Utilization, else the quantity."""
    text: str
    """The value as text: `63%`, `8.33`."""
    at: datetime
    age_seconds: Seconds
    """Its age at the time of the decision."""


def last_values(archive: "Archive", decision: Decision) -> Mapping[MetricKey, LastValue]:
    """Return the last values of the metrics that failed in this decision, up to a day old. Raises StateError.

    An outage may last for weeks. Therefore this first reads the hour before ScalingActive became False. It reads a day
    only for a metric that had failed before that, or whose failure did not change the condition.
    """
    missing = {(metric.name, metric.target.type) for metric in decision.metrics if metric.error is not None}
    found = dict[MetricKey, LastValue]()
    for since, until in _searched(decision):
        if not missing - found.keys():
            break
        for row in reversed(archive.series(decision.name, since, until)):
            for (name, kind, _), recorded in zip(row.metrics, row.values, strict=True):
                key, value = (name, kind), number(recorded, kind)
                if value is not None and key in missing and key not in found:
                    text, age = decimal(value, kind), decision.now - row.time
                    found[key] = LastValue(value=value, text=text, at=row.time, age_seconds=age)
    return found


def _searched(decision: Decision) -> Iterator[tuple[datetime, datetime]]:
    now = decision.now
    begun = [
        each.last_transition
        for each in decision.conditions
        if each.type == ConditionType.SCALING_ACTIVE and not each.status
    ]
    for end, back in ((min([now, *begun]), _NEAR), (now, _FARTHEST)):
        yield end - back, end
