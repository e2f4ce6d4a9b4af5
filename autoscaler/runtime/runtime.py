"""Everything that a configuration asks for, built; and made to follow the next configuration.

A connection has one lane, or as many as its `lanes` says; each lane has an adapter of its own, and what its autoscalers
remember in an epoch of its own. What a lane's cycles work with is one `Work`, which is replaced between cycles and
never changed.
"""

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from autoscaler.clock import Clock
from autoscaler.config.settings import Settings
from autoscaler.errors import AdapterError, AutoscalerError, StateError
from autoscaler.logger import Logger
from autoscaler.metrics import Metrics
from autoscaler.model import LaneName
from autoscaler.observe import Gates
from autoscaler.record import Ledger, State, slots_of
from autoscaler.runtime.building import Builder, Built
from autoscaler.runtime.connected import Connected
from autoscaler.runtime.wanted import Wanted, wanted_lanes
from autoscaler.schedule import Batch, Lane, Lanes, Stop, Stopping, wait_for

_MOST_ABANDONED: Final = 3
"""Threads left behind in what hangs, of those that served one slot, before its lane waits for one of them to end."""
_RETRY_SECONDS: Final = 15.0
"""How long after a failure it is tried again to begin a lane."""


@dataclass(frozen=True, slots=True)
class _Waiting:
    """What is connected as soon as it may be."""

    wanted: Wanted
    built: Built


