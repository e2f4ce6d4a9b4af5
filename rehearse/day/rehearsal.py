"""The day and its promises."""

import signal
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Final

from autoscaler.model import History
from autoscaler.record.archive import Archive
from autoscaler.record.values import Record
from rehearse import judge
from rehearse.day.config import MAX_SIZE_BYTES
from rehearse.day.happenings import day
from rehearse.day.measure import Measure, Sample, quarter
from rehearse.day.world import SPEED, SPEED_SHORT, World, world
from rehearse.rehearsal import Extent, Row

_LASTS: Final = 1 / 180
"""The part of the day that a fault lasts: eight minutes of 24 hours, eight seconds of 24 minutes."""
_LASTS_SHORT: Final = 1 / 10
_GROWS: Final = 1.03
"""The allowed ratio of the last quarter's memory to the third's."""
_GROWS_SHORT: Final = 1.5
"""In a quarter of a minute a process still grows, so the short form allows more."""
_MORE: Final = 3
_MORE_SHORT: Final = 10
"""The allowed variation of file descriptors and threads."""
_BESIDE_BYTES: Final = 2 * 2**20
"""The bytes that maxSize does not limit, which are the memories of all autoscalers and what they add in a minute."""
_LOOKED_AT: Final = 20
"""The number of autoscalers whose recorded decisions are repeated."""
_BUGS: Final = ("report_failed", "request_failed", "web_failed", "thread_failed", "crashed", "library_log")
"""Events of the log that report a bug."""


@dataclass(slots=True)
class Lived:
    """The observations of a day."""

    measure: Measure
    happened: list[str] = field(default_factory=list)
    minutes: list[float] = field(default_factory=list)
    """Minutes of the day until all autoscalers recovered from each fault."""
    broken: list[str] = field(default_factory=list)


def rehearse(folder: Path, extent: Extent) -> Iterator[Row]:
    """Run 24 hours of 200 autoscalers in 24 minutes; in the short form three minutes of 40, in 36 seconds.

    Raises AssertionError if the daemon does not start.
    """
    short = extent.short
    hours, autoscalers, speed = (1 / 20, 40, SPEED_SHORT) if short else (extent.hours, 200, SPEED)
    with world(folder, autoscalers, speed) as found:
        seen = _live(found, hours * 3600 / speed, short=short)
        assert found.stop(signal.SIGTERM) == 0
        records = _records(found)
    events, slowest = found.log.events, max(seen.minutes, default=0)
    yield Row(
        len(seen.happened),
        "after each fault every autoscaler goes on by itself, and no line of the log is of a bug",
        f"{len(seen.minutes)} of {len(seen.happened)}, after {slowest:.0f} minutes of the day at most",
        [*seen.broken, *(f"{events[event]} x {event}: {found.log.errors}" for event in _BUGS if events[event])],
    )
    samples, more = seen.measure.samples, _MORE_SHORT if short else _MORE
    yield flat(samples, "memory (MiB)", lambda sample: sample.mebibytes, _GROWS_SHORT if short else _GROWS)
    yield flat(samples, "file descriptors", lambda sample: sample.descriptors, more=more)
    yield flat(samples, "threads", lambda sample: sample.threads, more=more)
    most = max(sample.state_bytes for sample in samples)
    yield Row(
        len(samples),
        "the state keeps within maxSize, but for memories and for what comes in the minute between two looks at it",
        f"{most / 2**20:.1f} of {MAX_SIZE_BYTES / 2**20:.0f} MB at most",
        [_course(samples, lambda sample: sample.state_bytes)] if most > MAX_SIZE_BYTES + _BESIDE_BYTES else [],
    )
    yield _decided_again(records)


def _live(world: World, seconds: float, *, short: bool) -> Lived:
    began, waited = time.monotonic(), 0.0
    lasts = (_LASTS_SHORT if short else _LASTS) * seconds

    def part() -> float:
        return (time.monotonic() - began - waited) / seconds

    seen = Lived(Measure(part, lambda: world.daemon.process.pid, world.state))
    seen.measure.start()
    try:
        for happening in day(short):
            _wait(world, part, happening.at)
            seen.happened.append(f"{happening.name} at {part():.3f}")
            happens = time.monotonic()
            try:
                with happening.happens(world):
                    world.read_log()
                    time.sleep(lasts)
                seen.minutes.append(world.wait_until_all_go_on())
            except AssertionError as failure:
                seen.broken.append(f"{seen.happened[-1]}: {failure}")
            waited += time.monotonic() - happens - lasts  # the day's hours pass although a busy machine is slow
        _wait(world, part, 1)
    finally:
        seen.measure.stop()
    return seen


def _wait(world: World, part: Callable[[], float], until: float) -> None:
    while part() < until:
        world.read_log()
        assert world.daemon.alive, f"the daemon ended: {world.log.errors}"
        time.sleep(0.2)


def flat(samples: Sequence[Sample], what: str, of: Callable[[Sample], float], ratio: float = 1, more: float = 0) -> Row:
    """Return a row: the median of the last quarter exceeds that of the third by at most this factor or amount."""
    before, after = (median(map(of, quarter(samples, number))) for number in (3, 4))
    limit = f"{ratio - 1:.0%}" if ratio > 1 else f"{more:.0f}"
    return Row(
        len(samples),
        f"{what}: the last quarter has at most {limit} more than the third",
        f"{before:.0f}, then {after:.0f} ({after / before - 1:+.1%}); {max(map(of, samples)):.0f} at most",
        [] if after <= ratio * before + more else [_course(samples, of)],
    )


def _course(samples: Sequence[Sample], of: Callable[[Sample], float]) -> str:
    """Return the course over the day, in some twenty measurements."""
    return ", ".join(f"{each.part:.2f}: {of(each):.0f}" for each in samples[:: max(1, len(samples) // 20)])


def _records(world: World) -> Sequence[Sequence[Record]]:
    """Return the complete records of some autoscalers."""
    names = world.names[:: max(1, len(world.names) // _LOOKED_AT)]
    with Archive.open_archive(None, world.state) as archive:
        return [[each for each in archive.records(name) if each.history is not None] for name in names]


def _remembered(records: Sequence[Record]) -> History:
    """Return what was remembered before the first record: the state keeps none of the day's beginning."""
    return next((each.history for each in records if each.history is not None), History())


def _decided_again(records: Sequence[Sequence[Record]]) -> Row:
    number = sum(map(len, records))
    return Row(
        number,
        "every recorded decision comes out again, from what the one before it left",
        f"{number:,} decisions of {len(records)} autoscalers",
        [text for each in records for text in judge.decided_otherwise(each, _remembered(each))],
    )
