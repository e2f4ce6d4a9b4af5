"""Which instances a target had, and when: inferred from their series, for no back end tells it of the past.

An instance is there while Prometheus scrapes it (`up` has a sample), else while the series that its metric selects has
one, else while the metric itself has. It counts as running and ready from its first step on: what a back end says of
readiness is not in any series.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from statistics import median
from typing import Final, NamedTuple

from autoscaler.config.kept_labels import INSTANCE_LABELS, instance_labels
from autoscaler.errors import TargetUnavailable
from autoscaler.model import Autoscaler, Instance, Phase, TargetState
from autoscaler.observe.join import first_label, without_port
from autoscaler.observe.ranges import Grid
from autoscaler.quantity import Milli
from autoscaler.whatif.prometheus.rows import Row, Runs, bridged, covers, union

UNKNOWN: Final = -1
"""A size that nothing tells."""


@dataclass(frozen=True, slots=True)
class Lifetime:
    """One instance. Steps are indexes into a span."""

    name: str
    identities: frozenset[str]
    there: Runs
    """When it existed."""
    seen: Runs
    """When its metric had a sample."""
    down: Runs = ()
    """When it existed, had had a sample, and a scrape of it failed."""


class Durations(NamedTuple):
    """What changes of size took."""

    start_up: timedelta | None
    """Until an instance had its first sample: the median; None: no start was seen."""
    termination: timedelta | None
    """Until it was gone: the median; None: no end was seen."""


@dataclass(slots=True)
class _Known:
    """What is found out about one instance."""

    identities: set[str] = field(default_factory=set)
    own: list[tuple[int, int]] = field(default_factory=list)
    selected: list[tuple[int, int]] = field(default_factory=list)
    scraped: list[tuple[int, int]] = field(default_factory=list)
    down: list[tuple[int, int]] = field(default_factory=list)


def lifetimes(
    own: Iterable[Row], selected: Iterable[Row], up: Iterable[Row], down: Iterable[Row], label: str | None, gaps: Runs
) -> Sequence[Lifetime]:
    """The instances that the metric's `own` answer ever had a sample of, by name.

    `selected`: the series that its expression reads; `up`: of their jobs, and `down`, where that was 0. `label`: the
    instanceLabel. `gaps`: when nothing was scraped; what is there on both sides was there between.
    """
    names = instance_labels(label)
    known: dict[str, _Known] = {}
    pairs: dict[tuple[str, str], set[str]] = {}

    def note(row: Row, name: str) -> _Known:
        found = known[name]
        found.identities.update(_identities(row.labels, names))
        pairs.setdefault(_scraped_as(row.labels), set()).add(name)
        return found

    for row in own:
        if name := first_label(row.labels, names)[1]:
            known.setdefault(name, _Known())
            note(row, name).own += row.runs
    for row in selected:
        if (name := first_label(row.labels, names)[1]) in known:
            note(row, name).selected += row.runs
    for rows, is_down in ((up, False), (down, True)):
        for row in rows:
            scraped = _of_scrape(row.labels, names, known, pairs)
            if scraped is not None:
                each = known[scraped]
                each.identities.update(_identities(row.labels, names))
                (each.down if is_down else each.scraped).extend(row.runs)
    return [_lifetime(name, known[name], gaps) for name in sorted(known)]


def _of_scrape(
    labels: Mapping[str, str],
    names: Iterable[str],
    known: Mapping[str, _Known],
    pairs: Mapping[tuple[str, str], set[str]],
) -> str | None:
    """The instance that a series of `up` is about; None: none, or several had the address one after another."""
    name = first_label(labels, names)[1]
    if name in known:
        return name
    owners = pairs.get(_scraped_as(labels), set())
    return next(iter(owners)) if len(owners) == 1 else None


def _scraped_as(labels: Mapping[str, str]) -> tuple[str, str]:
    return labels.get("job", ""), labels.get("instance", "")


def _identities(labels: Mapping[str, str], names: Iterable[str]) -> Iterable[str]:
    """All that a sample may call the instance, as an adapter lists it: addresses with and without port."""
    for name in dict.fromkeys((*names, *INSTANCE_LABELS)):
        if value := labels.get(name):
            yield value
            yield without_port(value)


def _lifetime(name: str, known: _Known, gaps: Runs) -> Lifetime:
    seen, down = union(known.own), union(known.down)
    if scraped := union(known.scraped):
        there = [run for each in scraped if (run := _without_end(each, seen, down)) is not None]
    else:
        there = list(union(known.selected)) or list(seen)
    there = list(bridged(there, gaps))
    failed = [run for run in down if (begin := _begin_of(there, run[0])) is not None and _any_in(seen, begin, run[0])]
    return Lifetime(name, frozenset(known.identities | {name}), there, seen, failed)


def _begin_of(runs: Runs, index: int) -> int | None:
    """Of the run that a step is in."""
    return next((begin for begin, end in runs if begin <= index < end), None)


def _any_in(runs: Runs, begin: int, end: int) -> bool:
    return any(first < end and last > begin for first, last in runs)


def _without_end(run: tuple[int, int], seen: Runs, down: Runs) -> tuple[int, int] | None:
    """A run of scrapes without those at its end that failed: the instance was gone, and its address still listed."""
    begin, end = run
    tail = next((each for each in down if each[0] < end <= each[1]), None)
    if tail is None or any(last > tail[0] for first, last in seen if first < end):
        return run
    return (begin, tail[0]) if tail[0] > begin else None


def durations(known: Sequence[Lifetime], sizes: Sequence[int], span: Grid) -> Durations:
    """Learnt from the changes of size where these are known, else from scrapes that began before the samples did."""
    firsts = sorted(run[0] for each in known for run in _seen_in(each) if run[0] > 0)
    lasts = sorted(end for each in known for _, end in each.there if end < span.count)
    starts, ends = _delays(firsts, _changes(sizes, up=True)), _delays(lasts, _changes(sizes, up=False))
    if not starts:
        starts = [
            first - begin
            for each in known
            for begin, end in each.there
            if begin > 0 and (first := next((at for at, _ in each.seen if begin < at < end), None)) is not None
        ]
    return Durations(
        median(starts) * span.step if starts else None,
        median(ends) * span.step if ends else None,
    )


def _seen_in(known: Lifetime) -> Iterable[tuple[int, int]]:
    """The first unbroken samples of each time that it was there."""
    for begin, end in known.there:
        first = next(((at, last) for at, last in known.seen if begin <= at < end), None)
        if first is not None:
            yield first


def _changes(sizes: Sequence[int], *, up: bool) -> Iterable[int]:
    """The step of each unit that was added, or taken away."""
    for index in range(1, len(sizes)):
        before, after = sizes[index - 1], sizes[index]
        if UNKNOWN not in (before, after):
            yield from [index] * max(0, after - before if up else before - after)


def _delays(found: Sequence[int], asked: Iterable[int]) -> Sequence[int]:
    """From each request to the first that followed it and is not another one's."""
    delays, number = [], 0
    for at in asked:
        while number < len(found) and found[number] < at:
            number += 1
        if number < len(found):
            delays.append(found[number] - at)
            number += 1
    return delays


