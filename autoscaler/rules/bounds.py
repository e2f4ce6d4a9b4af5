"""The bounds in force: of the specification, the rules and the target."""

from collections.abc import Iterable
from typing import Final

from msgspec.structs import replace

from autoscaler.hpa.policies import own_bounds
from autoscaler.hpa.proposals import can_wake
from autoscaler.model import TARGET, Autoscaler, Bound, Bounds, TargetState
from autoscaler.model.target import Limits
from autoscaler.rules.rule import Said

_MEASURABLE: Final = "the smallest size that the metrics can measure"


def in_force(scaler: Autoscaler, said: Iterable[Said], state: TargetState) -> Bounds:
    """Return the bounds of the specification, as the rules change them, within the target's own."""
    bounds = combined(scaler, said, state.limits)
    minimum, maximum = bounds.minimum, bounds.maximum
    if state.replicas == minimum.size == 0 < maximum.size and not can_wake(scaler):
        return Bounds(Bound(1, _MEASURABLE), maximum)
    return bounds


def combined(scaler: Autoscaler, said: Iterable[Said], limits: Limits) -> Bounds:
    """Return the bounds of the specification and the rules, within the target's own `limits`.

    Where a minimum is above a maximum and one of them also bounds recommendations, the bound of the later rule wins;
    of one rule, its minimum.
    """
    own = own_bounds(scaler.min_replicas, scaler.max_replicas)
    minimum, maximum = own.minimum, own.maximum
    low_rank = high_rank = 0
    at_least: list[Bound] = []
    for rank, each in enumerate(said, start=1):
        if each.minimum is not None:
            minimum, low_rank = each.minimum, rank
        if each.maximum is not None:
            maximum, high_rank = each.maximum, rank
        if each.at_least is not None:
            at_least.append(each.at_least)
    for least in at_least:
        if minimum.size < least.size <= maximum.size:
            minimum = replace(minimum, size=least.size, of=least.of, source=least.source)
    if minimum.size > maximum.size and (minimum.recommended or maximum.recommended):
        if low_rank >= high_rank:
            maximum = replace(maximum, size=minimum.size, of=minimum.of)
        else:
            minimum = replace(minimum, size=maximum.size, of=maximum.of)
    minimum, maximum = _narrowed(minimum, maximum, limits)
    return own if minimum is own.minimum and maximum is own.maximum else Bounds(minimum, maximum)


def _narrowed(minimum: Bound, maximum: Bound, limits: Limits) -> tuple[Bound, Bound]:
    """Return the bounds within the target's own. One that also bounds recommendations moves to theirs."""
    low, high = limits.minimum, limits.maximum
    if low > minimum.size:
        minimum = Bound(low, f"the minimum of {limits.source}", TARGET)
        if low > maximum.size and maximum.recommended:
            maximum = replace(maximum, size=low, of=minimum.of)
    if high is not None and high < maximum.size:
        maximum = Bound(high, f"the maximum of {limits.source}", TARGET)
        if high < minimum.size and minimum.recommended:
            minimum = replace(minimum, size=high, of=maximum.of)
    return minimum, maximum
