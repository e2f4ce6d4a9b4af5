"""A replay's measures in words: rows with a cell for each candidate, for the terminal and the report."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from autoscaler.quantity import format_seconds
from autoscaler.whatif.compare.measures import Measures
from autoscaler.whatif.documents.instance_times import instance_times_text
from autoscaler.whatif.documents.replay import ReplayDocument
from autoscaler.whatif.replay.replay import Load

UNKNOWN: Final = "-"
LOAD_MEANINGS: Final[Mapping[Load, str]] = {
    Load.CONSERVED: "The whole load stays what it was, and is spread over the instances that there would have been.",
    Load.RECORDED: "Each cycle is decided by what was seen, whatever was decided before.",
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
    """Every measure, what is paid for first."""
    found = [candidate.measures for candidate in replay.candidates]
    return [
        MeasureRow(title, meaning, tuple([text(each, found[0]) for each in found])) for title, meaning, text in _ROWS
    ]


def times_of_instances(replay: ReplayDocument) -> str:
    """Which start-up and termination times were used, and what tells them, as a sentence."""
    return instance_times_text([(each.label, each.start_up) for each in replay.candidates], replay.termination)


def hours_text(hours: float) -> str:
    """Instance-hours, to three digits at least."""
    return f"{hours:,.1f}" if hours >= 10 else f"{hours:.3g}"


def _hours(own: Measures, first: Measures) -> str:
    """With how much more or less it is than the first candidate's in the same length of time."""
    hours, mean, of_first = own.instance_hours, _paid(own), _paid(first)
    text = hours_text(hours)
    return text if own is first or not mean or not of_first else f"{text} ({mean / of_first - 1:+.0%})"


def _paid(own: Measures) -> float | None:
    """Instances that are paid for, on average over time; None: the size is never known."""
    known = own.covered_seconds / 3600
    return own.instance_hours / known if known else None


def _mean(own: Measures) -> float | None:
    """The size; None: it is never known."""
    known = own.covered_seconds / 3600
    return (own.instance_hours - own.leaving_instance_hours) / known if known else None


def _size(own: Measures, _: Measures) -> str:
    """The smallest, the largest and the mean."""
    mean = _mean(own)
    if own.smallest is None or own.largest is None or mean is None:
        return UNKNOWN
    if own.smallest == own.largest:
        return f"{own.smallest:,}"
    return f"{own.smallest:,} to {own.largest:,}, mean {mean:,.1f}"


def _part(part: float, whole: float) -> str:
    """Seconds, and which share of the whole they are."""
    return f"{format_seconds(part)} ({_share(part / whole)})" if whole else UNKNOWN


def _share(share: float | None) -> str:
    return UNKNOWN if share is None else f"{share:.1%}"


def _above(own: Measures, _: Measures) -> str:
    return _part(own.above_target_seconds, own.compared_seconds)


def _at_maximum(own: Measures, _: Measures) -> str:
    return _part(own.at_maximum_seconds, own.covered_seconds)


def _worst(own: Measures, _: Measures) -> str:
    return UNKNOWN if own.worst_overload is None else f"{own.worst_overload:.0%} of target"


def _hidden(own: Measures, _: Measures) -> str:
    return _part(own.saturated_seconds, own.compared_seconds)


def _known(own: Measures, _: Measures) -> str:
    return format_seconds(own.covered_seconds)


_ROWS: Final = (
    ("instance-hours", "The size and what is on its way out, summed up over time: what is paid for.", _hours),
    ("size", "The smallest, the largest, and the mean over time.", _size),
    ("demand left unserved", "What was missing, times how long, of all that was needed.",
     lambda own, _: _share(own.unserved)),
    ("time above target", "The load needed more than was ready, by more than the tolerance.", _above),
    ("time at maximum", "The size was the largest that the bounds allowed.", _at_maximum),
    ("worst overload", "The highest demand for each ready replica.", _worst),
    ("changes", "Of size.", lambda own, _: f"{own.changes:,}"),
    ("changes of direction", "A change that went the other way than the one before it.",
     lambda own, _: f"{own.changes_of_direction:,}"),
    ("under-provisioning, accuracy", "How much of the demand was not met, on average over time (SPEC RG).",
     lambda own, _: _share(own.accuracy_under)),
    ("under-provisioning, time share", "The share of the time in which there was too little (SPEC RG).",
     lambda own, _: _share(own.timeshare_under)),
    ("over-provisioning, accuracy",
     "How much more there was than the demand, relative to it, on average over time (SPEC RG).",
     lambda own, _: _share(own.accuracy_over)),
    ("over-provisioning, time share", "The share of the time in which there was too much (SPEC RG).",
     lambda own, _: _share(own.timeshare_over)),
    ("instability", "The share of the time in which the supply did not move as the demand did (SPEC RG).",
     lambda own, _: _share(own.instability)),
    ("time measured", "The time in which the size is known; gaps count in nothing.", _known),
    ("demand may be hidden", "What was there was at its maximum and above its target, so more may have been needed.",
     _hidden),
)  # fmt: skip
"""Title, meaning, and the text of one candidate's measure, given the first candidate's as well."""
