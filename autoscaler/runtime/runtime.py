"""Runs the shards that a configuration asks for, and makes them follow the next configuration.

A connection has one shard, or as many as its `shards` says. Each shard has an adapter and a ledger of its own. Its
cycles use one immutable `Work`, which is replaced between two cycles.

If several daemons share the state, the leader runs them all. A daemon that leads no more begins no further cycle.
"""

from collections.abc import Callable, Collection, Mapping, Sequence, Set
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Final

from autoscaler.clock import Clock
from autoscaler.config.settings import Settings
from autoscaler.cycle import CycleResult
from autoscaler.errors import AutoscalerError, StateError, bug
from autoscaler.logger import Logger
from autoscaler.metrics.metrics import Metrics
from autoscaler.model import Autoscaler, ConfiguredRule, ShardName
from autoscaler.observe.gate import Gates
from autoscaler.observe.queries import AskedAlone
from autoscaler.record.lease import LeaseOptions
from autoscaler.record.ledger import Ledger
from autoscaler.record.state import State
from autoscaler.runtime.building import Builder, BuiltAdapter
from autoscaler.runtime.leadership import Leadership
from autoscaler.runtime.ledgers import Ledgers
from autoscaler.runtime.running_shard import RunningShard
from autoscaler.runtime.wanted import Wanted, wanted_shards
from autoscaler.schedule.shard import Shard
from autoscaler.schedule.shards import Shards, wait_for
from autoscaler.text import count as counted
from autoscaler.threads import Stop, Stopping

_MAX_ABANDONED: Final = 3
"""Number of abandoned threads after which their shard waits for one of them to end."""
RETRY_SECONDS: Final = 15.0
"""Time after which a shard that could not begin is tried again."""

STATE_SECONDS: Final = 15.0
"""How long the main thread waits for the state. On SQLite another write may take ten seconds."""


