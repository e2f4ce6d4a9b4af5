"""An explained decision in sentences, for the terminal and the page alike."""

from collections.abc import Iterator
from datetime import timedelta

from autoscaler.documents.explanation import ExplainedMetric, Explanation, MoveDocument, Way
from autoscaler.model import Direction, Reason
from autoscaler.quantity import format_duration

_NAMED = 5
"""Instances or samples that are named in a sentence; the rest are counted."""


def sentences(told: Explanation) -> tuple[str, ...]:
    """What was read, what it came to, what held it, what would have to change; in that order."""
    return (
        _size(told),
        *map(_metric, told.metrics),
        *[line for metric in told.metrics for line in _samples(metric)],
        *_steps(told),
        *_stabilization(told),
        *_policies(told),
        *_ahead(told),
        *[line for way in told.ways for line in _way(way)],
        *_forgotten(told),
    )


def _forgotten(told: Explanation) -> Iterator[str]:
    if not told.detailed:
        yield (
            f"This is the decision of {told.at.isoformat(timespec='seconds')}, the last by then in which something "
            "changed. It is older than state.detail: what each instance measured, what the windows held and what would "
            "have moved the size is no longer known."
        )


def _size(told: Explanation) -> str:
    mark = " (dry run)" if told.dry_run else ""
    if told.current is None:
        return f"The target could not be read: {told.error}.{mark}"
    if told.desired is None:
        return f"The size is {told.current}; no other could be decided: {told.error}.{mark}"
    if told.desired == told.current:
        return f"The size is {told.current} and stays.{mark}"
    if told.written is not None:
        return f"The size was {told.current} and was set to {told.written}.{mark}"
    return f"The size is {told.current}; {told.desired} is wanted and was not written.{mark}"


def _metric(metric: ExplainedMetric) -> str:
    if metric.proposal is None:
        return f"{metric.name} has no value: {metric.error}."
    wins = "; it asks for most and wins" if metric.wins else ""
    ratio = "" if metric.ratio is None else f", ratio {metric.ratio:.3f}"
    current = "" if metric.current is None else f"{metric.current} of "
    return f"{metric.name}: {current}{metric.target}{ratio}, asks for {metric.proposal} ({metric.detail}){wins}."


def _samples(metric: ExplainedMetric) -> Iterator[str]:
    samples = metric.samples
    for names, meaning in (
        (samples.missing, "have no sample"),
        (samples.not_ready, "are not ready"),
        (samples.ignored, "failed or are on their way out, and are ignored"),
        (samples.unmatched, "are samples of no known instance"),
        (samples.dropped, "have an unusable sample"),
    ):
        if names:
            more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
            yield f"{metric.name}: {len(names)} {meaning}: {', '.join(names[:_NAMED])}{more}."


def _steps(told: Explanation) -> Iterator[str]:
    for step in told.trace:
        if step.reason != Reason.VALID_METRIC_FOUND:
            change = f"{step.before} -> {step.after}" if step.before != step.after else f"{step.after}"
            yield f"{step.reason}: {change} ({step.detail})."


def _stabilization(told: Explanation) -> Iterator[str]:
    hold = told.stabilization
    if hold is not None:
        which = "highest" if hold.direction is Direction.IN else "lowest"
        yield (
            f"The {which} recommendation of the window, {hold.recommendation}, leaves it in "
            f"{_span(hold.remaining_seconds)}."
        )


def _policies(told: Explanation) -> Iterator[str]:
    for allowance in told.policies:
        if allowance.next_size is not None and allowance.next_seconds is not None:
            yield (
                f"The policies allow {_to(allowance.direction)} {allowance.size} now, and {allowance.next_size} in "
                f"{_span(allowance.next_seconds)}."
            )


def _ahead(told: Explanation) -> Iterator[str]:
    if told.if_unchanged is not None:
        yield f"If nothing changes, it goes to {_move(told.if_unchanged)}."


def _way(way: Way) -> Iterator[str]:
    out = way.direction is Direction.OUT
    verb = "scale out" if out else "scale in"
    if not way.when:
        return
    joined = " or ".join(way.when) if out else " and ".join(way.when)
    earliest = "" if way.earliest is None else f"; at the earliest to {_move(way.earliest)}"
    yield f"To {verb} it takes {joined}{earliest}."
    for step in way.hurdles:
        yield f"  In the way: {step.reason}: {step.before} -> {step.after} ({step.detail})."


def _move(move: MoveDocument) -> str:
    return f"{move.size} in {_span(move.in_seconds)}"


def _to(direction: Direction) -> str:
    return "up to" if direction is Direction.OUT else "down to"


def _span(span: timedelta) -> str:
    return format_duration(timedelta(seconds=round(span.total_seconds())))
