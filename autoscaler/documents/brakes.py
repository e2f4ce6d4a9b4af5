"""Brakes: those that an autoscaler has, and those that are on."""

from autoscaler.documents.base import Document
from autoscaler.rules.brakes import Brake, Brakes


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


def configured(brakes: Brakes | None) -> tuple[BrakeDocument, ...]:
    """Return the documents of an autoscaler's brakes."""
    return () if brakes is None else tuple([BrakeDocument(brake=brake, text=text) for brake, text in brakes.texts])
