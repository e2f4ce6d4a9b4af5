"""Brakes: those that an autoscaler has, and those that are on."""

from collections.abc import Iterator

from autoscaler.documents.base import Document
from autoscaler.model import Brake, Brakes
from autoscaler.quantity import format_duration


class BrakeDocument(Document):
    """A configured brake."""

    brake: Brake
    text: str
    """Its effect, such as `no scale-in for 5m after 30 % or more of the instances were gone at once`."""


class ActiveBrakeDocument(Document):
    """A brake that is on, even if the metrics do not ask for the change that it prevents."""

    brake: Brake
    reason: str
    """The reason of AbleToScale if the brake prevents a change."""
    message: str


def configured(brakes: Brakes) -> tuple[BrakeDocument, ...]:
    """Return the documents of an autoscaler's brakes."""
    return tuple(_configured(brakes))


def _configured(brakes: Brakes) -> Iterator[BrakeDocument]:
    unfulfilled, loss, outside = brakes.unfulfilled, brakes.loss, brakes.outside_change
    if unfulfilled is not None:
        percent, span = unfulfilled.percent, unfulfilled.progress_deadline
        text = f"no scale-out after more than {percent} % was missing for {format_duration(span)} without progress"
        yield BrakeDocument(brake=Brake.UNFULFILLED, text=text)
    if loss is not None:
        text = (
            f"no scale-in for {format_duration(loss.hold)} after {loss.percent} % or more of the instances were gone "
            "at once"
        )
        yield BrakeDocument(brake=Brake.LOSS, text=text)
    if outside is not None:
        text = f"a size that another program or person set is kept for {format_duration(outside.hold)}"
        yield BrakeDocument(brake=Brake.OUTSIDE_CHANGE, text=text)
