"""The measures of a replay as text: rows with a cell for each candidate, for the terminal and the report."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from autoscaler.quantity import format_duration, format_seconds
from autoscaler.whatif.compare.measures import Measures
from autoscaler.whatif.documents.replay import ReplayDocument
from autoscaler.whatif.replay.instance_times import InstanceTime, TimeSource
from autoscaler.whatif.replay.replay import Load

_UNKNOWN: Final = "-"
LOAD_MEANINGS: Final[Mapping[Load, str]] = {
    Load.CONSERVED: "The total load stays and is spread over the instances that a candidate would have had.",
    Load.RECORDED: "Each cycle is decided at the recorded size, from what was observed then.",
}
_SOURCES: Final[Mapping[TimeSource, str]] = {
    TimeSource.GIVEN: "given",
    TimeSource.INSTANCES: "learnt from instances",
    TimeSource.CONFIGURATION: "controller.startUpSeconds",
    TimeSource.NOTHING: "none was seen to end",
}


@dataclass(frozen=True, slots=True)
class MeasureRow:
    """One measure of every candidate."""

    title: str
    meaning: str
    """In a sentence."""
    cells: tuple[str, ...]
    """In the order of the candidates."""


def measure_rows(replay: ReplayDocument) -> Sequence[MeasureRow]:
    """Every measure, instance-hours first."""
    found = [candidate.measures for candidate in replay.candidates]
    return [
        MeasureRow(title, meaning, tuple([text(each, found[0]) for each in found])) for title, meaning, text in _ROWS
    ]


def instance_times_text(start_ups: Iterable[tuple[str, InstanceTime | None]], termination: InstanceTime) -> str:
    """Both times of instances with their sources, as a sentence. `start_ups`: of each candidate, with its label.

    Labels are named only if candidates differ.
    """
    parts = [*_start_ups(list(start_ups)), f"termination time {_time(termination)}"]
    return f"Instances: {', '.join(parts)}."


def _start_ups(start_ups: list[tuple[str, InstanceTime | None]]) -> Iterator[str]:
    known = [(label, each) for label, each in start_ups if each is not None]
    alike = all(each == known[0][1] for _, each in known)
    for label, each in known[:1] if alike else known:
        yield f"start-up time {_time(each)}" if alike else f"start-up time of {label} {_time(each)}"


def _time(time: InstanceTime) -> str:
    """In whole seconds, unless it is shorter than ten."""
    length = time.seconds
    if length >= timedelta(seconds=10):
        length = timedelta(seconds=round(length.total_seconds()))
    return f"{format_duration(length)} ({_SOURCES[time.source]})"


def hours_text(hours: float) -> str:
    """Instance-hours with at least three digits."""
    return f"{hours:,.1f}" if hours >= 10 else f"{hours:.3g}"


def _hours(own: Measures, first: Measures) -> str:
    """With the difference from the first candidate in the same length of time."""
    mean, of_first = _mean(own, own.instance_hours), _mean(first, first.instance_hours)
    text = hours_text(own.instance_hours)
    return text if own is first or not mean or not of_first else f"{text} ({mean / of_first - 1:+.0%})"


def _mean(own: Measures, hours: float) -> float | None:
    """Instances on average over time; None if the size is never known."""
    return hours * 3600 / own.covered_seconds if own.covered_seconds else None


def _size(own: Measures, _: Measures) -> str:
    mean = _mean(own, own.instance_hours - own.leaving_instance_hours)
    if own.smallest is None or own.largest is None or mean is None:
        return _UNKNOWN
    if own.smallest == own.largest:
        return f"{own.smallest:,}"
    return f"{own.smallest:,} to {own.largest:,}, mean {mean:,.1f}"


def _part(part: float, whole: float) -> str:
    """Seconds, and their share of the whole."""
    return f"{format_seconds(part)} ({_share(part / whole)})" if whole else _UNKNOWN


def _share(share: float | None) -> str:
    return _UNKNOWN if share is None else f"{share:.1%}"


def _worst(own: Measures, _: Measures) -> str:
    return _UNKNOWN if own.worst_overload is None else f"{own.worst_overload:.0%} of target"


_ROWS: Final = (
    ("instance-hours", "The size with leaving instances, summed over time: what is paid for.", _hours),
    ("size", "The smallest, the largest, and the mean over time.", _size),
    ("demand left unserved", "The missing replicas over time, as a share of all that were needed.",
     lambda own, _: _share(own.unserved)),
    ("time above target", "The load needed more replicas than were ready, beyond the tolerance.",
     lambda own, _: _part(own.above_target_seconds, own.compared_seconds)),
    ("time at maximum", "The size was at its upper bound.",
     lambda own, _: _part(own.at_maximum_seconds, own.covered_seconds)),
    ("worst overload", "The highest demand per ready replica.", _worst),
    ("changes", "Of size.", lambda own, _: f"{own.changes:,}"),
    ("changes of direction", "Changes with the opposite direction of the change before.",
     lambda own, _: f"{own.changes_of_direction:,}"),
    ("under-provisioning, accuracy", "The missing replicas relative to the demand, on average over time (SPEC RG).",
     lambda own, _: _share(own.accuracy_under)),
    ("under-provisioning, time share", "The share of the time with too few replicas (SPEC RG).",
     lambda own, _: _share(own.timeshare_under)),
    ("over-provisioning, accuracy", "The surplus replicas relative to the demand, on average over time (SPEC RG).",
     lambda own, _: _share(own.accuracy_over)),
    ("over-provisioning, time share", "The share of the time with too many replicas (SPEC RG).",
     lambda own, _: _share(own.timeshare_over)),
    ("instability", "The share of the time in which supply and demand did not move alike (SPEC RG).",
     lambda own, _: _share(own.instability)),
    ("time measured", "The time in which the size is known; gaps do not count.",
     lambda own, _: format_seconds(own.covered_seconds)),
    ("demand may be hidden", "The target was at its maximum and above target, so more may have been needed.",
     lambda own, _: _part(own.saturated_seconds, own.compared_seconds)),
)  # fmt: skip
"""Title, meaning, and the text of one candidate's measure, given that of the first candidate, too."""
