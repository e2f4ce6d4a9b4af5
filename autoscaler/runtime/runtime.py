"""Everything that a configuration asks for, built; and made to follow the next configuration.

A connection has one shard, or as many as its `shards` says; each shard has an adapter of its own, and what its
autoscalers remember in an epoch of its own. What a shard's cycles work with is one `Work`, which is replaced between
cycles and never changed.

Where several daemons share the state, each builds the shards that it holds, and no others. A shard that is to go has no
further cycle, and is given back when nothing uses it any more.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from functools import partial
from pathlib import Path
from typing import Final

from autoscaler.clock import Clock
from autoscaler.config.settings import Settings
from autoscaler.cycle import Batch
from autoscaler.errors import AdapterError, AutoscalerError, StateError
from autoscaler.logger import Logger
from autoscaler.metrics import Metrics
from autoscaler.model import Autoscaler, ShardName, shard_of
from autoscaler.observe import AskedAlone, Gates
from autoscaler.record import Ledger, State
from autoscaler.runtime.building import Builder, Built
from autoscaler.runtime.connected import Connected
from autoscaler.runtime.membership import Membership
from autoscaler.runtime.wanted import Wanted, by_shard, wanted_shards
from autoscaler.schedule import Shard, Shards, wait_for
from autoscaler.threads import Stop

_MOST_ABANDONED: Final = 3
"""Threads left behind in what hangs, of those that served one target, before its shard waits for one of them to end."""
_RETRY_SECONDS: Final = 15.0
"""How long after a failure it is tried again to begin a shard."""

_STATE_SECONDS: Final = 15.0
"""How long the main thread waits for the state. On SQLite another write may be under way for ten."""


class Runtime:
    """What runs. Used from the main thread alone, apart from the shards."""

    def __init__(
        self,
        state: State,
        state_dir: Path,
        clock: Clock,
        logger: Logger,
        report: Callable[[Batch], None],
        metrics: Metrics,
        stop: Stop | None = None,
        membership: Membership | None = None,
        host: str | None = None,
    ) -> None:
        """`report` is called with every cycle that ended, on its shard's thread.

        `stop`: asked for, whatever else is under way here is given up and raises Stopping; `close` comes next.
        `membership`: among the daemons that share the state; None: there is no other. `host`: this machine's name, by
        which it serves connections that are bound to one; None: it serves them all.
        """
        self.shards = Shards(clock, logger)
        self._state = state
        self._clock = clock
        self._logger = logger
        self._report = report
        self._metrics = metrics
        self._stop = stop or Stop()
        self._membership = membership
        self._host = host
        self._gates = Gates()
        self._builder = Builder(state_dir, clock, logger, self._stop)
        self._wanted: Mapping[ShardName, Wanted] = {}
        """What the configuration asks for, be it served here or not."""
        self._connected: dict[ShardName, Connected] = {}
        self._abandoned: list[Connected] = []
        """Those whose thread hung when they were superseded, replaced or not served here any more."""
        self._ending: list[Connected] = []
        """Those that are not served here any more, and have a cycle under way."""
        self._leaving: Sequence[Connected] = ()
        """Those that have no further cycle, and whose running one is waited for."""
        self._crowded: frozenset[ShardName] = frozenset()
        """Shards that wait for one of the abandoned threads to end."""
        self._retry_at: dict[ShardName, float] = {}
        """When it is tried again to begin a shard."""
        self.changes = 0
        """Counts how often what is served here may have changed."""

    @property
    def adapters(self) -> Sequence[str]:
        """The connections' names, sorted."""
        return sorted({name.adapter for name in self._connected})

    def served(self, settings: Settings) -> Sequence[Autoscaler]:
        """Those of the configuration that runs which are this daemon's."""
        if self._membership is None:
            return settings.autoscalers
        usable, sections = self._membership.usable(), settings.adapters
        return [
            each
            for each in settings.autoscalers
            if shard_of(each.target, sections[each.target.adapter].shards) in usable
        ]

    def follow(self, settings: Settings, also: Callable[[], None] = lambda: None) -> AutoscalerError | None:
        """Make what runs follow `settings`; what did not change goes on, in the same epoch.

        `also` is called when every adapter is built and nothing has changed yet: what it raises is raised.
        A shard without autoscalers is not built, nor one that another daemon holds. Returns why a shard could not
        begin: `supervise` tries again. Raises AdapterError, then nothing has changed; or Stopping; or, at the first
        call, StateError where this daemon cannot join those that share the state.
        """
        wanted = wanted_shards(settings, self._host)
        if self._membership is not None and not self._membership.joined:
            self._configure(wanted, settings)
            self._stop.run_interruptibly(self._membership.join)
        kept = {name for name, have in self._connected.items() if name in wanted and _same(wanted[name], have)}
        built = self._builder.build_all({name: wanted[name] for name in self._usable(wanted) if name not in kept})
        try:
            also()
            self._end([self._connected.pop(name) for name in self._connected.keys() - kept])
        except AutoscalerError:
            self._builder.let_go(each.adapter for each in built.values())
            raise
        self._retry_at.clear()
        self._wanted = wanted
        self._configure(wanted, settings)
        for name, have in self._connected.items():
            if have.follow(wanted[name]):
                self.shards.reschedule(have.shard)
        return self._begin_all(built.keys(), {}, built)

    def _configure(self, wanted: Mapping[ShardName, Wanted], settings: Settings) -> None:
        """Say to the other daemons what is wanted here."""
        self.changes += 1
        if self._membership is not None:
            of_this_host = {name.adapter for name, want in wanted.items() if want.adapter.section.host is not None}
            self._membership.configure(wanted.keys(), by_shard(settings), settings.digest, of_this_host)

    def supervise(self) -> AutoscalerError | None:
        """To be called every second or so, and when other shards are held: follows those.

        Gives a shard that hangs too long a successor. Returns why a shard could not begin: the next call tries again.
        """
        self._forget_ended()
        usable = self._usable(self._wanted)
        self._leave([have for name, have in self._connected.items() if name not in usable or self._is_of_before(have)])
        stuck = {name: have for name, have in self._connected.items() if have.stuck()}
        failure = self._begin_all([*(usable - self._connected.keys()), *stuck], stuck, {})
        self._give_back()
        return failure

    def close(self) -> bool:
        """End all; waits for running cycles, up to their deadlines. False: one hangs, and its thread is left behind."""
        gone = [*self._leaving, *self._connected.values()]
        self._retire([*self._connected.values()])
        self._connected.clear()
        wait_for([have.shard for have in (*gone, *self._ending)])
        self._part([*gone, *self._ending])
        self._ending.clear()
        self.shards.stop()
        self._forget_ended()
        return not self._abandoned

    def asked_alone(self) -> Sequence[AskedAlone]:
        """The queries of all shards that are kept out of the merge. Any thread may ask."""
        return [each for have in [*self._connected.values()] for each in have.queries.asked_alone()]

    def hanging(self) -> Collection[ShardName]:
        """The shards that a call which was left behind still uses."""
        return {have.name for have in self._abandoned}

    def _usable(self, wanted: Mapping[ShardName, Wanted]) -> Set[ShardName]:
        """Those of these shards that may be served here now."""
        return wanted.keys() if self._membership is None else wanted.keys() & self._membership.usable()

    def _is_of_before(self, have: Connected) -> bool:
        """Whether this daemon has lost its lease since the shard began: then it is stale, held again or not."""
        return self._membership is not None and have.member not in (None, self._membership.member)

    def _leave(self, gone: Sequence[Connected]) -> None:
        """Let these have no further cycle, as they are not served here any more."""
        for have in gone:
            del self._connected[have.name]
        self._retire(gone)
        self._ending += gone
        self.changes += len(gone)

    def _may_begin(self, names: Collection[ShardName]) -> Sequence[ShardName]:
        """Those that may begin now. Of others it is logged, once each, what they wait for."""
        crowded = frozenset(name for name in names if self._is_crowded(name))
        for name in sorted(crowded - self._crowded):
            error = f"{_MOST_ABANDONED} threads left behind hang in it; it goes on when one of them ends"
            self._logger.error("shard_waits", **name.labels(), error=error)
        self._crowded = crowded
        now = self._clock.monotonic()
        return [name for name in sorted(names) if name not in crowded and now >= self._retry_at.get(name, now)]

    def _begin_all(
        self, names: Collection[ShardName], stuck: Mapping[ShardName, Connected], built: Mapping[ShardName, Built]
    ) -> AutoscalerError | None:
        """Begin those of these shards that may, in place of those that are stuck. Returns the first failure.

        `built`: adapters that are there already; one whose shard does not begin is let go.
        """
        failures, unused = list[AutoscalerError](), dict(built)
        until = self._clock.monotonic() + _STATE_SECONDS
        for name in self._may_begin(names):
            failure = self._begin(name, unused.pop(name, None), stuck.get(name))
            if failure is not None:
                self._logger.error("shard_not_begun", **name.labels(), error=str(failure))
                failures.append(failure)
            if self._clock.monotonic() >= until:  # a state that is silent holds this thread up once, not once a shard
                break
        self._builder.let_go(each.adapter for each in unused.values())
        return failures[0] if failures else None

    def _is_crowded(self, name: ShardName) -> bool:
        """Whether too many threads hang that served the same targets.

        A reload may have changed how many shards there are: of another number one may have served any of these.
        """
        left = Counter(have.name for have in self._abandoned if have.name.adapter == name.adapter)
        most: dict[int, int] = {}
        for each, count in left.items():
            if each == name or each.of != name.of:
                most[each.of] = max(count, most.get(each.of, 0))
        return sum(most.values()) >= _MOST_ABANDONED

    def _begin(self, name: ShardName, built: Built | None, stuck: Connected | None) -> AutoscalerError | None:
        """Begin a shard, with an adapter and an epoch of its own. Returns why it could not: then it is tried again.

        In place of one that is stuck: that one can write and record nothing more. It stays until this one begins.
        """
        self._retry_at[name] = self._clock.monotonic() + _RETRY_SECONDS
        try:
            built = built or self._builder.build(name, self._wanted[name].adapter)
        except AdapterError as failure:
            return failure
        try:
            ledger = self._ledger(name)
        except StateError as failure:
            self._builder.let_go([built.adapter])
            if self._membership is not None:  # another daemon waits for a lease at most
                self._retry_at[name] = self._clock.monotonic() + min(_RETRY_SECONDS, self._membership.period)
            return failure
        if stuck is not None:
            self._count_superseded(stuck)
            self._end([stuck], wait=False)
        self._connect(name, built, ledger)
        del self._retry_at[name]
        return None

    def _count_superseded(self, have: Connected) -> None:
        self.shards.count_superseded(have.name)
        error = f"its cycle hung {have.overdue_seconds():.0f} s past its deadline; a new shard has taken over, the "
        error += "hanging thread is left behind and can write nothing more"
        self._logger.error("shard_superseded", **have.name.labels(), error=error)

    def _ledger(self, name: ShardName) -> Ledger:
        """In a new epoch of the shard. Raises StateError and Stopping."""
        begin = partial(self._state.ledger, name.adapter, name.number, name.of)
        return self._stop.run_interruptibly(begin, _STATE_SECONDS)

    def _connect(self, name: ShardName, built: Built, ledger: Ledger) -> None:
        """A shard in the epoch of `ledger`."""
        shard = Shard(name, self._clock, self._logger, self._report)
        self._connected[name] = Connected(
            self._wanted[name],
            built,
            ledger,
            shard,
            self._clock,
            self._logger,
            self._metrics,
            self._gates,
            self._membership,
        )
        self.shards.add(shard)
        self.changes += 1

    def _retire(self, gone: Sequence[Connected]) -> None:
        """No further cycle of these."""
        self.shards.retire([have.shard for have in gone], wait=False)

    def _end(self, gone: Sequence[Connected], *, wait: bool = True) -> None:
        """No further cycle of these; with `wait` running ones are waited for, to their deadlines. Raises Stopping."""
        self._retire(gone)
        if wait:
            self._leaving = gone
            wait_for([have.shard for have in gone], self._stop)
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
        """Let go of what threads worked with that were left behind and have ended since, and of shards that ended."""
        for have in [each for each in self._abandoned if each.ended()]:
            have.end()
            self._abandoned.remove(have)
        over = [have for have in self._ending if have.ended() or have.stuck()]
        for have in over:
            self._ending.remove(have)
            if not have.ended():
                error = "its cycle hangs; the shard is given back when it ends, or ha.leaseDuration past its deadline"
                self._logger.error("shard_left_behind", **have.name.labels(), error=error)
        self._part(over)

    def _give_back(self) -> None:
        """Say which shards nothing uses any more, of those that another daemon is to have."""
        if self._membership is None:
            return
        longest, left = self._membership.duration, (*self._ending, *self._abandoned)
        used = {have.name for have in left if have.overdue_seconds() < longest} | self._connected.keys()
        leaving = self._membership.excess()
        held = self._membership.held()
        self._membership.give_back({name for name in held if name in leaving or name not in self._wanted} - used)


def _same(wanted: Wanted, have: Connected) -> bool:
    """Whether its adapter goes on."""
    return wanted.adapter == have.wanted.adapter
