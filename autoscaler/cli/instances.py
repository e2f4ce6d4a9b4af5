"""The instances of a target, for `describe` and `explain`; those that need attention are first."""

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from autoscaler.layout import RED, YELLOW, Screen, Table
from autoscaler.model import Phase
from autoscaler.quantity import format_age
from autoscaler.view.instances import InstanceDocument, InstanceList, words
from autoscaler.view.parts import words_of

_MAX_ROWS: Final = 10
"""Rows."""


def instances(known: InstanceList, now: datetime, screen: Screen) -> Iterator[str]:
    """Yield a row with the samples of each instance, then the number of others."""
    names = list(dict.fromkeys(value.metric for each in known.instances for value in each.values))
    table = Table(["Name", "State", "Age", *names, "Detail"], screen, indent=2, gap=2, ruled=True)
    shown = known.instances[:_MAX_ROWS]
    colours = [["", _colour(each), "", *[""] * len(names), ""] for each in shown]
    yield from table.lines([_cells(each, names, now) for each in shown], colours)
    if known.total > len(shown):
        yield f"  and {known.total - len(shown)} more; {known.ready} of all {known.total} are ready"


def _cells(instance: InstanceDocument, names: list[str], now: datetime) -> list[str]:
    values = {value.metric: value.text for value in instance.values}
    since = "-" if instance.started_at is None else format_age(now - instance.started_at)
    return [
        instance.name,
        words(instance),
        since,
        *[values.get(name) or "-" for name in names],
        _detail(instance, now),
    ]


def _detail(instance: InstanceDocument, now: datetime) -> str:
    missing = [value.metric for value in instance.values if value.text is None]
    unmeasured = f"no usable sample of {', '.join(missing)}" if missing else ""
    parts = [instance.detail, *words_of(instance, now), unmeasured]
    return "; ".join(part for part in parts if part)


def _colour(instance: InstanceDocument) -> str:
    if instance.phase is Phase.FAILED:
        return RED
    return "" if instance.ready else YELLOW
