"""What comes next: when windows and policies let go, and what a decision would be if the metrics stayed or changed.

Everything is found by asking `decide` again, so that it cannot say otherwise than the next cycles will.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, TypeVar

from msgspec.structs import replace

from autoscaler.decide import decide, remember
from autoscaler.hpa.policies import limit
from autoscaler.hpa.stabilization import down_window, up_window
from autoscaler.model import (
    MAX_SIZE,
    Autoscaler,
    Behavior,
    Bound,
    Bounds,
    Decision,
    Direction,
    Failure,
    History,
    InstanceReading,
    Observation,
    Reading,
    Reason,
    Recommendation,
    SelectPolicy,
    Step,
)
from autoscaler.rules import changes_proposals

_MAX_CYCLES: Final = 1_000
"""That are tried out, at most."""
_ANY_SIZE: Final = Bounds(Bound(0, ""), Bound(MAX_SIZE, ""))


@dataclass(frozen=True, slots=True)
class StabilizingRecommendation:
    """A recommendation that keeps the size where it is."""

    replicas: int
    until: datetime
    """When the last of its kind leaves the window."""


@dataclass(frozen=True, slots=True)
class Move:
    """The first change of size that would come."""

    at: datetime
    size: int
    reason: str


@dataclass(frozen=True, slots=True)
class Forecast:
    """The result of a row of equal cycles."""

    move: Move | None
    """The first change; None: there is none."""
    hurdles: Sequence[Step]
    """What stands in the way of it in the next cycle; without a change, what stays in the way."""


def stabilizing_recommendation(
    decision: Decision, before: Sequence[Recommendation], scaler: Autoscaler
) -> StabilizingRecommendation | None:
    """What a stabilization window held this decision to, and until when; None: nothing."""
    step = next(
        (step for step in decision.trace if step.reason in (Reason.SCALE_DOWN_STABILIZED, Reason.SCALE_UP_STABILIZED)),
        None,
    )
    if step is None or decision.current is None:
        return None
    down = step.reason == Reason.SCALE_DOWN_STABILIZED
    window = down_window(scaler) if down else up_window(scaler)
    cutoff = decision.now - window
    counted = [known for known in before if (known.at >= cutoff if scaler.behavior is None else known.at > cutoff)]
    counted += decision.remembered.recommendations[:-1]  # a first cycle's own size
    holding = [known for known in counted if (known.replicas > step.before if down else known.replicas < step.before)]
    if not holding:
        return None
    replicas = max(known.replicas for known in holding) if down else min(known.replicas for known in holding)
    last = max(known.at for known in holding if known.replicas == replicas)
    return StabilizingRecommendation(replicas, last + window)


def allowed(size: int, behavior: Behavior, known: History, direction: Direction, now: datetime) -> int:
    """Return the largest size (OUT) or the smallest size (IN) that the policies allow at `now`, starting from `size`.

    The autoscaler's bounds do not count.
    """
    extreme = MAX_SIZE if direction is Direction.OUT else 0
    return limit(extreme, size, _ANY_SIZE, behavior, known.hpa.scale_ups, known.hpa.scale_downs, now).after


def next_allowance(
    size: int, behavior: Behavior, known: History, direction: Direction, now: datetime
) -> tuple[datetime, int] | None:
    """Return when the policies will allow a larger size (OUT) or a smaller one (IN) than at `now`, and that size.

    None: they will not, unless the size changes.
    """
    rules = behavior.scale_up if direction is Direction.OUT else behavior.scale_down
    if rules.select_policy is SelectPolicy.DISABLED:
        return None
    changes = [*known.hpa.scale_ups, *known.hpa.scale_downs]
    moments = {change.at + policy.period for change in changes for policy in rules.policies}
    present = allowed(size, behavior, known, direction, now)
    for moment in sorted(moment for moment in moments if moment > now):
        then = allowed(size, behavior, known, direction, moment)
        if (then > present) if direction is Direction.OUT else (then < present):
            return moment, then
    return None


def lookback(scaler: Autoscaler) -> timedelta:
    """Return how long a remembered recommendation, change or value can influence decisions.

    That is the longest of all windows, periods of policies, and times of rules.
    """
    longest, behavior = scaler.options.downscale_stabilization, scaler.behavior
    longest = max([longest, *[each for rule in scaler.rules for each in rule.times]])
    if behavior is None:
        return longest
    for rules in (behavior.scale_up, behavior.scale_down):
        window = rules.stabilization_window
        longest = max([longest, *([] if window is None else [window]), *[policy.period for policy in rules.policies]])
    return longest


def forecast(scaler: Autoscaler, observed: Observation, after: History, now: datetime, horizon: timedelta) -> Forecast:
    """Return the first change of the size if every later cycle observes the same as `observed`.

    It looks no further than `horizon`. `after`: what is remembered at `now`. Pauses and overrides end at their times.
    """
    known, first = after, None
    for cycle in range(1, max(1, min(_MAX_CYCLES, horizon // scaler.sync_period + 2)) + 1):
        ahead = cycle * scaler.sync_period
        made = decide(scaler, _later(observed, ahead), known, now + ahead)
        first = first or made
        if made.change is not None:
            return Forecast(Move(made.now, made.change.size, made.change.reason), _hurdles(first))
        known = remember(scaler, known, made)
    return Forecast(None, _hurdles(made))


def _hurdles(decision: Decision) -> Sequence[Step]:
    """Return the steps after the metrics that changed the size."""
    return [
        step
        for step in decision.trace
        if step.before != step.after and step.reason not in _NOT_HURDLES and not changes_proposals(step.source)
    ]


_NOT_HURDLES: Final = frozenset({Reason.VALID_METRIC_FOUND, Reason.RESCALE, Reason.SETTLED})


def _later(observed: Observation, ahead: timedelta) -> Observation:
    """The same, measured later: samples stay as fresh as they were."""
    return replace(
        observed,
        readings=tuple([_refreshed(reading, ahead) for reading in observed.readings]),
        fallbacks=tuple([_refreshed(reading, ahead) for reading in observed.fallbacks]),
    )


_ReadingT = TypeVar("_ReadingT", bound=Reading | Failure | None)


def _refreshed(reading: _ReadingT, ahead: timedelta) -> _ReadingT:
    if not isinstance(reading, InstanceReading):
        return reading
    samples = {name: replace(known, timestamp=known.timestamp + ahead) for name, known in reading.samples.items()}
    return replace(reading, samples=samples)
