"""A first test, made from what the daemon recorded: an incident becomes a scenario that a configuration is held to."""

import json
import re
import textwrap
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final

from autoscaler.errors import AutoscalerError, TargetError
from autoscaler.foresee.outlook import lookback
from autoscaler.model import (
    Failure,
    Hold,
    Instance,
    InstanceReading,
    ManualControls,
    MetricSpec,
    Query,
    TargetState,
    TargetType,
)
from autoscaler.quantity import Milli, format_duration, format_quantity, sum_of
from autoscaler.record.archive import Archive
from autoscaler.record.values import Record
from autoscaler.scenarios.reading import read_tests
from autoscaler.scenarios.results import result_of

_BEFORE: Final = timedelta(minutes=15)
"""How long before the incident the test begins, at least: windows remember what was before."""
_AFTER: Final = timedelta(minutes=30)
_MAX_CHANGES: Final = 100
_WIDTH: Final = 110
_PLAIN: Final = re.compile(r"[A-Za-z/][\w./-]*(?: [\w./-]+)*", re.ASCII)
_WORDS: Final = frozenset({"true", "false", "null"})


class NothingRecorded(AutoscalerError):
    """The state has no detail of that time."""


def first_test(archive: Archive, name: str, at: datetime, config: Path) -> Sequence[str]:
    """Return a file of tests, in lines. Raises NothingRecorded, ConfigError, StateError."""
    last = archive.record_at(name, at)
    around = at.replace(microsecond=0)  # `--at` is the last time that is shown like the given one
    begin = around - _BEFORE - (timedelta(0) if last is None else lookback(last.scaler))
    records = [each for each in archive.records(name, begin, at + _AFTER) if isinstance(_state(each), TargetState)]
    if not records:
        since = archive.detail_since(name)
        known = "nothing" if since is None else f"the time since {since.isoformat(timespec='seconds')}"
        when = at.isoformat(timespec="minutes")
        raise NothingRecorded(f"no cycle of {name} is recorded around {when}; `state.detail` keeps {known}")
    recorded = list(archive.records(name, records[0].decision.now, at + _AFTER))
    return _checked(list(_Writer(recorded, at, config).lines()), config)


def _state(record: Record) -> TargetState | TargetError | None:
    return None if record.observation is None else record.observation.target


