"""`autoscaler shadow`: a target beside the shadow of its dry run."""

from collections.abc import Iterator
from datetime import timedelta

from autoscaler.documents.shadow import ShadowDocument, SideDocument
from autoscaler.layout import YELLOW, Screen, Table
from autoscaler.quantity import format_seconds
from autoscaler.text import clean


def shadow_rows(found: ShadowDocument, screen: Screen) -> Iterator[str]:
    """A sentence, the table, and what makes it doubtful; in lines."""
    begin, end = (at.astimezone().strftime("%Y-%m-%d %H:%M:%S") for at in (found.since, found.until))
    yield f"{clean(found.name)}: {found.decisions} decisions of a dry run, {begin} to {end}"
    yield ""
    yield from Table(("", "TARGET", "SHADOW"), screen).lines(
        [
            (title, target, shadow)
            for (title, target), (_, shadow) in zip(_cells(found.target), _cells(found.shadow), strict=True)
        ]
    )
    missing = found.until - found.since - found.covered_seconds
    if missing > timedelta(0):
        yield ""
        yield f"Without {format_seconds(missing)} in which nothing was decided."
    for text in _doubts(found):
        yield ""
        yield from (screen.paint(YELLOW, line) for line in screen.wrap(text))


def _doubts(found: ShadowDocument) -> Iterator[str]:
    if found.saturated_seconds:
        yield (
            f"For {format_seconds(found.saturated_seconds)} the target was too small for its load: more may have been "
            "asked for than showed, and the shadow may be too small there."
        )
    if found.guessed_seconds:
        yield (
            f"For {format_seconds(found.guessed_seconds)} it is unknown how long a queue would have been with the "
            "shadow's instances; `autoscaler explain` says why."
        )


def _cells(side: SideDocument) -> Iterator[tuple[str, str]]:
    yield "instance-hours", f"{side.instance_hours:.2f}"
    yield "above target", format_seconds(side.above_target_seconds)
    yield "at the maximum", format_seconds(side.at_maximum_seconds)
    yield "changes of size", str(side.changes)
    yield "changes of direction", str(side.direction_changes)
    yield "smallest size", str(side.smallest)
    yield "largest size", str(side.largest)
