"""What a dry run would have made different: a target beside its shadow."""

from datetime import datetime, timedelta

from autoscaler.documents.base import Document, Seconds
from autoscaler.foresee.shadow_comparison import Comparison, Side

_HOUR = timedelta(hours=1)


class SideDocument(Document):
    """The target, or its shadow."""

    instance_hours: float
    """Size x time."""
    above_target_seconds: Seconds
    """How long a metric was above its target, by more than the tolerance."""
    at_maximum_seconds: Seconds
    changes: int
    direction_changes: int
    """Changes in the other direction than the one before."""
    smallest: int
    largest: int


class ShadowDocument(Document):
    """A target and its shadow over the same time."""

    name: str
    since: datetime
    until: datetime
    """Of the first and the last cycle that was found."""
    covered_seconds: Seconds
    """Of that: without gaps in which nothing was decided."""
    decisions: int
    target: SideDocument
    shadow: SideDocument
    saturated_seconds: Seconds
    """How long the target was too small for its load, so that more may have been asked for than showed."""


def shadow_document(name: str, found: Comparison) -> ShadowDocument:
    """Its document."""
    return ShadowDocument(
        name=name,
        since=found.since,
        until=found.until,
        covered_seconds=found.covered,
        decisions=found.cycles,
        target=_side(found.target),
        shadow=_side(found.shadow),
        saturated_seconds=found.saturated,
    )


def _side(side: Side) -> SideDocument:
    return SideDocument(
        instance_hours=round(side.instance_time / _HOUR, 4),
        above_target_seconds=side.above_target,
        at_maximum_seconds=side.at_maximum,
        changes=side.changes,
        direction_changes=side.turns,
        smallest=side.smallest,
        largest=side.largest,
    )
