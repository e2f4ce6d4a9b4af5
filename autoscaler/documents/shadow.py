"""A dry run's target and its shadow: the sizes that its decisions would have made."""

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from autoscaler.documents.base import Document, Seconds

if TYPE_CHECKING:  # slow: the command line reads the daemon's documents, and measures nothing
    from autoscaler.foresee.shadow_comparison import ShadowComparison, Side


class SideDocument(Document):
    """The target, or its shadow."""

    instance_hours: float
    """The sum of the size over time."""
    above_target_seconds: Seconds
    """How long a metric was above its target by more than the tolerance."""
    at_maximum_seconds: Seconds
    changes: int
    direction_changes: int
    """Changes in the other direction than the previous one."""
    smallest: int
    largest: int


class ShadowDocument(Document):
    """A target and its shadow over the same time."""

    name: str
    since: datetime
    until: datetime
    """From the first cycle to the end of the last one, which lasts one sync period."""
    covered_seconds: Seconds
    """This time without the gaps in which nothing was decided."""
    decisions: int
    target: SideDocument
    shadow: SideDocument
    saturated_seconds: Seconds
    """How long the target was too small for its load, so that the metrics may show too little of it."""
    guessed_seconds: Seconds
    """How long the length of a backlog with the shadow's size is unknown."""


def shadow_document(name: str, found: "ShadowComparison") -> ShadowDocument:
    """Return the document of a comparison."""
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
