"""`autoscaler get`: one row for each autoscaler, in the columns of `kubectl get hpa`."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from autoscaler.layout import GREEN, NONE, RED, UNKNOWN, YELLOW, local, or_unknown
from autoscaler.quantity import format_age
from autoscaler.text import clean
from autoscaler.view.level import Level
from autoscaler.view.summary import Summary

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
        "NAME": clean(summary.name),
        "REFERENCE": clean(summary.reference) or UNKNOWN,
        "TARGETS": clean(metrics if "STATE" in header else summary.targets),
        "MIN": or_unknown(summary.minimum),
        "MAX": or_unknown(summary.maximum),
        "REPLICAS": or_unknown(summary.current),
        "READY": UNKNOWN if summary.ready is None else f"{summary.ready}/{or_unknown(summary.current)}",
        "DESIRED": or_unknown(summary.desired),
        "AGE": UNKNOWN if summary.first_seen is None else format_age((age_at or now) - summary.first_seen),
        "STATE": state_words(summary),
        "WHY": local(clean(summary.told), now),
    }
    return tuple([found[title] for title in header])


def colours(level: Level, header: Sequence[str]) -> Sequence[str]:
    """Return the colours of an autoscaler's cells under these titles."""
    return [OF_LEVEL[level] if title == "STATE" else "" for title in header]


def state_words(summary: Summary) -> str:
    """Return the state: `limited`, `scaling in (dry run)`, `failing, paused`."""
    words = ", ".join(summary.state_words)
    return f"{words} (dry run)" if summary.dry_run else words
