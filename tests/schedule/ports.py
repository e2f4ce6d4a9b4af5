"""Ports of a cycle that a test can make fail."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NoReturn, cast

from autoscaler.cycle import Ports
from autoscaler.model import (
    WITHOUT_LIMITS,
    Autoscaler,
    Call,
    Decision,
    History,
    LimitUsage,
    MetricSpec,
    MetricTarget,
    MetricType,
    Observation,
    Observed,
    Outcome,
    Query,
    TargetRef,
    TargetState,
    TargetType,
    ValueReading,
    Written,
)
from autoscaler.schedule.shard import Work


def scaler(name: str, period_seconds: float = 15, **changes: Any) -> Autoscaler:
    """Return an autoscaler with one replica for each entry of a queue."""
    target = MetricTarget(TargetType.AVERAGE_VALUE, 1000)
    return Autoscaler(
        name=name,
        target=TargetRef("fleet", name),
        min_replicas=1,
        max_replicas=10,
        metrics=(MetricSpec(MetricType.EXTERNAL, "queue", target, Query("queue")),),
        sync_period=timedelta(seconds=period_seconds),
        **changes,
    )


class _Histories(dict[str, History]):
    """Raises for damaged histories, as the ledger's mapping does."""

    def __init__(self, known: Mapping[str, History], damaged: Mapping[str, Exception]) -> None:
        super().__init__(known)
        self._damaged = damaged

    def __missing__(self, name: str) -> NoReturn:
        raise self._damaged[name]


class FakePorts(Ports):
    """Every queue has 3 entries and every size is 1, so each autoscaler writes 3. Counts its calls.

    It stands for its own ledger, actuator and writers.
    """

    def __init__(self, before_observe: Callable[[], None] = lambda: None) -> None:
        self.ledger = self.actuator = self.writers = cast("Any", self)
        self.calls: list[str] = []
        self.deadlines: list[float] = []
        self.asked: list[Call] = []
        self.written: list[str] = []
        self.recorded: list[str] = []
        self.drained: list[str] = []
        self.announced: list[str] = []
        self.before_observe = before_observe
        self.seconds = 0.0
        """The duration that an observation reports."""
        self.limits = WITHOUT_LIMITS
        self.begun = 0
        self.ended = 0
        self.broken: set[str] = set()
        """Autoscalers whose observation makes `decide` raise."""
        self.fails: dict[str, Exception] = {}
        """Method -> the exception that it raises."""
        self.fails_for: dict[str, Mapping[str, Exception]] = {}
        """Method -> the autoscalers that it fails for, with the exception: `recall`, `intend` and `record`."""

    def observe(self, scalers: Sequence[Autoscaler], call: Call) -> Observed:
        self._called("observe")
        self.deadlines.append(call.deadline)
        self.asked.append(call)
        self.before_observe()
        return Observed({one.name: self._observation(one.name) for one in scalers}, {}, self.seconds)

    def _observation(self, name: str) -> Observation:
        readings = () if name in self.broken else (ValueReading((3000,)),)  # none, where `decide` expects one a metric
        return Observation(TargetState(1, 1, ()), readings)

    def recall(self, scalers: Sequence[Autoscaler]) -> Mapping[str, History]:
        self._called("recall")
        return _Histories(
            {one.name: History() for one in scalers if one.name not in self._failing("recall")},
            self._failing("recall"),
        )

    def busy(self) -> frozenset[TargetRef]:
        return frozenset()

    def standing(self, now: datetime, busy: frozenset[TargetRef]) -> LimitUsage:
        self._called("standing")
        return self.limits

    def intend(self, decisions: Sequence[Decision], busy: frozenset[TargetRef]) -> Mapping[str, Exception]:
        self._called("intend")
        return self._failing("intend")

    def act(self, decisions: Sequence[Decision], call: Call, busy: frozenset[TargetRef]) -> Mapping[str, Outcome]:
        self._called("act")
        changes = {one.name: one.change.size for one in decisions if one.change is not None}
        self.written += changes
        return {name: Written(size) for name, size in changes.items()}

    def record(
        self, scalers: Mapping[str, Autoscaler], observed: Observed, decisions: Sequence[Decision]
    ) -> Mapping[str, Exception]:
        self._called("record")
        self.recorded += [one.name for one in decisions if one.name not in self._failing("record")]
        return self._failing("record")

    def drain(self, scalers: Mapping[str, Autoscaler], observed: Observed, decisions: Sequence[Decision]) -> None:
        self._called("drain")
        self.drained += [scalers[one.name].name for one in decisions]

    def announce(self, decisions: Sequence[Decision], call: Call) -> None:
        self._called("announce")
        self.announced += [one.name for one in decisions]

    def work(self, scalers: Sequence[Autoscaler]) -> Work:
        """Return a shard's work with these ports. Counts its starts and ends."""

        def begin() -> None:
            if "begin" in self.fails:
                raise self.fails["begin"]
            self.begun += 1

        def end() -> None:
            self.ended += 1

        return Work.of(scalers, self, begin, end)

    def _failing(self, verb: str) -> Mapping[str, Exception]:
        return self.fails_for.get(verb, {})

    def _called(self, verb: str) -> None:
        self.calls.append(verb)
        if verb in self.fails:
            raise self.fails[verb]