class Runtime:
    """What runs. Used from the main thread alone, apart from the lanes."""

    def __init__(
        self,
        state: State,
        state_dir: Path,
        clock: Clock,
        logger: Logger,
        report: Callable[[Batch], None],
        metrics: Metrics,
        stop: Stop | None = None,
    ) -> None:
        """`report` is called with every cycle that ended, on its lane's thread.

        `stop`: asked for, whatever else is under way here is given up and raises Stopping; `close` comes next.
        """
        self.lanes = Lanes(clock, logger)
        self._state = state
        self._clock = clock
        self._logger = logger
        self._report = report
        self._metrics = metrics
        self._stop = stop or Stop()
        self._gates = Gates()
        self._builder = Builder(state_dir, clock, logger, self._stop)
        self._connected: dict[LaneName, Connected] = {}
        self._abandoned: list[Connected] = []
        """Those whose thread hung when they were superseded or replaced."""
        self._leaving: Sequence[Connected] = ()
        """Those that have no further cycle, and whose running one is waited for."""
        self._waiting: dict[LaneName, _Waiting] = {}
        """What begins when one of its abandoned threads ends, or the state takes it."""
        self._crowded: frozenset[LaneName] = frozenset()
        """Lanes that wait for one of the abandoned threads to end."""
        self._retry_at: dict[LaneName, float] = {}
        """When it is tried again to begin a lane."""

    @property
    def adapters(self) -> Sequence[str]:
        """The connections' names, sorted."""
        return sorted({name.adapter for name in self._connected})

    def follow(self, settings: Settings) -> None:
        """Make what runs follow `settings`; what did not change goes on, in the same epoch.

        An adapter without autoscalers is not built. Raises AdapterError, then nothing has changed; or StateError, then
        `supervise` begins what the state refused to begin; or Stopping.
        """
        wanted = wanted_lanes(settings)
        kept = {name for name, have in self._connected.items() if name in wanted and _same(wanted[name], have)}
        built = self._builder.build_all({name: want for name, want in wanted.items() if name not in kept})
        try:
            self._end([self._connected.pop(name) for name in self._connected.keys() - kept])
        except Stopping:
            self._builder.let_go(each.adapter for each in built.values())
            raise
        self._builder.let_go(each.built.adapter for each in self._waiting.values())
        self._retry_at.clear()
        self._waiting = {name: _Waiting(wanted[name], adapter) for name, adapter in built.items()}
        for name, have in self._connected.items():
            if have.follow(wanted[name]):
                self.lanes.reschedule(have.lane)
        failures = [failure for name in self._may_begin(built) if (failure := self._begin(name)) is not None]
        if failures:
            raise failures[0]

    def supervise(self) -> None:
        """To be called every second or so: gives a lane that hangs too long a successor."""
        self._forget_ended()
        stuck = {name: have for name, have in self._connected.items() if have.stuck()}
        for name in self._may_begin([*self._waiting, *stuck]):
            failure = self._begin(name) if name in self._waiting else self._supersede(stuck[name])
            if failure is not None:
                self._logger.error("lane_not_begun", **name.labels(), error=str(failure))

    def close(self) -> bool:
        """End all; waits for running cycles, up to their deadlines. False: one hangs, and its thread is left behind."""
        gone = [*self._leaving, *self._connected.values()]
        self.lanes.retire([have.lane for have in self._connected.values()], wait=False)
        self._connected.clear()
        wait_for([have.lane for have in gone])
        self._part(gone)
        self._builder.let_go(each.built.adapter for each in self._waiting.values())
        self.lanes.stop()
        self._forget_ended()
        return not self._abandoned

    def _may_begin(self, names: Collection[LaneName]) -> Sequence[LaneName]:
        """Those that may begin now. Of others it is logged, once each, what they wait for."""
        crowded = frozenset(name for name in names if self._is_crowded(name))
        for name in sorted(crowded - self._crowded):
            error = f"{_MOST_ABANDONED} threads left behind hang in it; it goes on when one of them ends"
            self._logger.error("lane_waits", **name.labels(), error=error)
        self._crowded = crowded
        now = self._clock.monotonic()
        return [name for name in names if name not in crowded and now >= self._retry_at.get(name, now)]

    def _is_crowded(self, name: LaneName) -> bool:
        """By slots, for a reload may have changed how many lanes there are, and which one serves what hangs."""
        left = Counter(slot for have in self._abandoned if have.name.adapter == name.adapter for slot in have.slots)
        return any(left[slot] >= _MOST_ABANDONED for slot in slots_of(name.number - 1, name.of))

    def _begin(self, name: LaneName) -> StateError | None:
        """Begin a lane that waited. Returns why the state refused it: then it is tried again."""
        try:
            ledger = self._ledger(name)
        except StateError as failure:
            self._retry_at[name] = self._clock.monotonic() + _RETRY_SECONDS
            return failure
        waiting = self._waiting.pop(name)
        self._connect(name, waiting.wanted, waiting.built, ledger)
        return None

    def _supersede(self, have: Connected) -> AutoscalerError | None:
        """A new adapter, lane and epoch in place of one that hangs. What hangs can write and record nothing more.

        Returns why that could not be: then the old one stays, and it is tried again.
        """
        name = have.name
        self._retry_at[name] = self._clock.monotonic() + _RETRY_SECONDS
        try:
            built = self._builder.build(name, have.wanted.adapter)
        except AdapterError as failure:
            return failure
        try:
            ledger = self._ledger(name)
        except StateError as failure:
            self._builder.let_go([built.adapter])
            return failure
        overdue = have.overdue_seconds()
        del self._connected[name]
        self._end([have], wait=False)
        self._connect(name, have.wanted, built, ledger)
        del self._retry_at[name]
        self.lanes.count_superseded(name)
        self._logger.error(
            "lane_superseded",
            **name.labels(),
            error=f"its cycle hung {overdue:.0f} s past its deadline; a new lane has taken over, the hanging thread is "
            "left behind and can write nothing more",
        )
        return None

    def _ledger(self, name: LaneName) -> Ledger:
        """In a new epoch of the lane's slots. Raises StateError and Stopping."""
        return self._stop.unless(partial(self._state.ledger, name.adapter, slots_of(name.number - 1, name.of)))

    def _connect(self, name: LaneName, wanted: Wanted, built: Built, ledger: Ledger) -> None:
        """A lane in the epoch of `ledger`."""
        lane = Lane(name, self._clock, self._logger, self._report)
        self._connected[name] = Connected(
            wanted, built, ledger, lane, self._clock, self._logger, self._metrics, self._gates
        )
        self.lanes.add(lane)

    def _end(self, gone: Sequence[Connected], *, wait: bool = True) -> None:
        """No further cycle of these; with `wait` running ones are waited for, to their deadlines. Raises Stopping."""
        self.lanes.retire([have.lane for have in gone], wait=False)
        if wait:
            self._leaving = gone
            wait_for([have.lane for have in gone], self._stop)
            self._leaving = ()
        self._part(gone)

    def _part(self, gone: Collection[Connected]) -> None:
        """Let go of these, whose cycles have ended or hang."""
        self._builder.let_go(have.adapter for have in gone)
        for have in gone:
            if have.ended():
                have.end()
            else:
                self._abandoned.append(have)

    def _forget_ended(self) -> None:
        """Let go of what threads worked with that were left behind and have ended since."""
        for have in [each for each in self._abandoned if each.ended()]:
            have.end()
            self._abandoned.remove(have)


def _same(wanted: Wanted, have: Connected) -> bool:
    """Whether its adapter goes on."""
    return wanted.adapter == have.wanted.adapter
