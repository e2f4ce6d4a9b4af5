"""`brakes`: of an autoscaler, or of the controller for all that do not say otherwise."""

from typing import Annotated, Any, Final, Literal, TypeAlias, TypeVar

from pydantic import BeforeValidator, Discriminator, Field, Strict, Tag

from autoscaler import model
from autoscaler.config.fields import PositiveDuration, Section

_UNFULFILLED: Final = model.UnfulfilledBrake()
_LOSS: Final = model.LossBrake()
_OUTSIDE_CHANGE: Final = model.OutsideChangeBrake()

Percent: TypeAlias = Annotated[int, Strict(), Field(ge=1, le=100)]


class Unfulfilled(Section):
    """Grow no further while much of what was asked for does not arrive."""

    percent: Percent = _UNFULFILLED.percent
    """On when more than this share of the size does not exist, and at least 3 instances."""
    progress_deadline: PositiveDuration = _UNFULFILLED.progress_deadline
    """And for so long no more have existed than ever since."""

    def spec(self) -> model.UnfulfilledBrake:
        """The frozen brake."""
        return model.UnfulfilledBrake(self.percent, self.progress_deadline)


class Loss(Section):
    """No scale-in after many instances were gone at once."""

    percent: Percent = _LOSS.percent
    """On when this share or more of those that ran are gone from one cycle to the next, and at least 3 instances."""
    hold: PositiveDuration = _LOSS.hold
    """How long there is no scale-in."""

    def spec(self) -> model.LossBrake:
        """The frozen brake."""
        return model.LossBrake(self.percent, self.hold)


class OutsideChange(Section):
    """Leave a size that somebody else set."""

    hold: PositiveDuration = _OUTSIDE_CHANGE.hold
    """How long, within the bounds."""

    def spec(self) -> model.OutsideChangeBrake:
        """The frozen brake."""
        return model.OutsideChangeBrake(self.hold)


def _not_true(value: Any) -> Any:
    if value is True:
        raise ValueError("true is not enough; write {} for the defaults, or false for none")
    return value


def _form(value: Any) -> str:
    """The tag is a part of pydantic's locations: it must not look like a key."""
    return "none" if value is False else "a brake"


_BrakeT = TypeVar("_BrakeT", bound=Section)
_OrFalse: TypeAlias = Annotated[
    Annotated[_BrakeT, Tag("a brake")] | Annotated[Literal[False], Tag("none")],
    Discriminator(_form),
    BeforeValidator(_not_true),
]


class Brakes(Section):
    """What keeps the size where it is while something is wrong around the target. Each is off unless it stands here."""

    unfulfilled: _OrFalse[Unfulfilled] | None = None
    """Grow no further while much of what was asked for does not arrive; false: not even if the controller says so."""
    loss: _OrFalse[Loss] | None = None
    """No scale-in after many instances were gone at once; false: not even if the controller says so."""
    outside_change: _OrFalse[OutsideChange] | None = None
    """Leave a size that somebody else set; false: not even if the controller says so."""

    def spec(self, controller: "Brakes | None" = None) -> model.Brakes:
        """The frozen brakes; an entry that is left out is the `controller`'s."""
        default = Brakes() if controller is None else controller
        unfulfilled = default.unfulfilled if self.unfulfilled is None else self.unfulfilled
        loss = default.loss if self.loss is None else self.loss
        outside = default.outside_change if self.outside_change is None else self.outside_change
        made = model.Brakes(
            unfulfilled.spec() if unfulfilled else None,
            loss.spec() if loss else None,
            outside.spec() if outside else None,
        )
        return model.NO_BRAKES if made == model.NO_BRAKES else made
