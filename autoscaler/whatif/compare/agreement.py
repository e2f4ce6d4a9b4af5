"""How far an inferred past agrees with the state, where both are known.

What was recorded is held against what the same configuration decides over the inferred past (`replay` with the load
`recorded`). A cycle's counterpart is the nearest step, half a sync period away at most.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime
from enum import StrEnum
from typing import Final, NamedTuple

from autoscaler.documents.base import Document
from autoscaler.model import Decision, MetricOutcome, TargetType
from autoscaler.quantity import format_decimal
from autoscaler.whatif.past.past import Moment
from autoscaler.whatif.replay.replay import Replayed

_MOST_DIFFERENCES: Final = 1_000
"""That are kept."""


class Why(StrEnum):
    """Why a cycle has another size."""

    UNCOVERED = "not covered"
    """The inferred past has no step there."""
    SIZE = "size"
    """Another size was read, or none."""
    READING = "reading"
    """A metric asked for another size."""
    OTHER = "other"
    """What was read is the same. What Prometheus does not tell differs: what is remembered, operators, limits, time."""


class Difference(Document):
    """Cycles in a row that differ for one reason."""

    begin: datetime
    end: datetime
    cycles: int
    why: Why
    message: str
    """Of the first of them."""
    recorded: int | None
    """The size that was decided in the first; null: nothing was."""
    inferred: int | None

    def __str__(self) -> str:
        cycles = f", {self.cycles} cycles" if self.cycles > 1 else ""
        time = self.begin.isoformat(timespec="seconds")
        return f"{time}{cycles}: {_size(self.inferred)} instead of {_size(self.recorded)} ({self.why}): {self.message}"


class Agreement(Document):
    """What came of the comparison."""

    cycles: int
    """Of the state, from the first step to the last."""
    same: int
    """In which the same size was decided."""
    same_read: int
    """In which the same size was read."""
    summary: str
    """In a sentence."""
    differences: tuple[Difference, ...]
    """In order of time; the first, where there were more."""
    more_differences: int
    """How many there are beside those."""


def agreement(recorded: Iterable[Moment], inferred: Iterable[Replayed]) -> Agreement:
    """What was recorded, held against what was decided over the inferred past; each in order of time.

    Cycles before the first step and after the last are not counted.
    """
    cycles = same = same_read = 0
    reasons, differences = Counter[Why](), list[Difference]()
    for moment, replayed in _paired(recorded, inferred):
        own, made = moment.decision, None if replayed is None else replayed.decision
        if own is None:
            continue
        cycles += 1
        same_read += made is not None and own.current == made.current
        if made is not None and own.desired == made.desired:
            same += 1
            continue
        reason = _reason(own, made)
        reasons[reason.why] += 1
        _add(differences, moment.at, own.desired, None if made is None else made.desired, reason)
    text = f"{same} of {cycles} cycles have the size that the state has ({same / cycles if cycles else 1:.1%})"
    counted = ", ".join(f"{why} {count}" for why, count in reasons.most_common())
    return Agreement(
        cycles=cycles,
        same=same,
        same_read=same_read,
        summary=f"{text}; the others differ by {counted}" if counted else text,
        differences=tuple(differences[:_MOST_DIFFERENCES]),
        more_differences=max(0, len(differences) - _MOST_DIFFERENCES),
    )


class _Reason(NamedTuple):
    why: Why
    message: str


def _reason(own: Decision, made: Decision | None) -> _Reason:
    """The most telling one."""
    if made is None:
        return _Reason(Why.UNCOVERED, "the inferred past has no step at this time")
    if own.current != made.current:
        return _Reason(Why.SIZE, f"the size was {_known(own.current)}, and is told to be {_known(made.current)}")
    for then, now in zip(own.metrics, made.metrics, strict=False):
        if then.proposal != now.proposal:
            return _Reason(Why.READING, _of_metric(then, now))
    return _Reason(Why.OTHER, "what was read is the same; what Prometheus does not tell differs")


def _of_metric(then: MetricOutcome, now: MetricOutcome) -> str:
    asked = f"metric {then.name!r} asked for {_size(then.proposal)}, and here for {_size(now.proposal)}"
    if then.failed or now.failed:
        error = then.error if then.failed else now.error
        return f"{asked}: {'then' if then.failed else 'here'} it had no value: {error}"
    if then.current != now.current:
        return f"{asked}: it was {_value(then)}, and is {_value(now)} here"
    counted = f"{then.ready} ready and {len(then.missing)} without a sample"
    return f"{asked}: of {counted}, not {now.ready} and {len(now.missing)}"


def _paired(recorded: Iterable[Moment], inferred: Iterable[Replayed]) -> Iterator[tuple[Moment, Replayed | None]]:
    """Each cycle with its nearest step, from the first step to the last."""
    steps = iter(inferred)
    before, after = None, next(steps, None)
    if after is None:
        return
    half = after.scaler.sync_period / 2
    first = after.moment.at - half
    for moment in recorded:
        while after is not None and after.moment.at < moment.at:
            before, after = after, next(steps, None)
        if moment.at < first or (after is None and before is not None and moment.at > before.moment.at + half):
            continue
        near = [each for each in (before, after) if each is not None]
        nearest = min(near, key=lambda each: abs(each.moment.at - moment.at))
        yield moment, nearest if abs(nearest.moment.at - moment.at) <= half else None


def _add(
    differences: list[Difference], at: datetime, recorded: int | None, inferred: int | None, reason: _Reason
) -> None:
    last = differences[-1] if differences else None
    if last is not None and last.why is reason.why and (last.recorded, last.inferred) == (recorded, inferred):
        differences[-1] = last.model_copy(update={"end": at, "cycles": last.cycles + 1})
        return
    differences.append(
        Difference(
            begin=at,
            end=at,
            cycles=1,
            why=reason.why,
            message=reason.message,
            recorded=recorded,
            inferred=inferred,
        )
    )


def _value(outcome: MetricOutcome) -> str:
    if outcome.current is None:
        return "unknown"
    is_percent = outcome.target.type is TargetType.UTILIZATION
    return f"{outcome.current}%" if is_percent else format_decimal(outcome.current)


def _known(size: int | None) -> str:
    return "not known" if size is None else str(size)


def _size(size: int | None) -> str:
    return "no size" if size is None else str(size)
