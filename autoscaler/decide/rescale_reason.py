"""The reasons of size changes as events state them, and the direction that a reason implies."""

from typing import Final

from autoscaler.model import Direction

ALL_BELOW_TARGET: Final = "All metrics below target"
_ABOVE_TARGET: Final = " above target"
_ABOVE_BOUND: Final = "the size is above "
_BELOW_BOUND: Final = "the size is below "
_FALLBACK: Final = "the fallback of "
_MORE: Final = " asks for more"
_LESS: Final = " asks for less"


def metric_above_target(metric: str) -> str:
    """Return the reason for a metric that asks for more."""
    return f"{metric}{_ABOVE_TARGET}"


def fallback_asks(metric: str, *, more: bool) -> str:
    """Return the reason for a fallback that asks for another size."""
    return f"{_FALLBACK}{metric}{_MORE if more else _LESS}"


def above_bound(bound: str) -> str:
    """Return the reason for a size above a maximum. `bound` names what sets it."""
    return f"{_ABOVE_BOUND}{bound}"


def below_bound(bound: str) -> str:
    """Return the reason for a size below a minimum. `bound` names what sets it."""
    return f"{_BELOW_BOUND}{bound}"


def direction_of(reason: str) -> Direction | None:
    """Return OUT or IN for one of these reasons, also with text after it, or None for any other text."""
    if reason.startswith(_FALLBACK):
        return Direction.OUT if _MORE in reason else Direction.IN if _LESS in reason else None
    if reason.startswith((ALL_BELOW_TARGET, _ABOVE_BOUND)):
        return Direction.IN
    return Direction.OUT if reason.startswith(_BELOW_BOUND) or _ABOVE_TARGET in reason else None
