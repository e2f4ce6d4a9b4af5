"""The story of a decision: its cause and result, what each metric and step says, and what would change the size.

The first line is made here. All others are the sentences of the steps themselves. The terminal, the page, the log and
the API lay out the same lines.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from math import ceil
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from autoscaler.document import Document
from autoscaler.model import HPA, Decision, MetricOutcome, Proposed, Reason, Step, Written
from autoscaler.quantity import format_seconds
from autoscaler.rules import RULES, changes_proposals
from autoscaler.text import count, listed
from autoscaler.view.last_value import LastValue, MetricKey
from autoscaler.view.notation import is_averaged, reading
from autoscaler.view.parts import memory_remarks
from autoscaler.view.verdict import limits, resting, winner

if TYPE_CHECKING:  # a command reads lines that a daemon made, and needs no SQLAlchemy for it
    from autoscaler.record.values import Record

_NAMED: Final = 5
"""Instances or samples that a line lists; it counts the others."""
_MAX_FAILURES: Final = 2
"""Metrics without a value that the first line names."""
_DIGITS: Final = 9
"""A ratio times a number that it was divided by may differ from the exact one behind these."""
_FORGOTTEN: Final = (
    "it is older than state.detail, and the last decision until that time in which something changed: the samples of "
    "the instances, the windows and the thresholds are no longer known"
)


class Kind(StrEnum):
    """What a line is about."""

    WHY = "why"
    """The cause and the result."""
    METRIC = "metric"
    """What a metric asks for."""
    STEP = "step"
    """What a stage did to the size, or why it is not written."""
    NOTE = "note"
    """More about the line before."""
    AHEAD = "ahead"
    """What would change the size."""


class Line(Document):
    """A line of the story."""

    kind: Kind
    source: str
    """`hpa`, `target`, `limits` (of the connection), or the name of a rule."""
    reason: str
    """A word such as `TooManyReplicas`; empty: the line is no stage of the decision."""
    before: int | None
    after: int | None
    """The size after it: of a metric, what it asks for. null: it is about no size, or the metric has no value."""
    text: str

    @property
    def sentence(self) -> str:
        """Return the text with its reason and the new size: `maxReplicas is 10 (TooManyReplicas) -> 10`."""
        text = f"{self.text} ({self.reason})" if self.kind is Kind.STEP else self.text
        moved = self.after is not None and (self.kind is Kind.METRIC or self.after != self.before)
        return f"{text} -> {self.after}" if moved and self.kind is not Kind.WHY else text


def why(decision: Decision) -> str:
    """Return the first line, such as `inflight 13 of 10 -> 2`; before it a pause that prevents nothing. Never empty."""
    return "; ".join([*(hold.text for hold in _idle_holds(decision)), cause_and_result(decision)])


def cause_and_result(decision: Decision) -> str:
    """Return the first line without a pause, such as `inflight 13 of 10 -> 2`. Never empty."""
    size, desired = decision.current, decision.desired
    if size is None:
        return f"the size could not be read: {decision.error}"
    failed = [_failed(each) for each in decision.metrics if each.error is not None and not each.on_fallback]
    others = len(failed) - _MAX_FAILURES
    parts = failed[:_MAX_FAILURES] + ([f"{count(others, 'more metric')} without a value"] if others > 0 else [])
    parts += [] if desired is None and parts else [_cause(decision)]
    text, reached = "; ".join(parts), _reached(decision)
    if reached is not None:
        text += f" -> {reached}" + ("" if reached == desired else f" instead of {desired}")
    elif desired not in (None, size) and not text.endswith(f"asks for {desired}"):
        text += f", desired {desired}"
    return "; ".join([text, *dict.fromkeys(step.detail for step in _behind_rescale(decision))])


def story(record: "Record", last: Mapping[MetricKey, LastValue] = MappingProxyType({})) -> tuple[Line, ...]:
    """Return the lines of a decision, in order: the first line, metrics, steps, remarks.

    `last`: the last values of the metrics that failed.
    """
    decision = record.decision
    size, reached = decision.current, decision.desired if decision.written is None else decision.written
    followed = winner(decision)
    first = cause_and_result(decision)
    lines = [_line(Kind.WHY, why(decision), size, reached)]
    for each in decision.metrics:
        read = each.name + ":" if each is followed else reading(each) + ","
        text = f"{read} {each.detail}"
        if each.error is not None:
            text = _failed(each, last.get((each.name, each.target.type)), said=first)
        lines.append(_line(Kind.METRIC, text, size, each.proposal))
        lines += map(note, uncounted(each))
    lines += [
        Line.of(each, kind=Kind.STEP, text=each.detail)
        for each in decision.trace
        if _tells(each) and not first.startswith(each.detail)
    ]
    lines += _idle_holds(decision)
    lines += map(note, past_remarks(decision))
    if record.observation is None or record.history is None:
        lines.append(note(_FORGOTTEN))
    return tuple(lines)


def grouped(lines: Iterable[Line]) -> Sequence[tuple[Line, Sequence[Line]]]:
    """Return the lines that are no notes, each with the notes behind it."""
    found = list[tuple[Line, list[Line]]]()
    for line in lines:
        if line.kind is Kind.NOTE and found:
            found[-1][1].append(line)
        else:
            found.append((line, []))
    return found


def past_remarks(decision: Decision) -> Iterator[str]:
    """Yield what rules did with the bounds or the size, but for what a step says."""
    said = "; ".join(step.detail for step in decision.trace)
    for each in memory_remarks(decision):
        if not each.is_in(said):
            yield each.past


def _cause(decision: Decision) -> str:
    """Return what led to the size that is wanted: a metric and the last limit, or a step without a metric."""
    followed = winner(decision)
    if followed is None or resting(decision) is not None:
        told = [
            step.detail for step in decision.trace if step.reason not in (Reason.VALID_METRIC_FOUND, Reason.SETTLED)
        ]
        before_rescale = told[: len(told) - len(_behind_rescale(decision))]
        return (before_rescale or [decision.error or "no metric was read"])[-1]
    missing = f" ({len(followed.missing)} of {followed.running} without a sample)" if followed.missing else ""
    read = _failed(followed) if followed.on_fallback else reading(followed) + missing
    cuts = [step for step in limits(decision) if step.before != step.after]
    asks = read if followed.on_fallback else f"{read} asks for {followed.proposal}"
    if cuts:
        return f"{asks}; {cuts[-1].detail}"
    if decision.desired != decision.current:
        return read if _reached(decision) is not None else asks
    if followed.on_fallback:
        return read
    return asks if _is_rounded(followed) else f"{reading(followed)}, {followed.detail}"


def _is_rounded(metric: MetricOutcome) -> bool:
    """Return whether a metric asks for its ratio times the instances that it counts, rounded up.

    Else a tolerance, or an assumption about instances without a sample, keeps the size, and its detail says which.
    """
    if metric.total is not None:
        return True  # there are no instances, and so no ratio that a tolerance could hold
    counted = metric.proposal if is_averaged(metric.type, metric.target.type) else metric.ready
    if metric.ratio is None or counted is None:
        return False
    return ceil(round(metric.ratio * counted, _DIGITS)) == metric.proposal


def _reached(decision: Decision) -> int | None:
    """Return the size that was written, or that a dry run proposes; None: there is none."""
    outcome = decision.outcome
    return outcome.size if isinstance(outcome, Written | Proposed) else None


def _behind_rescale(decision: Decision) -> Sequence[Step]:
    """Return the steps behind the one that wants another size: what prevents it, or what came of the write."""
    places = [place for place, step in enumerate(decision.trace) if step.reason == Reason.RESCALE]
    return decision.trace[places[-1] + 1 :] if places else ()


def _idle_holds(decision: Decision) -> Iterator[Line]:
    """Yield what operators hold, if that prevented nothing: else a step says it."""
    size, said = decision.current, {step.reason for step in decision.trace}
    for kind in RULES:
        hold = kind.hold(decision.manual)
        if hold is not None and hold.reason not in said:
            yield Line(kind=Kind.STEP, source=kind.name, reason=hold.reason, before=size, after=size, text=hold.message)


def _tells(step: Step) -> bool:
    """Return whether a step is a line. HPA's steps that leave the size as it is say nothing."""
    if step.reason in (Reason.VALID_METRIC_FOUND, Reason.RESCALE) or changes_proposals(step.source):
        return False  # they are what a metric asks for, and the result
    return step.before != step.after or step.source != HPA


