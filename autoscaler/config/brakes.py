"""The field `brakes` of an autoscaler; the controller's is the default for all autoscalers."""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, TypeAlias, TypeVar

from pydantic import BeforeValidator, Field, Strict, Tag

from autoscaler import model
from autoscaler.config.fields import PositiveDuration, Section, two_forms

_UNFULFILLED: Final = model.UnfulfilledBrake()
_LOSS: Final = model.LossBrake()
_OUTSIDE_CHANGE: Final = model.OutsideChangeBrake()

Percent: TypeAlias = Annotated[int, Strict(), Field(ge=1, le=100)]


class Unfulfilled(Section):
    """Stops scale-out while many of the requested instances do not start."""

    percent: Percent = _UNFULFILLED.percent
    """Applies when more than this share of the size is missing, and at least 3 instances."""
    progress_deadline: PositiveDuration = _UNFULFILLED.progress_deadline
    """How long the number of instances must not have reached a new high."""


class Loss(Section):
    """Stops scale-in after many instances disappeared at once."""

    percent: Percent = _LOSS.percent
    """Applies when at least this share of the instances, and at least 3, disappears from one cycle to the next."""
    hold: PositiveDuration = _LOSS.hold
    """How long scale-in is stopped."""


class OutsideChange(Section):
    """Keeps a size that another program or person set."""

    hold: PositiveDuration = _OUTSIDE_CHANGE.hold
    """How long the size is kept, within minReplicas and maxReplicas."""


def _not_true(value: Any) -> Any:
    if value is True:
        raise ValueError("true is not enough; write {} for the defaults, or false for none")
    return value


_BrakeT = TypeVar("_BrakeT", bound=Section)
_OrFalse: TypeAlias = Annotated[
    Annotated[_BrakeT, Tag("a brake")] | Annotated[Literal[False], Tag("none")],
    two_forms(bool, "none", "a brake"),
    BeforeValidator(_not_true),
]
_MODELS: Final[Mapping[str, Any]] = {
    "unfulfilled": model.UnfulfilledBrake,
    "loss": model.LossBrake,
    "outside_change": model.OutsideChangeBrake,
}


class Brakes(Section):
    """Stop scaling while something is wrong with the target. Each brake is off by default."""

    unfulfilled: _OrFalse[Unfulfilled] | None = None
    """Stops scale-out while many requested instances do not start; false: off, even if the controller sets it."""
    loss: _OrFalse[Loss] | None = None
    """Stops scale-in after many instances disappeared at once; false: off, even if the controller sets it."""
    outside_change: _OrFalse[OutsideChange] | None = None
    """Keeps a size that another program or person set; false: off, even if the controller sets it."""

    def spec(self, controller: "Brakes | None" = None) -> model.Brakes:
        """Return the frozen brakes; the `controller`'s are the defaults."""
        default = {} if controller is None else dict(controller)
        chosen = {name: default.get(name) if own is None else own for name, own in self}
        made = model.Brakes(**{name: _MODELS[name](**dict(own)) for name, own in chosen.items() if own})
        return model.NO_BRAKES if made == model.NO_BRAKES else made
