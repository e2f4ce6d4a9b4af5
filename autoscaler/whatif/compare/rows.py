"""The measures of a replay as text: rows with a cell for each candidate, for the terminal and the report."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from autoscaler.quantity import format_duration, format_seconds
from autoscaler.whatif.compare.document import ReplayDocument
from autoscaler.whatif.compare.measures import Measures, hours_text
from autoscaler.whatif.replay.start_up import TimeSource

_UNKNOWN: Final = "unknown"
_SOURCES: Final[Mapping[TimeSource, str]] = {
    TimeSource.INSTANCES: "as the state's instances show",
    TimeSource.GIVEN: "as --start-up says",
    TimeSource.DEFAULT: "assumed; no instance of the past shows it; give it with --start-up",
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
    """Return a row for every measure, in the order of the tables."""
    found = [candidate.measures for candidate in replay.candidates]
    return [
        MeasureRow(title, meaning, tuple([text(each, found[0]) for each in found])) for title, meaning, text in _ROWS
    ]


def start_up_text(replay: ReplayDocument) -> str:
    """Return a sentence that says how long an instance takes to become ready, and how replay knows."""
    length = replay.start_up.seconds
    if length >= timedelta(seconds=10):
        length = timedelta(seconds=round(length.total_seconds()))
    source = _SOURCES[replay.start_up.source]
    return f"An instance is ready {format_duration(length)} after the decision for it ({source})."


def fit_text(replay: ReplayDocument) -> str:
    """Return sentences that say whether the simulation fits the past and, if it does not, what to do."""
    if replay.fit is None:
        return "Nothing shows whether the simulation fits: no daemon wrote sizes in this time."
    if replay.fit.holds:
        return f"{replay.fit.summary}."
    return (
        f"{replay.fit.summary}. The simulation does not fit this past, so nothing is compared: what it says of another "
        "configuration would be wrong, too. Choose a time in which nothing else set the size and no instance failed "
        "(--since, --until), and look whether the load depends on the number of instances."
    )


def _hours(own: Measures, first: Measures) -> str:
    """With the difference from the first column in the same length of time."""
    mean, of_first = _mean(own), _mean(first)
    text = hours_text(own.instance_hours)
    return text if own is first or not mean or not of_first else f"{text} ({mean / of_first - 1:+.0%})"


def _mean(own: Measures) -> float | None:
    """Replicas on average over time; None if the size is never known."""
    return own.instance_hours * 3600 / own.covered_seconds if own.covered_seconds else None


def _at_maximum(own: Measures, _: Measures) -> str:
    if not own.covered_seconds:
        return _UNKNOWN
    return f"{format_seconds(own.at_maximum_seconds)} ({own.at_maximum_seconds / own.covered_seconds:.1%})"


def _unserved(own: Measures, _: Measures) -> str:
    return _UNKNOWN if own.unserved is None else f"{own.unserved:.1%}"


def _worst(own: Measures, _: Measures) -> str:
    return _UNKNOWN if own.worst_overload is None else f"{own.worst_overload:.0%} of target"


_ROWS: Final = (
    ("changes", "Of size.", lambda own, _: f"{own.changes:,}"),
    ("instance-hours", "The size, summed over time.", _hours),
    ("time at maximum", "The size was at its upper bound.", _at_maximum),
    ("unserved demand", "The missing replicas over time, as a share of all that were needed.", _unserved),
    ("worst overload", "The highest demand per ready replica.", _worst),
)
"""Title, meaning, and the text of one candidate's measure, given that of the first column, too."""
