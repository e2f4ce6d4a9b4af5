"""The values that `tune` tries for the targets, windows, tolerances and policies of an autoscaler."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum
from functools import partial
from typing import Any, Final

from autoscaler.decide.proposals import tolerances_of
from autoscaler.decide.stabilization import down_window, up_window
from autoscaler.model import (
    Autoscaler,
    Behavior,
    PolicyType,
    ScalingPolicy,
    ScalingRules,
    SelectPolicy,
    TargetType,
)
from autoscaler.whatif.tune.search import Point, Space


class Group(StrEnum):
    """Keys that `--keep` leaves as they are."""

    TARGET = "target"
    STABILIZATION = "stabilization"
    TOLERANCE = "tolerance"
    POLICIES = "policies"


@dataclass(frozen=True, slots=True)
class Axis:
    """A key with the values to try."""

    group: Group
    values: tuple[Any, ...]
    start: int
    """The place of the value in force."""
    apply: Callable[[Autoscaler, Any], Autoscaler]
    """Puts a value into an autoscaler."""


class Choices:
    """All combinations of values for one autoscaler."""

    def __init__(self, scaler: Autoscaler, kept: Collection[Group] = ()) -> None:
        """`kept`: the keys to leave as they are."""
        self._scaler: Final = scaler
        self._axes: Final = [axis for axis in _axes(scaler) if axis.group not in kept and len(axis.values) > 1]

    @property
    def space(self) -> Space:
        """The combinations, for the search."""
        return Space(tuple([len(axis.values) for axis in self._axes]), tuple([axis.start for axis in self._axes]))

    def at(self, point: Point) -> Autoscaler:
        """The autoscaler with a combination. At the start of the space it is the autoscaler itself."""
        made = self._scaler
        for axis, place in zip(self._axes, point, strict=True):
            if place != axis.start:
                made = axis.apply(made, axis.values[place])
        return made


_FACTORS: Final = (0.6, 0.7, 0.8, 0.9, 1.1, 1.2, 1.35, 1.5)
"""Multiples of the target in force."""
_TOLERANCES: Final = (0.0, 0.05, 0.1, 0.15, 0.2, 0.3)
_UP_WINDOWS: Final = tuple(timedelta(seconds=each) for each in (0, 30, 60, 120, 300))
_DOWN_WINDOWS: Final = tuple(timedelta(seconds=each) for each in (0, 60, 120, 300, 600, 900, 1800))
_Rules = tuple[SelectPolicy, tuple[ScalingPolicy, ...]]
"""`selectPolicy` and `policies`."""


def _rules(*policies: tuple[PolicyType, int, int]) -> _Rules:
    made = [ScalingPolicy(kind, value, timedelta(seconds=seconds)) for kind, value, seconds in policies]
    return SelectPolicy.MAX, tuple(made)


_PERCENT, _PODS = PolicyType.PERCENT, PolicyType.PODS
_UP_RULES: Final = (
    _rules((_PODS, 4, 15), (_PERCENT, 100, 15)),  # autoscaling/v2's default
    _rules((_PODS, 4, 60), (_PERCENT, 100, 60)),
    _rules((_PODS, 2, 60), (_PERCENT, 50, 60)),
    _rules((_PODS, 1, 60), (_PERCENT, 20, 60)),
)
"""From the fastest to the slowest. Each allows at least one instance, so that a small size can grow."""
_DOWN_RULES: Final = (
    _rules((_PERCENT, 100, 15)),  # autoscaling/v2's default
    _rules((_PERCENT, 50, 60)),
    _rules((_PERCENT, 20, 60)),
    _rules((_PERCENT, 10, 60)),
    _rules((_PODS, 1, 60)),
)


def _axes(scaler: Autoscaler) -> Iterator[Axis]:
    for place, metric in enumerate(scaler.metrics):
        yield _axis(Group.TARGET, _targets(scaler, place), metric.target.value, partial(_with_target, place))
    behavior, tolerances = scaler.behavior or Behavior(), tolerances_of(scaler)
    sides = {
        "scale_up": (behavior.scale_up, up_window(scaler), tolerances.up),
        "scale_down": (behavior.scale_down, down_window(scaler), tolerances.down),
    }
    windows = {"scale_up": _UP_WINDOWS, "scale_down": _DOWN_WINDOWS}
    usual = {"scale_up": _UP_RULES, "scale_down": _DOWN_RULES}
    for side, (rules, window, tolerance) in sides.items():
        if rules.select_policy is SelectPolicy.DISABLED:  # the operator wants no change in this direction
            continue
        yield _axis(Group.STABILIZATION, windows[side], window, partial(_with_rules, side, "stabilization_window"))
        yield _axis(Group.TOLERANCE, _TOLERANCES, tolerance, partial(_with_rules, side, "tolerance"))
        own = rules.select_policy, rules.policies
        yield _axis(Group.POLICIES, usual[side], own, partial(_with_policies, side))


def _axis(group: Group, usual: Collection[Any], own: Any, apply: Callable[[Autoscaler, Any], Autoscaler]) -> Axis:
    """An axis of the usual values and the one in force, sorted if possible."""
    values = [*usual, *([] if own in usual else [own])]
    if group is not Group.POLICIES:
        values.sort()
    return Axis(group, tuple(values), values.index(own), apply)


def _targets(scaler: Autoscaler, place: int) -> Collection[int]:
    """Values around the target in force, in two digits; a utilization is at most 100 %."""
    target = scaler.metrics[place].target
    found = dict.fromkeys([target.value, *[_rounded(target.value * factor) for factor in _FACTORS]])
    if target.type is TargetType.UTILIZATION:
        return [each for each in found if each <= max(100, target.value)]
    return list(found)


def _rounded(value: float) -> int:
    step: int = 10 ** max(0, len(str(int(value))) - 2)
    return max(1, int(value / step + 0.5) * step)


def _with_target(place: int, scaler: Autoscaler, value: int) -> Autoscaler:
    metric = scaler.metrics[place]
    changed = replace(metric, target=replace(metric.target, value=value))
    return replace(scaler, metrics=(*scaler.metrics[:place], changed, *scaler.metrics[place + 1 :]))


def _with_rules(side: str, name: str, scaler: Autoscaler, value: Any) -> Autoscaler:
    return _changed(scaler, side, {name: value})


def _with_policies(side: str, scaler: Autoscaler, value: _Rules) -> Autoscaler:
    return _changed(scaler, side, {"select_policy": value[0], "policies": value[1]})


def _changed(scaler: Autoscaler, side: str, changes: Mapping[str, Any]) -> Autoscaler:
    behavior = scaler.behavior or Behavior()
    rules: ScalingRules = getattr(behavior, side)
    changed: dict[str, Any] = {side: replace(rules, **changes)}
    return replace(scaler, behavior=replace(behavior, **changed))