class _Writer:
    """Writes the test of these cycles, the first of which read its target."""

    def __init__(self, records: Sequence[Record], at: datetime, config: Path) -> None:
        self._records = [record for record in records if record.observation is not None]
        self._scaler = self._records[-1].scaler
        self._start = self._records[0].decision.now
        self._tick = self._scaler.sync_period
        self._at = at
        self._config = config

    def lines(self) -> Iterator[str]:
        """Yield the file's lines. Each expectation is on one of its own."""
        name, at = self._scaler.name, self._at.astimezone(UTC)
        states = [state for record in self._records if isinstance(state := _state(record), TargetState)]
        yield f"# What {name} saw and did around {at:%Y-%m-%d %H:%M} UTC, from the daemon's state."
        yield f"config: {_text(str(self._config.absolute()))}"
        yield "tests:"
        yield f"  - name: {_text(f'{name} at {at:%Y-%m-%d %H:%M}')}"
        yield f"    start: {self._start.astimezone(UTC):%Y-%m-%dT%H:%M:%S}Z"
        yield f"    duration: {self._elapsed(self._records[-1])}"
        yield f"    interval: {format_duration(self._tick)}    # of the values"
        yield "    autoscalers:"
        yield f"      {_text(name)}:"
        yield f"        replicas: {states[0].replicas}"
        start_up = _start_up([each for state in states for each in state.instances])
        yield f"        startUp: {format_duration(start_up)}"
        if states[-1].warm_up:
            yield f"        warmUp: {format_duration(states[-1].warm_up)}"
        yield from self._requests()
        for key in ("load", "values"):
            wanted = [spec for spec in enumerate(self._scaler.metrics) if self._key(spec[1]) == key]
            if wanted:
                yield f"        {key}:"
            for place, spec in wanted:
                yield f"          {_text(spec.name)}: >-"
                yield from self._series(place, " " * 12, is_load=key == "load")
        yield "        expect:"
        yield from self._expected()
        yield from self._queries()
        events = list(self._events())
        if events:
            yield "    events:"
            yield from (f"      - {{{event}}}" for event in events)

    def _elapsed(self, record: Record) -> str:
        return format_duration(self._slot(record) * self._tick)

    def _slot(self, record: Record) -> int:
        """In which cycle after the start it was."""
        return max(0, round((record.decision.now - self._start) / self._tick))

    def _key(self, spec: MetricSpec) -> str:
        """Which key of the test answers a metric. The values of a load would be others with another size."""
        if [each.name for each in self._scaler.metrics].count(spec.name) > 1:  # the other keys go by its name
            return "queries"
        return "values" if spec.target.type is TargetType.VALUE else "load"

    def _series(self, place: int, indent: str, *, is_load: bool) -> Sequence[str]:
        """The values of one metric in promtool's notation; a cycle that is not known has the value before it."""
        found = dict[int, float | None]()
        for record in self._records:
            value, slot = self._value(record, place, is_load=is_load), self._slot(record)
            if value is not None or slot not in found:  # a late cycle and the next one are in the same slot
                found[slot] = value
        values, last = list[float | None](), None
        for slot in range(max(found) + 1):
            last = found.get(slot, last)
            values.append(last)
        runs = [(value, len(list(equal))) for value, equal in groupby(values)]
        text = " ".join(_written(value, count) for value, count in runs)
        return textwrap.wrap(text, _WIDTH, initial_indent=indent, subsequent_indent=indent)

    def _value(self, record: Record, place: int, *, is_load: bool) -> float | None:
        """What a metric read: of instances, the mean, or the load that all the ready ones share."""
        if record.observation is None or place >= len(record.observation.readings):
            return None
        reading = record.observation.readings[place]
        if isinstance(reading, Failure):
            return None
        if not isinstance(reading, InstanceReading):
            return sum_of(reading.values) / 1000
        if not reading.samples:
            return None
        mean = sum(each.value for each in reading.samples.values()) / len(reading.samples) / 1000
        return mean * (record.decision.ready or 0) if is_load else mean

    def _requests(self) -> Iterator[str]:
        own = [
            f"{_text(spec.name)}: {format_quantity(each)}" for spec, each in self._capacities() if spec.request is None
        ]
        if own:
            yield f"        requests: {{{', '.join(own)}}}"

    def _queries(self) -> Iterator[str]:
        asked = {spec.request.expr: each for spec, each in self._capacities() if isinstance(spec.request, Query)}
        own = [each for each in enumerate(self._scaler.metrics) if self._key(each[1]) == "queries"]
        if asked or own:
            yield "    queries:"
        for expr, each in asked.items():
            yield f"      - expr: {json.dumps(expr)}"
            yield f"        values: {each / 1000:g}"
        for place, spec in own:
            yield f"      - expr: {json.dumps(spec.query.expr)}"
            yield "        values: >-"
            yield from self._series(place, " " * 10, is_load=False)

    def _capacities(self) -> Iterator[tuple[MetricSpec, Milli]]:
        """What an instance has, by the metrics that are set against it and not against a number of the file."""
        for place, spec in enumerate(self._scaler.metrics):
            if spec.target.type is not TargetType.UTILIZATION or isinstance(spec.request, Milli):
                continue
            readings = [record.observation.readings[place] for record in self._records if record.observation]
            known = [each.requests for each in readings if isinstance(each, InstanceReading) and each.requests]
            if known:
                yield spec, round(median(known[0].values()))

    def _expected(self) -> Iterator[str]:
        since = self._at - _BEFORE  # the test has windows without a past until then
        known = [record for record in self._records if record.decision.now >= since]
        changes = [(record, size) for record in known if (size := record.decision.written) is not None]
        for record, size in changes[:_MAX_CHANGES]:
            within = format_duration(2 * self._tick)
            yield f"          - {{at: {self._elapsed(record)}, within: {within}, size: {size}}}"
        last = self._records[-1].decision
        size = last.current if last.written is None else last.written
        if size is not None:
            yield f"          - {{at: {self._elapsed(self._records[-1])}, size: {size}}}"

    def _events(self) -> Iterator[str]:
        name, target = _text(self._scaler.name), self._scaler.target
        outage = f"outage: {_text(f'adapters.{target.adapter}')}"
        yield from self._during(outage, [isinstance(_state(record), TargetError) for record in self._records])
        holds = [isinstance(state := _state(each), TargetState) and state.hold != Hold() for each in self._records]
        yield from self._during(f"deployment: {name}", holds)
        expected, asked = None, ManualControls()
        for place, record in enumerate(self._records):
            made, at = record.decision, f"at: {self._elapsed(record)}"
            if None not in (expected, made.current) and made.current != expected:
                deployment = f"deployment: {name}, for: {format_duration(self._tick)}"
                what = deployment if self._was_deployed(place, expected) else f"resize: {name}"
                yield f"{at}, {what}, replicas: {made.current}"
            expected = made.current if made.written is None else made.written
            if made.manual != asked:
                yield from (f"{at}, {each}" for each in _commands(asked, made.manual, name))
                asked = made.manual

    def _was_deployed(self, place: int, before: int | None) -> bool:
        """Whether a deployment set the size of this cycle. An adapter may say so in the next one."""
        for record in self._records[place : place + 2]:
            state = _state(record)
            deployed = state.deployment if isinstance(state, TargetState) else None
            if deployed is not None and deployed.certain and deployed.before == before:
                return not deployed.rollback
        return False

    def _during(self, what: str, cycles: Sequence[bool]) -> Iterator[str]:
        """An event for each run of cycles of which something is true."""
        for holds, group in groupby(zip(cycles, self._records, strict=True), key=itemgetter(0)):
            records = [record for _, record in group]
            if holds:
                lasted = (self._slot(records[-1]) - self._slot(records[0]) + 1) * self._tick
                yield f"at: {self._elapsed(records[0])}, {what}, for: {format_duration(lasted)}"