class States:
    """The target's state at each step, in order."""

    def __init__(
        self,
        scaler: Autoscaler,
        known: Sequence[Lifetime],
        sizes: Sequence[int],
        span: Grid,
        requests: Mapping[str, Milli],
        silent: Runs,
    ) -> None:
        """`sizes`: what was asked for at each step, or UNKNOWN. `requests`: what each instance has reserved.

        `silent`: the steps at which no series at all had a sample.
        """
        self._scaler, self._sizes, self._span, self._requests, self._silent = scaler, sizes, span, requests, silent
        self._are_named = bool(known)
        self._begins = sorted(((*run, each) for each in known for run in each.there), key=lambda each: each[:2])
        self._begins.reverse()
        self._there: dict[str, tuple[int, Instance]] = {}
        """Name -> the step after its last, and the instance."""
        self._size: int | None = None
        self._state: TargetState | None = None

    def at(self, index: int) -> TargetState | TargetUnavailable:
        """At the next step: each one is asked for once, in order."""
        changed = self._follow(index)
        size = self._sizes[index]
        if size == UNKNOWN:
            size = len(self._there)
            if not size and (self._scaler.min_replicas > 0 or covers(self._silent, index)):
                self._state = None
                return TargetUnavailable(
                    f"{self._scaler.target}: no instance of it had a sample at this time, which does not mean that "
                    "there was none"
                )
        if changed or size != self._size or self._state is None:
            self._size, self._state = size, self._made(size)
        return self._state

    def _follow(self, index: int) -> bool:
        gone = [name for name, (end, _) in self._there.items() if end <= index]
        for name in gone:
            del self._there[name]
        changed = bool(gone)
        while self._begins and self._begins[-1][0] <= index:
            begin, end, known = self._begins.pop()
            self._there[known.name] = end, self._instance(known, begin)
            changed = True
        return changed

    def _instance(self, known: Lifetime, begin: int) -> Instance:
        first = next((max(at, begin) for at, last in known.seen if last > begin), begin)
        return Instance(
            known.name,
            Phase.RUNNING,
            ready=True,
            ready_transition=self._span.at(first),
            started_at=self._span.at(begin),
            identities=known.identities,
            requests=self._requests,
        )

    def _made(self, size: int) -> TargetState:
        """More than were asked for: those leave whose series end first. Fewer: the others are on their way."""
        surplus = len(self._there) - size
        ending = sorted((end, name) for name, (end, _) in self._there.items() if end < self._span.count)
        leaving = {name for _, name in ending[: max(0, surplus)]}
        instances = [
            replace(instance, deleting=True) if name in leaving else instance
            for name, (_, instance) in sorted(self._there.items())
        ]
        if surplus < 0:
            phase = Phase.PENDING if self._are_named else Phase.RUNNING
            instances.append(self._unnamed(-surplus, phase))
        return TargetState(size, sum(each.weight for each in instances if not each.deleting), tuple(instances))

    def _unnamed(self, units: int, phase: Phase) -> Instance:
        """Stands for so many that no series names."""
        name, begin = f"{units} without a sample", self._span.at(0)
        return Instance(name, phase, phase is Phase.RUNNING, begin, begin, requests=self._requests, weight=units)
