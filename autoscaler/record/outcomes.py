"""Converts the outcome of a write to plain values and back."""

from collections.abc import Mapping
from typing import Any, Final

from autoscaler.errors import AutoscalerError, TargetError, error_class, error_of
from autoscaler.model import Conflict, Held, HoldReason, Outcome, Proposed, Unchanged, Written


def failure(error: AutoscalerError) -> tuple[str, str]:
    """Return class and text of an error."""
    return error_class(error), str(error)


_SIZED: Final[Mapping[str, type[Written] | type[Proposed]]] = {"Written": Written, "Proposed": Proposed}


def outcome_columns(outcome: Outcome) -> tuple[str, int | str | tuple[str, str] | None]:
    """Return the class of an outcome, and its size, text, or a hold's reason and message."""
    match outcome:
        case Written(size) | Proposed(size):
            return type(outcome).__name__, size
        case Held(hold):
            return "Held", (hold.reason, hold.message)
        case Conflict(message):
            return "Conflict", message
        case Unchanged():
            return "Unchanged", None
        case TargetError():
            return failure(outcome)


def outcome_from(name: str, value: Any) -> Outcome:
    """Return the outcome of `outcome_columns`."""
    if name in _SIZED:
        return _SIZED[name](value)
    if name == "Held":
        return Held(HoldReason(*value))
    if name == "Conflict":
        return Conflict(value)
    return Unchanged() if name == "Unchanged" else error_of(name, value, TargetError)
