"""An explained decision in sentences, for the terminal and the page."""

from collections.abc import Iterator

from autoscaler.model import Direction, Reason
from autoscaler.quantity import format_seconds
from autoscaler.text import count, listed
from autoscaler.view.explanation import ExplainedMetric, Explanation, MoveDocument, Way
from autoscaler.view.metric import average_words, current_decimal, target_decimal
from autoscaler.view.parts import remarks

_NAMED = 5
"""Instances or samples that a sentence lists; it counts the others."""


def sentences(explanation: Explanation) -> tuple[str, ...]:
    """Return what was read, the result, what limited it, and what would have to change; in that order."""
    return (
        _size(explanation),
        *[_metric(each, alone=len(explanation.metrics) == 1) for each in explanation.metrics],
        *[line for metric in explanation.metrics for line in _samples(metric)],
        *_steps(explanation),
        *[f"{sentence}." for sentence in past_remarks(explanation)],
        *_stabilization(explanation),
        *_policies(explanation),
        *_ahead(explanation),
        *[line for way in explanation.ways if way.text for line in way.text.splitlines()],
        *_failing(explanation),
        *_forgotten(explanation),
    )


def _forgotten(explanation: Explanation) -> Iterator[str]:
    if not explanation.detailed:
        yield (
            f"This decision, of {explanation.at.isoformat(timespec='seconds')}, is the last before that time in which "
            "something changed. It is older than state.detail: the samples of the instances, the windows and the "
            "thresholds are no longer known."
        )


def _size(explanation: Explanation) -> str:
    mark = " (dry run)" if explanation.dry_run else ""
    if explanation.current is None:
        return f"The target could not be read: {explanation.error}.{mark}"
    if explanation.desired is None and (without := _without_value(explanation)):
        return f"The size is {explanation.current} and stays, as {without}.{mark}"
    if explanation.desired is None:
        return f"The size is {explanation.current}; no other could be decided: {explanation.error}.{mark}"
    if explanation.desired == explanation.current:
        return f"The size is {explanation.current} and stays.{mark}"
    if explanation.written is not None:
        return f"The size was {explanation.current} and was set to {explanation.written}.{mark}"
    return f"The size is {explanation.current}; {explanation.desired} is wanted but was not written.{mark}"


def _without_value(explanation: Explanation) -> str:
    """Return how many metrics have no value; empty: all have one."""
    failed = sum(metric.error is not None for metric in explanation.metrics)
    if not failed:
        return ""
    several = len(explanation.metrics) > 1
    return f"{failed} of its {len(explanation.metrics)} metrics have no value" if several else "its metric has no value"


def without_value(metric: ExplainedMetric) -> str:
    """Return why a metric has no value, and its last one."""
    last = metric.last
    known = "" if last is None else f"; its last value was {last.text}, {format_seconds(last.age_seconds)} earlier"
    return f"{metric.name} has no value: {metric.error}{known}"


def _metric(metric: ExplainedMetric, *, alone: bool) -> str:
    if metric.proposal is None:
        return f"{without_value(metric)}."
    wins = "; it asks for most and wins" if metric.wins and not alone else ""
    if metric.on_fallback:
        asks = f"its fallback asks for {metric.proposal} ({metric.detail})"
        return f"{without_value(metric)}; {asks}{wins}."
    ratio = "" if metric.ratio is None else f", ratio {metric.ratio:.3f}"
    current = current_decimal(metric)
    read = "" if current is None else f"{f'{average_words(metric)} {current}'.strip()}, "
    goal = f"target {target_decimal(metric)}"
    return f"{metric.name}: {read}{goal}{ratio}, asks for {metric.proposal} ({metric.detail}){wins}."


def _samples(metric: ExplainedMetric) -> Iterator[str]:
    samples = metric.samples
    for names, one, many in (
        (samples.missing, "instance has no sample", "instances have no sample"),
        (samples.warming, "instance warms up", "instances warm up"),
        (samples.not_ready, "instance is not ready", "instances are not ready"),
        (
            samples.ignored,
            "instance failed or is being removed, and is ignored",
            "instances failed or are being removed, and are ignored",
        ),
        (samples.unmatched, "sample matches no instance", "samples match no instance"),
        (samples.dropped, "instance has an unusable sample", "instances have unusable samples"),
    ):
        if names:
            yield f"{metric.name}: {count(len(names), one, many)}: {listed(names, _NAMED)}."


def _steps(explanation: Explanation) -> Iterator[str]:
    for step in explanation.trace:
        if step.reason != Reason.VALID_METRIC_FOUND:
            change = f"{step.before} -> {step.after}" if step.before != step.after else f"{step.after}"
            yield f"{step.reason}: {change} ({step.detail})."


def past_remarks(explanation: Explanation) -> Iterator[str]:
    """Yield what rules did with the bounds or the size, but for what a step says."""
    said = "; ".join(step.detail for step in explanation.trace)
    for each in remarks(explanation):
        if not each.is_in(said):
            yield each.past


def _stabilization(explanation: Explanation) -> Iterator[str]:
    hold = explanation.stabilization
    if hold is not None:
        which = "highest" if hold.direction is Direction.IN else "lowest"
        yield (
            f"The {which} recommendation of the window, {hold.recommendation}, leaves it in "
            f"{format_seconds(hold.remaining_seconds)}."
        )


def _policies(explanation: Explanation) -> Iterator[str]:
    for allowance in explanation.policies:
        if allowance.next_size is not None and allowance.next_seconds is not None:
            yield (
                f"The policies allow {_to(allowance.direction)} {allowance.size} now, and {allowance.next_size} in "
                f"{format_seconds(allowance.next_seconds)}."
            )


def _ahead(explanation: Explanation) -> Iterator[str]:
    if explanation.if_unchanged is not None:
        goes = "a dry run would go" if explanation.dry_run else "it goes"
        yield f"If nothing changes, {goes} to {_move(explanation.if_unchanged)}."


def way_text(way: Way, *, moves: bool) -> str:
    """Return the requirements for a change of size, one sentence in each line. `moves`: the size would change then."""
    out = way.direction is Direction.OUT
    parts = []
    if way.when:
        joined = " or ".join(way.when) if out else " and ".join(way.when)
        parts.append(f"To scale {way.direction} it takes {joined}")
        if way.met:
            parts.append(f"already there: {'; '.join(way.met)}")
    elif way.met and (out or way.hurdles or way.earliest):
        parts.append(f"The metrics ask for {'more' if out else 'less'} already: {'; '.join(way.met)}")
    else:
        return ""
    if way.earliest is not None:
        parts.append(f"at the earliest to {_move(way.earliest)}" if moves else "a dry run writes nothing")
    hurdles = [f"  In the way: {step.detail} ({step.reason}: {step.before} -> {step.after})." for step in way.hurdles]
    return "\n".join(["; ".join(parts) + ".", *hurdles])


def _failing(explanation: Explanation) -> Iterator[str]:
    names = [metric.name for metric in explanation.metrics if metric.proposal is None and metric.error is not None]
    if names:
        yield f"Nothing is scaled in while {', '.join(names)} {'has' if len(names) == 1 else 'have'} no value."


def _move(move: MoveDocument) -> str:
    return f"{move.size} in {format_seconds(move.in_seconds)}"


def _to(direction: Direction) -> str:
    return "up to" if direction is Direction.OUT else "down to"
