"""A target and the shadow of its dry run over the same time: what `/shadow` answers."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from autoscaler.decide.shadow import is_above, unknown_backlogs
from autoscaler.model import Shadow, TargetState

if TYPE_CHECKING:  # the command line reads documents that a daemon made, and needs no SQLAlchemy for it
    from autoscaler.record import Record

GAP: Final = 2.5
"""Sync periods from one cycle to the next: more is a gap."""


@dataclass(slots=True)
class Side:
    """What the target came to, or its shadow."""

    instance_hours: float = 0.0
    """The size, summed up over time."""
    seconds_above_target: float = 0.0
    """In which a metric was above its target, outside the tolerance."""
    seconds_at_maximum: float = 0.0
    """In which the size was the largest that the bounds in force allowed."""
    changes: int = 0
    """Of size, from one cycle to the next."""
    changes_of_direction: int = 0
    """How often a change went the other way than the one before it."""
    smallest: int = 0
    largest: int = 0


class ShadowComparison(NamedTuple):
    """What both came to."""

    since: datetime
    until: datetime
    """The end of the last cycle, which stands for one sync period."""
    cycles: int
    covered_seconds: float
    """Without the gaps: before one, a cycle stands for one sync period."""
    target: Side
    shadow: Side
    saturated_seconds: float
    """In which the target was too small for its load, as the shadow was told."""
    guessed_seconds: float
    """In which the length that a backlog would have had under the shadow is not known."""


class _Cycle(NamedTuple):
    """What is kept of one."""

    at: datetime
    period: timedelta
    target: int
    shadow: int
    maximum: int | None
    target_above: bool
    shadow_above: bool
    saturated: bool
    guessed: bool


def comparison(records: Iterable["Record"]) -> ShadowComparison | None:
    """Of the recorded cycles that have a shadow and whose target could be read, in order; None: there is none.

    A cycle that is not later than the one before it is left out: the wall clock was set back.
    """
    cycles = list[_Cycle]()
    for record in records:
        cycle = _cycle_of(record)
        if cycle is not None and (not cycles or cycle.at > cycles[-1].at):
            cycles.append(cycle)
    if not cycles:
        return None
    seconds = [*[_seconds(*pair) for pair in pairwise(cycles)], cycles[-1].period.total_seconds()]
    return ShadowComparison(
        cycles[0].at,
        cycles[-1].at + cycles[-1].period,
        len(cycles),
        sum(seconds),
        _side([(each.target, each.maximum, each.target_above) for each in cycles], seconds),
        _side([(each.shadow, each.maximum, each.shadow_above) for each in cycles], seconds),
        sum(length for each, length in zip(cycles, seconds, strict=True) if each.saturated),
        sum(length for each, length in zip(cycles, seconds, strict=True) if each.guessed),
    )


def _cycle_of(record: "Record") -> _Cycle | None:
    """The decision's metrics are as the shadow saw them; of the target's it is known whether one was above target."""
    made = record.decision
    shadow = made.shadow_memory
    if record.observation is None or shadow is None or made.current is None or made.shadow is None:
        return None
    return _Cycle(
        made.now,
        record.scaler.sync_period,
        made.current,
        made.shadow,
        made.maximum,
        shadow.above,
        any(is_above(record.scaler, each) for each in made.metrics),
        shadow.saturated,
        _is_guessed(record, shadow),
    )


def _seconds(one: _Cycle, following: _Cycle) -> float:
    """For how long a cycle stands: until the next one, but for one sync period before a gap."""
    length = following.at - one.at
    late = length > GAP * max(one.period, following.period)
    return (one.period if late else length).total_seconds()


def _side(cycles: list[tuple[int, int | None, bool]], seconds: list[float]) -> Side:
    """Of its size, its maximum, and whether it was above target, in each cycle."""
    sizes = [size for size, _, _ in cycles]
    moves = [after > before for before, after in pairwise(sizes) if after != before]
    found = Side(
        changes=len(moves),
        changes_of_direction=sum(one is not other for one, other in pairwise(moves)),
        smallest=min(sizes),
        largest=max(sizes),
    )
    for (size, maximum, above), length in zip(cycles, seconds, strict=True):
        found.instance_hours += size * length / 3600
        found.seconds_above_target += length * above
        found.seconds_at_maximum += length * (maximum is not None and size >= maximum)
    return found


def _is_guessed(record: "Record", shadow: Shadow) -> bool:
    state = None if record.observation is None else record.observation.target
    if not shadow.backlogs or not isinstance(state, TargetState):
        return False
    return any(unknown_backlogs(record.scaler, state, shadow, shadow.ready(record.decision.now)))
