"""What a dry run would have made different: a target beside its shadow."""

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from autoscaler.documents.base import Document, Seconds

if TYPE_CHECKING:  # slow: the command line reads documents that a daemon made, and measures nothing
    from autoscaler.foresee.shadow_comparison import ShadowComparison, Side


class SideDocument(Document):
    """The target, or its shadow."""

    instance_hours: float
    """The size, summed up over time."""
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
    """From the first cycle that was found to the end of the last one, which stands for one sync period."""
    covered_seconds: Seconds
    """Of that: without gaps in which nothing was decided."""
    decisions: int
    target: SideDocument
    shadow: SideDocument
    saturated_seconds: Seconds
    """How long the target was too small for its load, so that more may have been asked for than showed."""
    guessed_seconds: Seconds
    """How long nobody knows the length that a backlog would have had under the shadow."""


def shadow_document(name: str, found: "ShadowComparison") -> ShadowDocument:
    """Its document."""
    return ShadowDocument.of(
        found,
        name=name,
        covered_seconds=timedelta(seconds=found.covered_seconds),
        decisions=found.cycles,
        target=_side(found.target),
        shadow=_side(found.shadow),
        saturated_seconds=timedelta(seconds=found.saturated_seconds),
        guessed_seconds=timedelta(seconds=found.guessed_seconds),
    )


def _side(side: "Side") -> SideDocument:
    return SideDocument.of(
        side,
        instance_hours=round(side.instance_hours, 4),
        above_target_seconds=timedelta(seconds=side.seconds_above_target),
        at_maximum_seconds=timedelta(seconds=side.seconds_at_maximum),
        direction_changes=side.changes_of_direction,
    )
