"""Texts of the page."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from markupsafe import Markup

from autoscaler.layout import ago
from autoscaler.model import ConditionType, Direction, EventType
from autoscaler.quantity import format_age, format_decimal, format_seconds
from autoscaler.times import find_instants, rfc3339
from autoscaler.view import notation
from autoscaler.view.events import EventDocument
from autoscaler.view.history import Column, Point, metric_columns
from autoscaler.view.instances import words
from autoscaler.view.level import Level
from autoscaler.view.metric import MetricDocument, current_words, is_averaged, target_decimal
from autoscaler.view.parts import lines_of, remarks, words_of
from autoscaler.view.rules import settings_lines
from autoscaler.view.steering import PauseDocument
from autoscaler.view.story import grouped
from autoscaler.view.summary import ConditionDocument, Summary
from autoscaler.view.verdict import MEANINGS, AutoscalerState

_PROPOSED: Final = "It would change the size; a dry run writes nothing"


def meaning(of: Summary) -> str:
    """Return the meaning of an autoscaler's state."""
    return _PROPOSED if of.dry_run and of.state is AutoscalerState.SCALING else MEANINGS[of.state]


_TIME: Final = Markup('<time datetime="{}" data-local="clock">{} UTC</time> ({})')


def span(given: timedelta | float | None) -> str:
    """Return a duration as it is configured, `1h30m`, to the second. Empty for None."""
    return "" if given is None else format_seconds(given)


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


def instants(text: str, now: datetime) -> Markup:
    """Return a sentence as HTML. Each time in it becomes an element as of the macro `clock_time`, with its age."""
    end, found = 0, Markup()
    for each, at in find_instants(text):
        found += text[end : each.start()] + _TIME.format(rfc3339(at), clock(at), ago(at, now))
        end = each.end()
    return found + text[end:]


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
    "averaged": is_averaged,
    "decimal": notation.plain,
    "paused": paused,
    "condition_class": condition_class,
    "readiness": lambda instance: first_upper(words(instance)),
    "event_kind": event_kind,
    "first_upper": first_upper,
    "instants": instants,
    "about": format_age,
    "lines_of": lines_of,
    "settings_lines": settings_lines,
    "remarks": remarks,
    "grouped": grouped,
    "words_of": words_of,
    "meaning": meaning,
    "meaning_of": MEANINGS.__getitem__,
}
"""Filter names in the templates."""