class Runtime:
    """Starts, supersedes and ends shards. Used by the main thread."""

    def __init__(
        self,
        state: State,
        state_dir: Path,
        clock: Clock,
        logger: Logger,
        report: Callable[[CycleResult], None],
        metrics: Metrics,
        stop: Stop | None = None,
        leadership: Leadership | None = None,
        *,
        alone: bool = False,
        retry_seconds: float = RETRY_SECONDS,
        state_seconds: float = STATE_SECONDS,
    ) -> None:
        """`report` is called with the result of every cycle, on its shard's thread.

        `stop`: after a request to stop, methods raise Stopping and `close` comes next. `leadership`: this daemon's;
        None if no other shares the state. `alone`: as of `Leadership.start`.
        """
        self.shards = Shards(clock, logger)
        self._state = state
        self._clock = clock
        self._logger = logger
        self._report = report
        self._metrics = metrics
        self._stop = stop or Stop()
        self._leadership = leadership
        self._alone = alone
        self._longest_hang = LeaseOptions().duration.total_seconds() if leadership is None else leadership.duration
        """Seconds past its deadline after which a hanging call no longer keeps its targets from other shards."""
        self._retry_seconds = retry_seconds
        self._state_seconds = state_seconds
        self._gates = Gates()
        self._builder = Builder(state_dir, clock, logger, self._stop)
        self._wanted: Mapping[ShardName, Wanted] = {}
        """The shards of the configuration."""
        self.running: dict[ShardName, RunningShard] = {}
        """The shards that are served here, by name. Read-only for others."""
        self._abandoned: list[RunningShard] = []
        """Shards that were ended while a thread of theirs hung."""
        self._ending: list[RunningShard] = []
        """Shards that have a cycle running although this daemon leads no more."""
        self._awaited: Sequence[RunningShard] = ()
        """Shards whose last cycle a reload waits for."""
        self._waiting: frozenset[ShardName] = frozenset()
        """Shards that wait for an abandoned thread to end."""
        self._ledgers = Ledgers(state, self._stop)
        self._led: bool | None = None
        """Whether this daemon led when it was last supervised."""
        self._retry_at: dict[ShardName, float] = {}
        """When a shard that could not begin is tried again."""
        self.changes = 0
        """Counts changes of what is served here."""

    @property
    def adapters(self) -> Sequence[str]:
        """The connections' names, sorted."""
        return sorted({name.adapter for name in self.running})

    @property
    def leads(self) -> bool:
        """Whether this daemon serves its configuration, and does not stand by."""
        return self._leadership is None or self._leadership.leads

    def served(self, settings: Settings) -> Sequence[Autoscaler]:
        """Return the autoscalers of the configuration that this daemon serves."""
        return settings.autoscalers if self.leads else ()

    def status_line(self, settings: Settings) -> str:
        """Return how much of the configuration is served, for `systemctl status`."""
        number = counted(len(settings.autoscalers), "autoscaler")
        if self._leadership is None:
            return f"{number} on {counted(len(self.adapters), 'connection')}"
        if self._leadership.leads:
            return f"leads: {number} on {counted(len(self.adapters), 'connection')}"
        if (failure := self._leadership.failure) is not None:
            return f"the lease is lost, so this daemon scales nothing: {failure}"
        return f"stands by, with {number}; the leader: {self._leadership.leader or 'none'}"

    def follow(self, settings: Settings, also: Callable[[], None] = lambda: None) -> AutoscalerError | None:
        """Take up a configuration. Unchanged shards continue in the same epoch.

        `also` is called when every adapter is built and nothing has changed yet; its exceptions are raised. Returns why
        a shard could not begin; `supervise` tries again. Raises AdapterError, then nothing has changed; Stopping; and,
        at the first call, StateError if the database lets it neither take nor watch the lease.
        """
        wanted = wanted_shards(settings, settings.identify())
        if self._leadership is not None and not self._leadership.started:
            self._configure(settings)
            self._stop.run_interruptibly(partial(self._leadership.start, alone=self._alone))
        slow = [rule for scaler in settings.autoscalers for rule in scaler.rules if rule.by_calendar]
        if slow:
            self._stop.run_interruptibly(partial(_prepare, slow, self._clock.now()))
        kept = {
            name for name, one in self.running.items() if name in wanted and wanted[name].adapter == one.wanted.adapter
        }
        new = {name: wanted[name] for name in self._usable(wanted) if name not in kept}
        built = self._builder.build_all(new, self.running)
        try:
            also()
            self._end([self.running.pop(name) for name in self.running.keys() - kept])
        except AutoscalerError:
            self._builder.close(adapter for each in built.values() for adapter in each.adapters)
            raise
        self._retry_at.clear()
        self._wanted = wanted
        self._configure(settings)
        for name, one in self.running.items():
            if one.follow(wanted[name]):
                self.shards.reschedule(one.shard)
        return self._begin_all(new.keys(), {}, built)

    def _configure(self, settings: Settings) -> None:
        self.changes += 1
        if self._leadership is not None:
            self._leadership.follow(settings.digest)

    def supervise(self) -> AutoscalerError | None:
        """Begin shards if this daemon leads, end them if it does not, and supersede those that hang too long.

        Called about every second, and when this daemon has begun or ceased to lead. Returns why a shard could not
        begin; the next call tries again.
        """
        self._release_ended()
        usable = self._usable(self._wanted)
        if self._led is not (leads := self.leads):  # also if no shard can begin
            self._led = leads
            self.changes += 1
            self._retry_at.clear()
        self._leave([one for name, one in self.running.items() if name not in usable or self._is_stale(one)])
        stuck = {name: one for name, one in self.running.items() if self._why_superseded(one)}
        return self._begin_all([*(usable - self.running.keys()), *stuck], stuck, {})

    def begun(self) -> bool:
        """Return whether every shard's first cycle has ended or reached its deadline; of a standby, True.

        A leader that serves nothing of its configuration has not begun.
        """
        return self.shards.begun() and not (self.leads and self._wanted and not self.running)

    def resign(self) -> None:
        """End all shards and free the lease, so that a standby can take it at once.

        Raises StateError, also if a call hangs: the lease then ends by itself, because the call may still write.
        """
        if self._leadership is None:
            raise StateError("an SQLite state has one daemon; stop it instead")
        if not self._leadership.leads:
            raise StateError(f"this daemon stands by; the leader is {self._leadership.leader or 'none now'}")
        gone = [*self.running.values()]
        self._leave(gone)
        wait_for([one.shard for one in gone])
        self._release_ended()
        self._leadership.resign(hanging=bool(self._ending or self._abandoned))

    def close(self) -> bool:
        """End all shards. Waits for running cycles until their deadlines. Returns False if a thread hangs."""
        gone = [*self._awaited, *self.running.values()]
        self._retire([*self.running.values()])
        self.running.clear()
        wait_for([one.shard for one in (*gone, *self._ending)])
        self._release([*gone, *self._ending])
        self._ending.clear()
        self.shards.stop()
        self._release_ended()
        return not self._abandoned

    def asked_alone(self) -> Sequence[AskedAlone]:
        """Return the queries of all shards that are sent alone. From any thread."""
        return [each for one in [*self.running.values()] for each in one.queries.asked_alone()]

    def _usable(self, wanted: Mapping[ShardName, Wanted]) -> Set[ShardName]:
        """Return those of these shards that are served here now: all or none."""
        return wanted.keys() if self.leads else set()

    def _is_stale(self, one: RunningShard) -> bool:
        """Return whether this daemon has lost its lease since the shard began, even if it leads again."""
        return self._leadership is not None and one.generation != self._leadership.generation

    def _leave(self, gone: Sequence[RunningShard]) -> None:
        """Begin no further cycle of these."""
        for one in gone:
            del self.running[one.name]
        self._retire(gone)
        self._ending += gone
        self.changes += len(gone)

    def _may_begin(self, names: Collection[ShardName]) -> Sequence[ShardName]:
        """Return those of these shards that may begin now, first those that have not failed to, then by their turn.

        Logs once for which abandoned threads the others wait.
        """
        waiting = frozenset(name for name in names if self._is_crowded(name))
        for name in sorted(waiting - self._waiting):
            error = f"{_MAX_ABANDONED} abandoned threads hang in it; the shard begins when one of them ends"
            self._logger.error("shard_waits", **name.labels(), error=error)
        self._waiting = waiting
        now = self._clock.monotonic()
        due = [name for name in names if name not in waiting and now >= self._retry_at.get(name, now)]
        return sorted(due, key=lambda name: (self._retry_at.get(name, 0.0), name))

    def _begin_all(
        self,
        names: Collection[ShardName],
        stuck: Mapping[ShardName, RunningShard],
        built: Mapping[ShardName, BuiltAdapter],
    ) -> AutoscalerError | None:
        """Begin those of these shards that may, in place of stuck ones. Returns the first failure.

        `built`: adapters that are built already. Those whose shards do not begin are closed.
        """
        failures, unused = list[AutoscalerError](), dict(built)
        allowed = self._state_seconds
        if self._leadership is not None:  # a shard that begins after the lease could not do anything
            allowed = min(allowed, self._leadership.seconds_left())
        until = self._clock.monotonic() + allowed
        for name in self._may_begin(names):
            failure = self._begin(name, unused.pop(name, None), stuck.get(name), until)
            if failure is not None:
                self._logger.error("shard_not_begun", **name.labels(), error=str(failure))
                failures.append(failure)
            if self._clock.monotonic() >= until:  # the time limit is for all shards together
                break
        self._builder.close(adapter for each in unused.values() for adapter in each.adapters)
        return failures[0] if failures else None

    def _is_crowded(self, name: ShardName) -> bool:
        """Return whether too many abandoned threads of this shard hang."""
        return sum(one.name == name for one in self._abandoned) >= _MAX_ABANDONED

    def _begin(
        self, name: ShardName, built: BuiltAdapter | None, stuck: RunningShard | None, until: float
    ) -> AutoscalerError | None:
        """Begin a shard with an adapter and an epoch of its own. Returns a failure, after which it is tried again.

        A `stuck` shard continues until this one begins, and can write and record nothing more then. `until`: how long
        to wait for the state, on the monotonic clock.
        """
        try:
            built = built or self._builder.build(name, self._wanted[name].adapter)
            self._begin_with(name, built, stuck, until)
        except Stopping:
            raise
        except Exception as error:  # noqa: BLE001 - a bug, too, costs this shard alone
            self._builder.close(() if built is None else built.adapters)
            self._put_off(name, error)
            return error if isinstance(error, AutoscalerError) else AutoscalerError(bug(error))
        self._retry_at.pop(name, None)
        return None

    def _put_off(self, name: ShardName, error: Exception) -> None:
        """Try to begin this shard again after a while."""
        seconds = self._retry_seconds
        if self._leadership is not None and isinstance(error, StateError):
            seconds = min(seconds, self._leadership.period)
        self._retry_at[name] = self._clock.monotonic() + seconds

    def _begin_with(self, name: ShardName, built: BuiltAdapter, stuck: RunningShard | None, until: float) -> None:
        ledger = self._ledgers.begin(name, max(0.0, until - self._clock.monotonic()))
        if stuck is not None:
            self._count_superseded(stuck)
            self._end([stuck], wait=False)
        try:
            self._start(name, built, ledger)
        except BaseException:
            self.running.pop(name, None)
            ledger.end()
            raise

    def _why_superseded(self, one: RunningShard) -> str:
        """Return why a new shard is to take over from this one; empty: it goes on."""
        if one.stuck():
            return f"its cycle hung {one.overdue_seconds():.0f} s past its deadline"
        if self.shards.has_ended(one.name):
            return "its thread has ended"
        return "" if one.is_current() else "a later epoch of it has begun, so it could record nothing"

    def _count_superseded(self, one: RunningShard) -> None:
        self.shards.count_superseded(one.name)
        error = f"{self._why_superseded(one)}; a new shard has taken over, and the old one can write nothing more"
        self._logger.error("shard_superseded", **one.name.labels(), error=error)

    def _start(self, name: ShardName, built: BuiltAdapter, ledger: Ledger) -> None:
        """Start a shard in the epoch of `ledger`."""
        shard = Shard(name, self._clock, self._logger, self._report)
        self.running[name] = RunningShard(
            self._wanted[name],
            built,
            ledger,
            shard,
            self._clock,
            self._logger,
            self._metrics,
            self._gates,
            self._leadership,
        )
        self.shards.add(shard)
        self.changes += 1

    def _retire(self, gone: Sequence[RunningShard]) -> None:
        """Begin no further cycle of these."""
        self.shards.retire([one.shard for one in gone], wait=False)

    def _end(self, gone: Sequence[RunningShard], *, wait: bool = True) -> None:
        """End these; with `wait` after their running cycles or these cycles' deadlines. Raises Stopping."""
        self._retire(gone)
        if wait:
            self._awaited = gone
            wait_for([one.shard for one in gone], self._stop)
            self._awaited = ()
        self._release(gone)

    def _release(self, gone: Collection[RunningShard]) -> None:
        """Release what these used. Those that hang are abandoned, and released when they end."""
        for one in gone:
            one.stop_drains()
        self._builder.close(adapter for one in gone for adapter in one.adapters)
        for one in gone:
            if one.ended():
                one.end()
            else:
                self._abandoned.append(one)

    def _release_ended(self) -> None:
        """Release abandoned shards that have ended, and those of a former leadership that have ended or hang.

        The claims of an abandoned shard are released `_longest_hang` after its deadline.
        """
        for one in [*self._abandoned]:
            if one.ended():
                one.end()
                self._abandoned.remove(one)
            elif one.overdue_seconds() >= self._longest_hang:
                one.release_claims()
        over = [one for one in self._ending if one.ended() or one.stuck()]
        for one in over:
            self._ending.remove(one)
            if not one.ended():
                error = "its cycle hangs, although this daemon leads no more"
                self._logger.error("shard_left_behind", **one.name.labels(), error=error)
        self._release(over)


def _prepare(rules: Sequence[ConfiguredRule], at: datetime) -> None:
    for rule in rules:
        rule.prepare(at)
