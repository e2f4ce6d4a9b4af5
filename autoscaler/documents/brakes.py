"""Brakes as they are shown: those that an autoscaler has, and those that are on."""

from collections.abc import Iterator

from autoscaler.documents.base import Document, Seconds
from autoscaler.model import Brake, Brakes
from autoscaler.quantity import format_duration


class BrakeDocument(Document):
    """A brake as it is configured."""

    brake: Brake
    percent: int | None
    """Of `unfulfilled` and `loss`: the share from which on it counts; null: it has none."""
    duration_seconds: Seconds
    """The progress deadline of `unfulfilled`; how long the others hold."""
    text: str
    """What it does, such as `no scale-in for 5m after 30 % of the instances were gone at once`."""


class ActiveBrakeDocument(Document):
    """A brake that is on, whether or not the metrics ask for what it prevents."""

    brake: Brake
    reason: str
    """Of the condition AbleToScale where it prevents a change."""
    message: str


def configured(brakes: Brakes) -> tuple[BrakeDocument, ...]:
    """Those that an autoscaler has."""
    return tuple(_configured(brakes))


def _configured(brakes: Brakes) -> Iterator[BrakeDocument]:
    unfulfilled, loss, outside = brakes.unfulfilled, brakes.loss, brakes.outside_change
    if unfulfilled is not None:
        percent, span = unfulfilled.percent, unfulfilled.progress_deadline
        text = f"does not grow once more than {percent} % has been missing for {format_duration(span)} without progress"
        yield BrakeDocument(brake=Brake.UNFULFILLED, percent=percent, duration_seconds=span, text=text)
    if loss is not None:
        text = (
            f"no scale-in for {format_duration(loss.hold)} after {loss.percent} % or more of the instances were gone "
            "at once"
        )
        yield BrakeDocument(brake=Brake.LOSS, percent=loss.percent, duration_seconds=loss.hold, text=text)
    if outside is not None:
        text = f"a size that somebody else set is left for {format_duration(outside.hold)}"
        yield BrakeDocument(brake=Brake.OUTSIDE_CHANGE, percent=None, duration_seconds=outside.hold, text=text)
