"""`autoscaler shadow`: a target and the shadow of its dry run."""

from collections.abc import Iterator
from datetime import timedelta

from autoscaler.documents.shadow import ShadowDocument, SideDocument
from autoscaler.layout import YELLOW, Screen, Table
from autoscaler.quantity import format_seconds
from autoscaler.text import clean


def shadow_rows(found: ShadowDocument, screen: Screen) -> Iterator[str]:
    """Yield a sentence, the table, and the reasons to doubt it; in lines."""
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
        yield f"This excludes {format_seconds(missing)} without decisions."
    for text in _doubts(found):
        yield ""
        yield from (screen.paint(YELLOW, line) for line in screen.wrap(text))


def _doubts(found: ShadowDocument) -> Iterator[str]:
    if found.saturated_seconds:
        yield (
            f"For {format_seconds(found.saturated_seconds)} the target was too small for its load. The metrics may "
            "show too little of it then, and the shadow may be too small."
        )
    if found.guessed_seconds:
        yield (
            f"For {format_seconds(found.guessed_seconds)} the length that a queue would have had with the shadow's "
            "instances is unknown; `autoscaler explain` shows why."
        )


def _cells(side: SideDocument) -> Iterator[tuple[str, str]]:
    yield "instance-hours", f"{side.instance_hours:.2f}"
    yield "above target", format_seconds(side.above_target_seconds)
    yield "at the maximum", format_seconds(side.at_maximum_seconds)
    yield "changes of size", str(side.changes)
    yield "changes of direction", str(side.direction_changes)
    yield "smallest size", str(side.smallest)
    yield "largest size", str(side.largest)
