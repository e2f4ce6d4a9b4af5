"""How long instances were taken to need until they are ready and until they are gone, and what tells it."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from typing import Final

from autoscaler.quantity import format_duration
from autoscaler.whatif.replay.instance_times import InstanceTime, TimeSource

_WHENCE: Final[Mapping[TimeSource, str]] = {
    TimeSource.GIVEN: "given",
    TimeSource.INSTANCES: "learnt from instances",
    TimeSource.CONFIGURATION: "controller.startUpSeconds",
    TimeSource.NOTHING: "none was seen to end",
}


def instance_times_text(start_ups: Iterable[tuple[str, InstanceTime | None]], termination: InstanceTime) -> str:
    """Both times and what tells them, as a sentence. `start_ups`: of each candidate, with its label; None: it has none.

    Labels are named only where candidates differ.
    """
    parts = [*_start_ups(list(start_ups)), f"termination time {_text(termination)}"]
    return f"Instances: {', '.join(parts)}."


def _start_ups(start_ups: list[tuple[str, InstanceTime | None]]) -> Iterator[str]:
    known = [(label, each) for label, each in start_ups if each is not None]
    alike = all(each == known[0][1] for _, each in known)
    for label, each in known[:1] if alike else known:
        yield f"start-up time {_text(each)}" if alike else f"start-up time of {label} {_text(each)}"


def _text(time: InstanceTime) -> str:
    return f"{format_duration(_readable(time.seconds))} ({_WHENCE[time.source]})"


def _readable(length: timedelta) -> timedelta:
    """In whole seconds, unless it is shorter than ten."""
    return length if length < timedelta(seconds=10) else timedelta(seconds=round(length.total_seconds()))
