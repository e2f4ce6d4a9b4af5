"""Why a size changes, in the words of events; and in which direction such words went."""

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
    """A metric asks for more."""
    return f"{metric}{_ABOVE_TARGET}"


def fallback_asks(metric: str, *, more: bool) -> str:
    """The fallback of a metric without a value asks for another size."""
    return f"{_FALLBACK}{metric}{_MORE if more else _LESS}"


def above_bound(bound: str) -> str:
    """The size is above a maximum; `bound` says whose."""
    return f"{_ABOVE_BOUND}{bound}"


def below_bound(bound: str) -> str:
    """The size is below a minimum; `bound` says whose."""
    return f"{_BELOW_BOUND}{bound}"


def direction_of(reason: str) -> Direction | None:
    """OUT or IN, for one of these reasons and what may follow it; None for any other text."""
    if reason.startswith(_FALLBACK):
        return Direction.OUT if _MORE in reason else Direction.IN if _LESS in reason else None
    if reason.startswith((ALL_BELOW_TARGET, _ABOVE_BOUND)):
        return Direction.IN
    return Direction.OUT if reason.startswith(_BELOW_BOUND) or _ABOVE_TARGET in reason else None
