"""Texts of the page."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from autoscaler.model import ConditionType, Direction, EventType, Phase
from autoscaler.quantity import format_age, format_decimal, format_seconds
from autoscaler.times import rfc3339
from autoscaler.view import notation
from autoscaler.view.events import EventDocument
from autoscaler.view.history import Column, Point, metric_columns
from autoscaler.view.instances import InstanceDocument
from autoscaler.view.level import Level
from autoscaler.view.metric import MetricDocument, average_words, current_words, target_decimal
from autoscaler.view.parts import lines_of, remarks, words_of
from autoscaler.view.rules import settings_lines
from autoscaler.view.sentences import past_remarks, without_value
from autoscaler.view.steering import PauseDocument
from autoscaler.view.summary import ConditionDocument, Summary
from autoscaler.view.verdict import AutoscalerState

MEANINGS: Final[Mapping[AutoscalerState, str]] = {
    AutoscalerState.FAILING: "A metric, the target or a write failed",
    AutoscalerState.HELD: "It wants another size, but an operation at the target or a brake prevents it",
    AutoscalerState.LIMITED: "Bounds or policies limit the size that the metrics ask for",
    AutoscalerState.PAUSED: "An operator has paused it",
    AutoscalerState.DISABLED: "The target's size was set to 0, which disables scaling",
    AutoscalerState.IDLE: "Nothing is active, so the target has no instances",
    AutoscalerState.SCALING: "It has just changed the size",
    AutoscalerState.STABILIZING: "A stabilization window keeps the size for a while",
    AutoscalerState.UNKNOWN: "There is no decision yet",
    AutoscalerState.STEADY: "The size fits the metrics",
}
_PROPOSED: Final = "It would change the size; a dry run writes nothing"


def meaning(of: Summary) -> str:
    """Return the meaning of an autoscaler's state."""
    return _PROPOSED if of.dry_run and of.state is AutoscalerState.SCALING else MEANINGS[of.state]


def span(given: timedelta | float | None) -> str:
    """Return a duration as it is configured, `1h30m`, to the second. Empty for None."""
    return "" if given is None else format_seconds(given)


def ago(at: datetime, now: datetime) -> str:
    """Return how long ago, or in how long. An event during the rendering is "0s ago"."""
    return f"{format_age(now - at)} ago" if at - now < timedelta(seconds=1) else f"in {format_age(at - now)}"


def clock(at: datetime) -> str:
    """Return the time of day in UTC."""
    return at.astimezone(UTC).strftime("%H:%M:%S")


def full(at: datetime) -> str:
    """Return the date and time in UTC, to the second."""
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")


def before(at: datetime) -> datetime:
    """Return the instant before a time: the decision in force then is the one before it."""
    return at - timedelta(microseconds=1)


def number(given: float | None) -> str:
    """Return a number as a metric's value is written: `8.33`; empty for None."""
    return "" if given is None else format_decimal(round(given * 1000))


def value(metric: MetricDocument) -> str:
    """Return a metric's current value: `63%`, `8.33`, `unknown`, `not read`."""
    return current_words(metric).strip("<>")


def cell(point: Point, column: Column) -> str:
    """Return the cell of a metric in the table over time: its value and target."""
    found = column.of(point)
    if found is None:
        return "not read"
    return f"{number(found.value) or 'unknown'} ({number(found.target)})"


def paused(pause: PauseDocument) -> str:
    """Return what a pause holds."""
    return "Paused" if pause.direction is Direction.BOTH else f"Scaling {pause.direction} paused"


def condition_class(condition: ConditionDocument) -> str:
    """Return the CSS class of a condition: its level, or `good` when it says that scaling works."""
    says_well = condition.type in (ConditionType.ABLE_TO_SCALE, ConditionType.SCALING_ACTIVE) and condition.status
    return "good" if says_well and condition.level is Level.NORMAL else condition.level.value


def readiness(instance: InstanceDocument) -> str:
    """Return an instance's state in a word or two."""
    if instance.deleting:
        return "Leaving"
    if instance.phase is not Phase.RUNNING:
        return instance.phase.value
    state = "Ready" if instance.ready else "Not ready"
    return f"{state}, warming up" if instance.warming else state


def event_kind(event: EventDocument) -> str:
    """Return the kind of an event's mark: `warning`, `out`, `in`, or `other`."""
    if event.type is EventType.WARNING:
        return "warning"
    return "other" if event.direction is None else event.direction.value


def first_upper(text: str) -> str:
    """Return the sentence with a capital letter."""
    return text[:1].upper() + text[1:]


FILTERS: Final[Mapping[str, Callable[..., Any]]] = {
    "span": span,
    "ago": ago,
    "before": before,
    "clock": clock,
    "full": full,
    "rfc3339": rfc3339,
    "number": number,
    "value": value,
    "metric_columns": metric_columns,
    "cell": cell,
    "goal": target_decimal,
    "average": average_words,
    "decimal": notation.plain,
    "paused": paused,
    "condition_class": condition_class,
    "readiness": readiness,
    "event_kind": event_kind,
    "first_upper": first_upper,
    "about": format_age,
    "without_value": without_value,
    "lines_of": lines_of,
    "settings_lines": settings_lines,
    "remarks": remarks,
    "past_remarks": past_remarks,
    "words_of": words_of,
    "meaning": meaning,
    "meaning_of": MEANINGS.__getitem__,
}
"""Filter names in the templates."""
