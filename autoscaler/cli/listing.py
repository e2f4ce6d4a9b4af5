"""`autoscaler get`: one row for each autoscaler, in the columns of `kubectl get hpa`."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from autoscaler.cli.steering import asked
from autoscaler.layout import GREEN, NONE, RED, UNKNOWN, YELLOW, local, moment, or_unknown
from autoscaler.quantity import format_age
from autoscaler.text import count
from autoscaler.view.level import Level
from autoscaler.view.status import ReloadStatus
from autoscaler.view.summary import AutoscalerList, Summary

HEADER: Final = ("NAME", "REFERENCE", "TARGETS", "MIN", "MAX", "REPLICAS", "READY", "AGE", "WHY")
WIDE_HEADER: Final = (*HEADER[:-2], "DESIRED", "AGE", "STATE", "WHY")
OF_LEVEL: Final[Mapping[Level, str]] = {Level.ERROR: RED, Level.WARNING: YELLOW, Level.ACTIVE: GREEN, Level.NORMAL: ""}
"""The colours of levels of attention."""


def cells(summary: Summary, now: datetime, header: Sequence[str], age_at: datetime | None = None) -> tuple[str, ...]:
    """Return an autoscaler's cells under these titles. The wide table has all metrics under TARGETS.

    READY is `2/3`, ready instances and the requested size, as kubectl writes them for a Deployment.
    `age_at`: when it has its AGE; None: now.
    """
    metrics = ", ".join(metric.text for metric in summary.metrics) or NONE
    found = {
        "NAME": summary.name,
        "REFERENCE": summary.reference or UNKNOWN,
        "TARGETS": metrics if "STATE" in header else summary.targets,
        "MIN": or_unknown(summary.minimum),
        "MAX": or_unknown(summary.maximum),
        "REPLICAS": or_unknown(summary.current),
        "READY": UNKNOWN if summary.ready is None else f"{summary.ready}/{or_unknown(summary.current)}",
        "DESIRED": or_unknown(summary.desired),
        "AGE": UNKNOWN if summary.first_seen is None else format_age((age_at or now) - summary.first_seen),
        "STATE": state_words(summary),
        "WHY": local(summary.told, now),
    }
    return tuple([found[title] for title in header])


def colours(level: Level, header: Sequence[str]) -> Sequence[str]:
    """Return the colours of an autoscaler's cells under these titles."""
    return [OF_LEVEL[level] if title == "STATE" else "" for title in header]


def state_words(summary: Summary) -> str:
    """Return the state: `limited`, `scaling in (dry run)`, `failing, paused`."""
    words = ", ".join(summary.state_words)
    return f"{words} (dry run)" if summary.dry_run else words


_NOT_LED: Final = "no daemon leads, so sizes stay as they are; `autoscaler status` lists those that run"
_MAX_NOTED: Final = 10
"""Overrides with a line; the last line counts the others."""


def notes(listed: AutoscalerList, now: datetime) -> list[str]:
    """Return a line if no daemon leads, one if the last reload was refused, then one for each override."""
    lines = [] if listed.led else [_NOT_LED]
    lines += [] if listed.refused_reload is None else [_reload(listed.refused_reload, now)]
    noted = [(each.name, given) for each in listed.autoscalers if (given := each.steering.override) is not None]
    for name, given in noted[:_MAX_NOTED]:
        lines.append(f"{name}: its bounds are overridden ({given.bounds}) {asked(given, now)}")
    if len(noted) > _MAX_NOTED:
        lines.append(f"and {len(noted) - _MAX_NOTED} more; `autoscaler get -o json` shows them")
    return lines


def _reload(refused: ReloadStatus, now: datetime) -> str:
    at = moment(refused.at, now)
    others = refused.problems - 1
    more = f"; and {count(others, 'more problem')}" if others > 0 else ""
    problem = refused.problem or ""
    return f"the reload at {at} was refused, and the previous configuration stays in force: {problem}{more}"