def _failed(metric: MetricOutcome, last: LastValue | None = None, said: str = "") -> str:
    """Return that a metric has no value, its last one and its fallback. The error is left out if it is in `said`."""
    without = f"{metric.name} has no value: {metric.error}"
    known = "" if last is None else f"; its last value was {last.text}, {format_seconds(last.age_seconds)} earlier"
    stands_in = f"; {metric.detail}" if metric.on_fallback else ""
    return f"{f'{metric.name} has no value' if without in said else without}{known}{stands_in}"


def _line(kind: Kind, text: str, before: int | None = None, after: int | None = None) -> Line:
    """Return a line that is no stage of the decision."""
    return Line(kind=kind, source=HPA, reason="", before=before, after=after, text=text)


def note(text: str) -> Line:
    """Return more about the line before."""
    return _line(Kind.NOTE, text)


def ahead_line(text: str) -> Line:
    """Return a line about what would change the size."""
    return _line(Kind.AHEAD, text)


def uncounted(metric: MetricOutcome) -> Iterator[str]:
    """Yield which samples and instances do not count: `1 instance has no sample: web-3`."""
    unmatched = len(metric.unmatched) + metric.more_unmatched
    for names, number, one, many in (
        (metric.missing, len(metric.missing), "instance has no sample", "instances have no sample"),
        (metric.aside, len(metric.aside), "instance warms up", "instances warm up"),
        (metric.not_ready, len(metric.not_ready), "instance is not ready", "instances are not ready"),
        (metric.ignored, len(metric.ignored), "instance failed or is leaving", "instances failed or are leaving"),
        (metric.unmatched, unmatched, "sample matches no instance", "samples match no instance"),
        (metric.dropped, len(metric.dropped), "instance has an unusable sample", "instances have unusable samples"),
    ):
        if names:
            yield f"{count(number, one, many)}: {listed(names, _NAMED, number - len(names))}"
