"""Everything that a configuration asks for, built; and made to follow the next configuration.

A connection has one shard, or as many as its `shards` says; each shard has an adapter of its own, and what its
autoscalers remember in an epoch of its own. What a shard's cycles work with is one `Work`, which is replaced between
cycles and never changed.

Where several daemons share the state, a shard has the autoscalers whose slots this daemon holds. A slot that comes
joins its shard between two cycles; one that is to go leaves it, and is given back when its running cycle has ended.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from autoscaler.clock import Clock
from autoscaler.config.settings import Settings
from autoscaler.errors import AdapterError, AutoscalerError, StateError
from autoscaler.logger import Logger
from autoscaler.metrics import Metrics
from autoscaler.model import Autoscaler, ShardName
from autoscaler.observe import AskedAlone, Gates
from autoscaler.record import Ledger, State, slot_of, slots_of
from autoscaler.runtime.building import Builder, Built
from autoscaler.runtime.connected import Connected
from autoscaler.runtime.membership import Membership
from autoscaler.runtime.wanted import Wanted, needed_slots, wanted_shards
from autoscaler.schedule import Batch, Shard, Shards, Stop, Stopping, wait_for

_MOST_ABANDONED: Final = 3
"""Threads left behind in what hangs, of those that served one slot, before its shard waits for one of them to end."""
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
        machine: Clock | None = None,
    ) -> None:
        """`report` is called with every cycle that ended, on its shard's thread.

        `stop`: asked for, whatever else is under way here is given up and raises Stopping; `close` comes next.
        `membership`: among the daemons that share the state; None: there is no other. `host`: this machine's name, by
        which it serves connections that are bound to one; None: it serves them all. `machine`: its own clock, by which
        the schedule wakes, where `clock` is the database's.
        """
        self.shards = Shards(machine or clock, logger)
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
        self._needs: Mapping[str, Collection[int]] = {}
        """The slots of all that."""
        self._connected: dict[ShardName, Connected] = {}
        self._abandoned: list[Connected] = []
        """Those whose thread hung when they were superseded, replaced or had no slots any more."""
        self._ending: list[Connected] = []
        """Those that have no slots any more, and a cycle under way."""
        self._leaving: Sequence[Connected] = ()
        """Those that have no further cycle, and whose running one is waited for."""
        self._waiting: dict[ShardName, Built] = {}
        """Adapters of shards that have not begun: one of its abandoned threads has to end, the state has to take it, or
        another daemon has all of its slots."""
        self._given: dict[ShardName, tuple[Wanted, Mapping[int, int] | None]] = {}
        """What a shard that runs was given last: all that is wanted of it, and epochs of the slots that it serves."""
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
        usable = {name: self._membership.usable(name) for name in self._needs}
        return [each for each in settings.autoscalers if slot_of(each.target) in usable.get(each.target.adapter, ())]

    def follow(self, settings: Settings) -> AutoscalerError | None:
        """Make what runs follow `settings`; what did not change goes on, in the same epoch.

        An adapter without autoscalers is not built. Returns why a shard could not begin: `supervise` tries again.
        Raises AdapterError, then nothing has changed; or Stopping; or, at the first call, StateError where this daemon
        cannot join those that share the state.
        """
        wanted = wanted_shards(settings, self._host)
        kept = {name for name, have in self._connected.items() if name in wanted and _same(wanted[name], have)}
        built = self._builder.build_all({name: want for name, want in wanted.items() if name not in kept})
        try:
            self._end([self._connected.pop(name) for name in self._connected.keys() - kept])
        except Stopping:
            self._builder.let_go(each.adapter for each in built.values())
            raise
        self._builder.let_go(each.adapter for each in self._waiting.values())
        self._retry_at.clear()
        self._waiting = dict(built)
        self._given = {name: given for name, given in self._given.items() if name in kept}
        self._wanted, self._needs = wanted, needed_slots(wanted)
        self._configure(settings)
        self._assign()
        return self._begin_all(built, {})

    def _configure(self, settings: Settings) -> None:
        """Say to the other daemons what is wanted here; at the first time also take slots. Raises StateError."""
        self.changes += 1
        if self._membership is None:
            return
        of_this_host = {name.adapter for name, want in self._wanted.items() if want.adapter.section.host is not None}
        self._membership.configure(self._needs, settings.autoscalers, settings.digest, of_this_host)
        if not self._membership.joined:
            self._stop.unless(self._membership.join)

    def supervise(self) -> None:
        """To be called every second or so, and when other slots are held: follows those.

        Gives a shard that hangs too long a successor.
        """
        self._forget_ended()
        self._assign()
        stuck = {name: have for name, have in self._connected.items() if have.stuck()}
        self._begin_all([*(self._wanted.keys() - self._connected.keys()), *stuck], stuck)
        self._give_back()

    def close(self) -> bool:
        """End all; waits for running cycles, up to their deadlines. False: one hangs, and its thread is left behind."""
        gone = [*self._leaving, *self._connected.values()]
        self._retire([*self._connected.values()])
        self._connected.clear()
        wait_for([have.shard for have in (*gone, *self._ending)])
        self._part([*gone, *self._ending])
        self._ending.clear()
        self._builder.let_go(each.adapter for each in self._waiting.values())
        self.shards.stop()
        self._forget_ended()
        return not self._abandoned

    def asked_alone(self) -> Sequence[AskedAlone]:
        """The queries of all shards that are kept out of the merge. Any thread may ask."""
        return [each for have in [*self._connected.values()] for each in have.queries.asked_alone()]

    def hanging(self) -> Mapping[str, Collection[int]]:
        """Adapter connection -> slots that a call which was left behind still uses."""
        return _together(self._abandoned)

    def _epochs(self, name: ShardName) -> Mapping[int, int] | None:
        """Slots of a shard that it may serve here and has autoscalers in, with their epochs; None: all it has."""
        if self._membership is None:
            return None
        mine, needed = slots_of(name.number - 1, name.of), self._needs.get(name.adapter, ())
        usable = self._membership.usable(name.adapter)
        return {slot: epoch for slot, epoch in usable.items() if slot in mine and slot in needed}

    def _assign(self) -> None:
        """Give every shard that runs the autoscalers of the slots that it may serve; one without any ends."""
        for name, have in [*self._connected.items()]:
            wanted, epochs = self._wanted[name], self._epochs(name)
            before, had = self._given.get(name, (None, None))
            if before is wanted and had == epochs:
                continue
            self._given[name] = wanted, epochs
            self.changes += 1
            served = wanted if epochs is None else wanted.within(epochs)
            if not served.scalers:
                del self._connected[name]
                self._retire([have])
                self._ending.append(have)
            elif have.follow(served, epochs):
                self.shards.reschedule(have.shard)

    def _may_begin(self, names: Collection[ShardName]) -> Sequence[ShardName]:
        """Those that may begin now. Of others it is logged, once each, what they wait for."""
        served = [name for name in names if self._epochs(name) != {}]
        crowded = frozenset(name for name in served if self._is_crowded(name))
        for name in sorted(crowded - self._crowded):
            error = f"{_MOST_ABANDONED} threads left behind hang in it; it goes on when one of them ends"
            self._logger.error("shard_waits", **name.labels(), error=error)
        self._crowded = crowded
        now = self._clock.monotonic()
        return [name for name in served if name not in crowded and now >= self._retry_at.get(name, now)]

    def _begin_all(self, names: Collection[ShardName], stuck: Mapping[ShardName, Connected]) -> AutoscalerError | None:
        """Begin those of these shards that may, in place of those that are stuck. Returns the first failure."""
        failures = list[AutoscalerError]()
        for name in self._may_begin(names):
            failure = self._supersede(stuck[name]) if name in stuck else self._begin(name)
            if failure is not None:
                self._logger.error("shard_not_begun", **name.labels(), error=str(failure))
                failures.append(failure)
        return failures[0] if failures else None

    def _is_crowded(self, name: ShardName) -> bool:
        """By slots, for a reload may have changed how many shards there are, and which one serves what hangs."""
        left = Counter(slot for have in self._abandoned if have.name.adapter == name.adapter for slot in have.slots)
        return any(left[slot] >= _MOST_ABANDONED for slot in slots_of(name.number - 1, name.of))

    def _begin(self, name: ShardName) -> AutoscalerError | None:
        """Begin a shard that waited. Returns why it could not: then it is tried again."""
        wanted = self._wanted[name]
        try:
            built = self._waiting.pop(name, None) or self._builder.build(name, wanted.adapter)
        except AdapterError as failure:
            self._retry_at[name] = self._clock.monotonic() + _RETRY_SECONDS
            return failure
        try:
            ledger = self._ledger(name)
        except StateError as failure:
            self._waiting[name] = built
            self._retry_at[name] = self._clock.monotonic() + self._retry_seconds()
            return failure
        self._connect(name, built, ledger)
        return None

    def _retry_seconds(self) -> float:
        """How long after the state refused a shard it is tried again: another daemon waits for a lease at most."""
        return _RETRY_SECONDS if self._membership is None else min(_RETRY_SECONDS, self._membership.period)

    def _supersede(self, have: Connected) -> AutoscalerError | None:
        """A new adapter, shard and epoch in place of one that hangs. What hangs can write and record nothing more.

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
        self._connect(name, built, ledger)
        del self._retry_at[name]
        self.shards.count_superseded(name)
        self._logger.error(
            "shard_superseded",
            **name.labels(),
            error=f"its cycle hung {overdue:.0f} s past its deadline; a new shard has taken over, the hanging thread "
            "is left behind and can write nothing more",
        )
        return None

    def _ledger(self, name: ShardName) -> Ledger:
        """In a new epoch of the shard's slots. Raises StateError and Stopping."""
        epochs = self._epochs(name)
        slots = slots_of(name.number - 1, name.of) if epochs is None else epochs.keys()
        return self._stop.unless(partial(self._state.ledger, name.adapter, slots), _STATE_SECONDS)

    def _connect(self, name: ShardName, built: Built, ledger: Ledger) -> None:
        """A shard in the epoch of `ledger`."""
        shard = Shard(name, self._clock, self._logger, self._report)
        wanted, epochs = self._wanted[name], self._epochs(name)
        self._given[name] = wanted, epochs
        self._connected[name] = Connected(
            wanted if epochs is None else wanted.within(epochs),
            built,
            ledger,
            shard,
            self._clock,
            self._logger,
            self._metrics,
            self._gates,
            self._membership,
            epochs,
        )
        self.shards.add(shard)
        self.changes += 1

    def _retire(self, gone: Sequence[Connected]) -> None:
        """No further cycle of these."""
        self.shards.retire([have.shard for have in gone], wait=False)
        for have in gone:
            have.retire()

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
                error = "its cycle hangs; its slots are given back when it ends, or when this daemon's lease does"
                self._logger.error("shard_left_behind", **have.name.labels(), error=error)
        self._part(over)

    def _give_back(self) -> None:
        """Say which slots nothing uses any more, of those that another daemon is to have."""
        if self._membership is None:
            return
        used = _together([*self._connected.values(), *self._leaving, *self._ending, *self._abandoned])
        excess, done = self._membership.excess(), dict[str, Collection[int]]()
        for name, held in self._membership.held().items():
            leaving, needed = {*excess.get(name, ())}, self._needs.get(name, ())
            spare = {slot for slot in held if slot in leaving or slot not in needed}
            done[name] = spare.difference(used.get(name, ()))
        self._membership.give_back(done)


def _same(wanted: Wanted, have: Connected) -> bool:
    """Whether its adapter goes on."""
    return wanted.adapter == have.wanted.adapter


def _together(shards: Collection[Connected]) -> Mapping[str, Collection[int]]:
    """Adapter connection -> slots that these use."""
    used: dict[str, set[int]] = {}
    for have in shards:
        used.setdefault(have.name.adapter, set()).update(have.used_slots())
    return used
