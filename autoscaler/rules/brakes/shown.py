"""What an autoscaler shows of its brakes: those that it has, and those that are on."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from autoscaler.document import Document
from autoscaler.rules.brakes.common import Brake
from autoscaler.rules.shown import Line, Remark, ShownMemory, ShownSettings

if TYPE_CHECKING:
    from autoscaler.rules.brakes import BrakeMemory, Brakes


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


class ShownBrakes(ShownSettings):
    """The configured brakes."""

    brakes: tuple[BrakeDocument, ...] = ()

    @classmethod
    def of_rule(cls, rule: "Brakes") -> "ShownBrakes":
        """Return the configured ones."""
        return cls(brakes=tuple(map(BrakeDocument.of, rule.all)))

    def as_lines(self) -> Iterable[Line]:
        """Yield the effect of each."""
        for each in self.brakes:
            yield Line(f"Brake {each.brake}", each.text)


class ShownActiveBrakes(ShownMemory):
    """The brakes that are on."""

    brakes: tuple[ActiveBrakeDocument, ...] = ()
    """The brakes that were on, even if the metrics did not ask for the change that they prevent."""

    @classmethod
    def of_memory(cls, memory: "BrakeMemory") -> "ShownActiveBrakes":
        """Return those that are on."""
        return cls(brakes=tuple(map(ActiveBrakeDocument.of, memory.active)))

    def remarks(self) -> Iterable[Remark]:
        """Yield each with what turned it on."""
        for each in self.brakes:
            yield Remark(
                Line("Brake on", f"{each.brake}: {each.message}"),
                now=f"The brake {each.brake} is on: {each.message}",
                past=f"The brake {each.brake} was on, and had no change to prevent: {each.message}",
                message=each.message,
                urgent=True,
            )
