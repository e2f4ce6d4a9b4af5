"""The first stage of the cycle: reads targets and queries of a batch, and returns one observation per autoscaler."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cache
from types import MappingProxyType
from typing import Final, TypeVar

from autoscaler.clock import Clock
from autoscaler.config.settings import PrometheusSource
from autoscaler.errors import LateError, TargetUnavailable, bug
from autoscaler.logger import Logger
from autoscaler.model import (
    Autoscaler,
    Call,
    CivilTime,
    Observation,
    Observed,
    Sightings,
    TargetRef,
    TargetState,
)
from autoscaler.observe import targets
from autoscaler.observe.answers import Answers
from autoscaler.observe.gate import Gates
from autoscaler.observe.gathering import Gathering
from autoscaler.observe.observation import observation
from autoscaler.observe.plan import Question, questions_of
from autoscaler.observe.planner.query import PlannedQuery, alone
from autoscaler.observe.prometheus import Connect, Prometheus
from autoscaler.observe.queries import Queries
from autoscaler.observe.run_queries import Queried, run_queries
from autoscaler.observe.targets import Connection, States

_SHARE: Final = 2 / 3
"""Share of the cycle's time for observing, so that a hanging Prometheus leaves other autoscalers time to scale."""
_LATE_SECONDS: Final = 5.0
"""Longest delay after a cycle's deadline with which an observation is still used."""
T = TypeVar("T")
_NOTHING_KNOWN: Final[Mapping[TargetRef, Sightings]] = MappingProxyType({})


def query_seconds(cycle_seconds: float) -> float:
    """Return the longest time that a query may take in a cycle with this time limit, both in seconds."""
    return _SHARE * cycle_seconds


class Observer:
    """Observes the autoscalers of one shard, one batch at a time.

    It is immutable; different sources need a new observer.
    """

    def __init__(
        self,
        sources: Mapping[str, PrometheusSource],
        connections: Mapping[str, Connection],
        clock: Clock,
        logger: Logger,
        queried: Queried = lambda *_: None,
        queries: Queries | None = None,
        gates: Gates | None = None,
        connect: Connect = Prometheus,
    ) -> None:
        """`connections`: the adapters by name. `queried`: called for each query. `queries`: what the shard knows of
        its queries. `gates`: shared by the daemon. These two and the connections outlive the observer, with their
        running calls.

        `connect`: makes the client of each source.
        """
        gates = gates or Gates()
        self._settings = sources
        self._sources = {name: connect(name, source, clock, gates.of(name, source)) for name, source in sources.items()}
        self._queries = queries or Queries()
        self._connections = connections
        self._clock = clock
        self._logger = logger
        self._queried = queried

    def observe(
        self,
        scalers: Sequence[Autoscaler],
        call: Call,
        known: Mapping[TargetRef, Sightings] = _NOTHING_KNOWN,
        civil_ahead: timedelta = timedelta(0),
    ) -> Observed:
        """Return the observation of every autoscaler, well before the deadline. Failures are values.

        `known`: the remembered sightings by target. `civil_ahead`: of civil time, as in `CivilTime`. Raises
        LateError if the process was suspended in between.
        """
        began, due = self._clock.monotonic(), call.deadline
        call = replace(call, deadline=began + query_seconds(call.deadline - began))
        reading = targets.begin(self._connections, [scaler.target for scaler in scalers], call)
        states = cache(lambda: self._completed(reading.states(), known, call.now))
        observations: dict[str, Observation] = {}

        def complete(scaler: Autoscaler, answers: Answers) -> None:
            observations[scaler.name] = observation(
                scaler,
                states()[0][scaler.target],
                answers,
                call.now,
                self._civil(scaler, civil_ahead),
                lambda why: self._logger.warning("victims_not_ranked", autoscaler=scaler.name, error=why),
            )

        gathering = Gathering(scalers, complete, reading.done)
        plan = self._plan(gathering.questions)
        ordered = self._queries.in_order(gathering.in_order(plan))
        asked = run_queries(ordered, self._sources, call, self._clock, self._queried, gathering.settle, self._queries)
        gathering.complete()
        self._or_else(
            lambda: None,
            "queries_not_learned_from",
            lambda: self._queries.learn(asked, gathering.questions, gathering.samples.keys(), self._clock.monotonic()),
        )
        ended = self._clock.monotonic()
        if ended - due > _LATE_SECONDS:
            raise LateError(f"observed {ended - due:.0f} s after the deadline; nothing was decided from it")
        return Observed({scaler.name: observations[scaler.name] for scaler in scalers}, states()[1], ended - began)

    def close(self) -> None:
        """Close the connections to every Prometheus. No batch may be running."""
        for source in self._sources.values():
            source.close()

    def _plan(self, wanted: Sequence[Question]) -> Sequence[PlannedQuery]:
        """Merge queries. A query that cannot be merged is asked as written."""
        longest = {
            name: source.longest_text for name, source in self._sources.items() if source.longest_text is not None
        }
        return self._or_else(
            lambda: [alone(question) for question in wanted],
            "queries_not_merged",
            lambda: self._queries.plan(wanted, self._settings, longest),
        )

    def _or_else(self, otherwise: Callable[[], T], event: str, work: Callable[[], T]) -> T:
        """Return what `work` returns, or `otherwise` after an error. Optimizing queries must never lose an answer."""
        try:
            return work()
        except Exception as error:  # noqa: BLE001 - a bug in optimizing is only logged
            reason = bug(error)
        self._logger.error(event, error=reason)
        return otherwise()

    def _completed(
        self, states: States, known: Mapping[TargetRef, Sightings], now: datetime
    ) -> tuple[States, Mapping[TargetRef, Sightings]]:
        """Return the states with readiness and times filled in, and the sightings that changed.

        Sightings of an unreadable target stay.
        """
        complete, changed = dict(states), dict[TargetRef, Sightings]()
        for target, state in states.items():
            if not isinstance(state, TargetState):
                continue
            before = known.get(target)
            try:
                normalise = self._connections[target.adapter].normalise
                complete[target], seen = normalise(target, state, before, now)
            except Exception as error:  # noqa: BLE001 - an adapter's bad answer must only affect its own target
                complete[target] = TargetUnavailable(f"{target}: its instances could not be read: {bug(error)}")
                continue
            if seen is not before and seen != before:
                changed[target] = seen
        return complete, changed

    def _civil(self, scaler: Autoscaler, ahead: timedelta) -> CivilTime:
        if not any(rule.by_calendar for rule in scaler.rules):
            return CivilTime()
        civil = self._clock.now() + ahead
        sources = [self._sources[name] for name in {each.prometheus for each in questions_of(scaler)}]
        return CivilTime(ahead, doubted=any(source.differs(civil) for source in sources))
