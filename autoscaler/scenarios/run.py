"""Runs a scenario: the daemon's shards, cycle after cycle, on a virtual clock."""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Final

from prometheus_client import CollectorRegistry

from autoscaler.cycle import CycleResult
from autoscaler.metrics.metrics import Metrics
from autoscaler.model import Decision, ShardName
from autoscaler.observe.gate import Gates
from autoscaler.record.state import State
from autoscaler.runtime.building import BuiltAdapter, ShardMemory
from autoscaler.runtime.running_shard import RunningShard
from autoscaler.runtime.wanted import Wanted, wanted_shards
from autoscaler.scenarios.answers import Answers, Evaluate, ScriptedPrometheus
from autoscaler.scenarios.clock import VirtualClock
from autoscaler.scenarios.events import clock_step, steer
from autoscaler.scenarios.file import Event
from autoscaler.scenarios.instances import Group, Groups
from autoscaler.scenarios.scenario import Scenario
from autoscaler.schedule.shard import Shard
from autoscaler.version import VERSION

_NONE: Final = timedelta(0)


@dataclass(frozen=True, slots=True)
class Seen:
    """An autoscaler at one time, after what happens then."""

    at: timedelta
    size: int
    ready: int
    decided: datetime | None = None
    """When the last decision was made, by the daemon's clock; None: there was none yet."""
    decided_ago: timedelta = _NONE
    reasons: tuple[str, ...] = ()
    """Of its conditions."""
    written: int | None = None
    """The size that was written at this very time."""


class _Log:
    """A `Logger` that keeps errors."""

    def __init__(self, errors: list[str]) -> None:
        self._errors = errors

    def debug(self, event: str, **keys: Any) -> None:
        """Nothing."""

    info = warning = debug

    def error(self, event: str, **keys: Any) -> None:
        """Keep the error for the report."""
        self._errors.append(f"{event}: {keys.get('error', '')}")


class Run:
    """A scenario that runs in a state of its own."""

    def __init__(self, scenario: Scenario, state: State, evaluate: Evaluate | None = None) -> None:
        """`evaluate`: of a Prometheus that has the scenario's series; None: it has none."""
        self.seen: Final[Mapping[str, list[Seen]]] = {name: [] for name in scenario.scalers}
        """By autoscaler, in order of time."""
        self.errors: Final = list[str]()
        """What the daemon logged as errors."""
        self._scenario: Final = scenario
        self._state: Final = state
        self._clock: Final = VirtualClock(scenario.start.at.astimezone(UTC))
        self._answers: Final = Answers(scenario.answers, scenario.interval, self._clock, evaluate)
        self._adapters: Final = {
            name: Groups(name, scenario.groups, self._clock) for name in scenario.settings.adapters
        }
        self._log: Final = _Log(self.errors)
        self._wanted: Final = wanted_shards(scenario.settings, scenario.settings.identify())
        self._down_until = _NONE
        self._decided: Final = dict[str, tuple[Decision, timedelta]]()
        """The last decision of each autoscaler, and when it was made."""
        self._shards = self._begin()

    def _begin(self) -> Sequence[RunningShard]:
        """Start the daemon: every shard in a new epoch."""
        metrics, gates = Metrics(CollectorRegistry(), self._clock, VERSION), Gates()
        return [self._connected(name, wanted, metrics, gates) for name, wanted in self._wanted.items()]

    def _connected(self, name: ShardName, wanted: Wanted, metrics: Metrics, gates: Gates) -> RunningShard:
        return RunningShard(
            wanted,
            BuiltAdapter(self._adapters[name.adapter], ShardMemory()),
            self._state.ledger(name.adapter, name.number, name.of),
            Shard(name, self._clock, self._log, self._report),
            self._clock,
            self._log,
            metrics,
            gates,
            connect=partial(ScriptedPrometheus, self._answers),
        )

    def _report(self, batch: CycleResult) -> None:
        self._decided.update({decision.name: (decision, self._clock.elapsed) for decision in batch.decisions})

    def to_its_end(self) -> None:
        """Run all of it."""
        happenings = iter(self._scenario.happenings)
        upcoming = next(happenings, None)
        for at in self._times():
            self._clock.elapsed = at
            while upcoming is not None and upcoming.at <= at:
                self._happen(upcoming.event)
                upcoming = next(happenings, None)
            if at >= self._down_until:
                self._tick(at)
            self._look(at)
        self._end()

    def _times(self) -> Iterator[timedelta]:
        """Every time at which there is something to do, in order."""
        others = sorted(
            {each.at for each in self._scenario.happenings}
            | {each.begin for each in self._scenario.expected}
            | {self._scenario.duration}
        )
        periods = {scaler.sync_period for scaler in self._scenario.settings.autoscalers}
        at = _NONE
        while at <= self._scenario.duration:
            yield at
            ticks = [period * (at // period + 1) for period in periods]
            place = bisect_right(others, at)
            at = min([*ticks, *others[place : place + 1]])

    def _tick(self, at: timedelta) -> None:
        for shard in self._shards:
            for period in sorted(shard.shard.periods):
                if at % period == _NONE:
                    shard.shard.tick(period)

    def _look(self, at: timedelta) -> None:
        for name, scaler in self._scenario.scalers.items():
            group = self._scenario.groups[scaler.target]
            seen = Seen(at, len(group.members), len(group.ready(at)))
            if name in self._decided:
                decision, decided_at = self._decided[name]
                reasons = tuple([each.reason for each in decision.conditions])
                written = decision.written if decided_at == at else None
                seen = replace(
                    seen, decided=decision.now, decided_ago=at - decided_at, reasons=reasons, written=written
                )
            self.seen[name].append(seen)

    def _happen(self, event: Event) -> None:
        now, lasts = self._clock.elapsed, event.lasts or _NONE
        match event.verb:
            case "outage":
                section, _, name = event.subject.partition(".")
                if section == "prometheus":
                    self._answers.silent_until[name] = now + lasts
                else:
                    self._adapters[name].silent_until = now + lasts
            case "clock":
                self._clock.wall += clock_step(event.subject)
            case "restart":
                self._end()
                self._shards = self._begin()
                self._down_until = now + lasts
            case "deployment":
                self._group(event).deploy(event.replicas, now, now + lasts)
            case "resize":
                self._group(event).resize(event.replicas or 0, now)
            case _:
                steer(self._state, event, self._clock.now())

    def _group(self, event: Event) -> Group:
        return self._scenario.groups[self._scenario.scalers[event.subject].target]

    def _end(self) -> None:
        for shard in self._shards:
            shard.end()
