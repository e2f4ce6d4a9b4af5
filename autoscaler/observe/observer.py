"""The first stage of the cycle: one batch of targets and queries, one observation for each autoscaler."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from autoscaler.clock import Clock
from autoscaler.config.settings import PrometheusSource
from autoscaler.errors import MetricError, TargetError
from autoscaler.logger import Logger
from autoscaler.model import Autoscaler, Call, Instance, Observation, TargetState
from autoscaler.observe import targets
from autoscaler.observe.ask import Answers, Meter, NoMeter, ask
from autoscaler.observe.plan import questions
from autoscaler.observe.prometheus import Prometheus
from autoscaler.observe.readiness import MemorySightings, Sightings, normalise
from autoscaler.observe.readings import read
from autoscaler.observe.targets import Connection, States
from autoscaler.observe.victims import rank
from autoscaler.target import Adapter

_SHARE: Final = 2 / 3
"""Of the time that a cycle has, what observing may take: one Prometheus that hangs must leave others time to scale."""


class Observer:
    """`cycle.Ports.observe` of one lane: one batch at a time."""

    def __init__(
        self,
        sources: Mapping[str, PrometheusSource],
        adapters: Mapping[str, Adapter],
        clock: Clock,
        logger: Logger,
        *,
        sightings: Sightings | None = None,
        meter: Meter | None = None,
    ) -> None:
        self._sources: Mapping[str, Prometheus] = {}
        self._retired: list[Prometheus] = []
        """Of before the last `follow`; the batch that ran meanwhile may still ask them."""
        self._connections = {name: Connection(name, each, clock, logger) for name, each in adapters.items()}
        self._clock = clock
        self._logger = logger
        self._sightings = sightings or MemorySightings()
        self._meter = meter or NoMeter()
        self.follow(sources)

    def follow(self, sources: Mapping[str, PrometheusSource]) -> None:
        """Ask these from the next batch on. The adapters' connections stay, and with them what is under way."""
        self._retired += self._sources.values()
        self._sources = {name: Prometheus(name, source, self._clock) for name, source in sources.items()}

    def observe(self, scalers: Sequence[Autoscaler], call: Call) -> Mapping[str, Observation]:
        """Every autoscaler's name -> what was seen, well before the deadline. Failures are values.

        Raises StateError when the sightings' memory does.
        """
        self._let_go()
        began = self._clock.monotonic()
        call = replace(call, deadline=began + _SHARE * (call.deadline - began))
        reading = targets.begin(self._connections, [scaler.target for scaler in scalers], call)
        answers = ask(questions(scalers), self._sources, call, self._clock, self._meter)
        states = self._complete(reading(), call)
        return {scaler.name: self._observation(scaler, states[scaler.target], answers, call) for scaler in scalers}

    def close(self) -> None:
        """Let go of the connections to every Prometheus."""
        self._retired += self._sources.values()
        self._let_go()

    def _let_go(self) -> None:
        while self._retired:
            self._retired.pop().close()

    def _complete(self, states: States, call: Call) -> States:
        """The states with readiness and times filled in. Of a target that could not be read, what is known stays."""
        known = self._sightings.load(tuple(states))
        complete, changed = dict(states), {}
        for target, state in states.items():
            if isinstance(state, TargetState):
                seen = normalise(known.get(target, {}), state.instances, call.now)
                if seen.instances != state.instances:
                    complete[target] = replace(state, instances=seen.instances)
                if seen.known != known.get(target):
                    changed[target] = seen.known
        if changed:
            self._sightings.save(changed)
        return complete

    def _observation(
        self, scaler: Autoscaler, state: TargetState | TargetError, answers: Answers, call: Call
    ) -> Observation:
        instances: tuple[Instance, ...] = () if isinstance(state, TargetError) else state.instances
        return Observation(
            target=state,
            readings=tuple(read(metric, instances, answers, call.now) for metric in scaler.metrics),
            victims=self._victims(scaler, instances, answers, call),
        )

    def _victims(
        self, scaler: Autoscaler, instances: Sequence[Instance], answers: Answers, call: Call
    ) -> tuple[str, ...]:
        if scaler.victims is None:
            return ()
        try:
            return rank(scaler.victims, instances, answers, call.now)
        except MetricError as error:
            self._logger.warning("victims_not_ranked", autoscaler=scaler.name, error=str(error))
            return ()  # the back end chooses