def _text(text: str) -> str:
    """A text of YAML, in quotes where it could mean something else."""
    return text if _PLAIN.fullmatch(text) and text.lower() not in _WORDS else json.dumps(text)


def _written(value: float | None, count: int) -> str:
    if value is None:
        return f"_x{count}" if count > 1 else "_"
    return f"{value:.6g}x{count - 1}" if count > 1 else f"{value:.6g}"


def _start_up(instances: Sequence[Instance]) -> timedelta:
    """How long instances took to be ready: the median; 0 where none was seen to start."""
    took = {
        each.name: each.ready_transition - each.started_at
        for each in instances
        if each.ready and each.ready_transition is not None and each.started_at is not None
    }
    return timedelta(seconds=round(median([each.total_seconds() for each in took.values()]))) if took else timedelta(0)


def _commands(before: ManualControls, after: ManualControls, name: str) -> Iterator[str]:
    """What operators asked for, from one cycle to the next."""
    if (before.pause and not after.pause) or (before.override and not after.override):
        yield f"resume: {name}"
        before = ManualControls()
    if after.pause is not None and after.pause != before.pause:
        yield f"pause: {name}, direction: {after.pause.direction}"
    if after.override is not None and after.override != before.override:
        bounds = {"minReplicas": after.override.minimum, "maxReplicas": after.override.maximum}
        yield ", ".join([f"override: {name}", *[f"{key}: {each}" for key, each in bounds.items() if each is not None]])


def _checked(lines: Sequence[str], config: Path) -> Sequence[str]:
    """Return the lines with a note beside each expectation that this configuration does not meet."""
    with TemporaryDirectory(prefix="autoscaler-test-") as folder:
        file = Path(folder) / "tests.yaml"
        file.write_text("\n".join(lines) + "\n")
        (scenario,) = read_tests(file, config)
        notes = {failed.expected.place: failed.got for failed, _ in result_of(scenario).failures}
    places = {int(place.rsplit(":", 2)[1]): got for place, got in notes.items()}
    return [
        f"{line}    # with this configuration: {places[number]}" if number in places else line
        for number, line in enumerate(lines, 1)
    ]
