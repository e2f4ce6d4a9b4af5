"""What comes next: when windows and policies let go, and what a decision would be if the metrics stayed or changed.

Everything is found by asking `decide` again, so that it cannot say otherwise than the next cycles will.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, TypeVar

from msgspec.structs import replace

from autoscaler.decide import decide, remember
from autoscaler.document import Document, Seconds
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


class Stabilization(Document):
    """The recommendation in the stabilization window that kept the size."""

    direction: Direction
    recommendation: int
    until: datetime
    """When the last recommendation of this size leaves the window."""
    remaining_seconds: Seconds


class Allowance(Document):
    """The sizes that the scaling policies of one direction allow."""

    direction: Direction
    size: int
    """The farthest size that the policies allow now, without regard to the bounds."""
    next_size: int | None
    """The farthest size after the next change leaves a policy's period; null: none."""
    next_seconds: Seconds | None


class MoveDocument(Document):
    """A future change of size."""

    at: datetime
    in_seconds: Seconds
    size: int
    reason: str


@dataclass(frozen=True, slots=True)
class Forecast:
    """The result of a row of equal cycles."""

    move: MoveDocument | None
    """The first change; None: there is none."""
    hurdles: Sequence[Step]
    """What stands in the way of it in the next cycle; without a change, what stays in the way."""


def stabilization(decision: Decision, before: Sequence[Recommendation], scaler: Autoscaler) -> Stabilization | None:
    """Return what a stabilization window held this decision to, and until when; None: nothing."""
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
    until = window + max(known.at for known in holding if known.replicas == replicas)
    return Stabilization(
        direction=Direction.IN if down else Direction.OUT,
        recommendation=replicas,
        until=until,
        remaining_seconds=until - decision.now,
    )


def allowance(size: int, behavior: Behavior, known: History, direction: Direction, now: datetime) -> Allowance:
    """Return the farthest size in a direction (OUT or IN) that the policies allow from `size` now, and the next one.

    The autoscaler's bounds do not count.
    """
    out = direction is Direction.OUT
    rules = behavior.scale_up if out else behavior.scale_down

    def allowed(at: datetime) -> int:
        extreme = MAX_SIZE if out else 0
        return limit(extreme, size, _ANY_SIZE, behavior, known.hpa.scale_ups, known.hpa.scale_downs, at).after

    changes = [*known.hpa.scale_ups, *known.hpa.scale_downs]
    ends = {change.at + policy.period for change in changes for policy in rules.policies}
    present, coming = allowed(now), None
    if rules.select_policy is not SelectPolicy.DISABLED:
        later = ((at, allowed(at)) for at in sorted(at for at in ends if at > now))
        coming = next(((at, then) for at, then in later if (then > present if out else then < present)), None)
    return Allowance(
        direction=direction,
        size=present,
        next_size=None if coming is None else coming[1],
        next_seconds=None if coming is None else coming[0] - now,
    )


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
            change = made.change
            move = MoveDocument(at=made.now, in_seconds=ahead, size=change.size, reason=change.reason)
            return Forecast(move, _hurdles(first))
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
