"""Short constructors for the values that decisions are made from."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

from autoscaler.decide import apply_outcome, decide, remember
from autoscaler.errors import TargetError
from autoscaler.model import (
    Autoscaler,
    Behavior,
    Decision,
    Failure,
    History,
    Instance,
    InstanceReading,
    MetricSpec,
    MetricTarget,
    MetricType,
    Observation,
    Outcome,
    Phase,
    Proposed,
    Query,
    Reading,
    Sample,
    TargetRef,
    TargetState,
    TargetType,
    ValueReading,
    Written,
)
from tests.replaced import replace

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
LONG_AGO = NOW - timedelta(days=1)
TARGET = TargetRef("fleet", "web")


def metric(kind: MetricType, target: TargetType, value: int, name: str = "load") -> MetricSpec:
    return MetricSpec(kind, name, MetricTarget(target, value), Query("vector(0)"))


CPU_60 = metric(MetricType.RESOURCE, TargetType.UTILIZATION, 60, "cpu")
QUEUE_15 = metric(MetricType.EXTERNAL, TargetType.AVERAGE_VALUE, 15_000, "queue")


def scaler(*metrics: MetricSpec, minimum: int = 1, maximum: int = 100, behavior: Behavior | None = None) -> Autoscaler:
    return Autoscaler("web", TARGET, minimum, maximum, metrics, behavior)


def instances(count: int) -> tuple[Instance, ...]:
    """`count` instances that have been running and ready for a day."""
    return tuple(
        Instance(f"i-{n}", Phase.RUNNING, ready=True, ready_transition=LONG_AGO, started_at=LONG_AGO)
        for n in range(count)
    )


def state(count: int, workers: Sequence[Instance] | None = None) -> TargetState:
    return TargetState(count, count, instances(count) if workers is None else tuple(workers))


def samples(values: Mapping[str, int] | Sequence[int], now: datetime = NOW, request: int = 1000) -> InstanceReading:
    """A sample in thousandths for each instance; each instance has the same request."""
    named = values if isinstance(values, Mapping) else {f"i-{n}": value for n, value in enumerate(values)}
    return InstanceReading(
        {name: Sample(value, now, timedelta(seconds=60)) for name, value in named.items()},
        dict.fromkeys(named, request),
    )


def value(*values: int) -> ValueReading:
    return ValueReading(values)


def first_decision(autoscaler: Autoscaler, target: TargetState, *readings: Reading | Failure) -> Decision:
    """The decision of an autoscaler that remembers nothing, before it is written."""
    return decide(autoscaler, Observation(target, readings), History(), NOW)


def proposals(decision: Decision) -> list[int | None]:
    return [outcome.proposal for outcome in decision.metrics]


class Life:
    """An autoscaler and its target on a virtual clock. It remembers in this process; subclasses use a real state."""

    def __init__(self, autoscaler: Autoscaler, size: int, *, history: History | None = None) -> None:
        self.autoscaler, self.now, self.history = autoscaler, NOW, history or History()
        self.size = size
        """The target's size."""

    def step(
        self,
        *readings: Reading | Failure,
        after: float = 0,
        fallbacks: Sequence[Reading | Failure | None] = (),
        target: TargetState | TargetError | None = None,
        outcome: Outcome | None = None,
        arrives: bool = True,
    ) -> Decision:
        """Run one cycle `after` seconds later.

        `fallbacks`: what the fallbacks' queries read. `target`: what the adapter reads, by default ready instances of
        the target's size. `outcome`: of a write, if it does not succeed as decided. `arrives`: whether the target has a
        written size at once.
        """
        self.now += timedelta(seconds=after)
        return self.see(Observation(target or state(self.size), readings, (), tuple(fallbacks)), outcome, arrives)

    def see(self, observed: Observation, outcome: Outcome | None = None, arrives: bool = True) -> Decision:
        """Run a cycle now with this observation; the rest as in `step`."""
        self.observed, self.before = observed, self.recall()
        made = self.decided = decide(self.autoscaler, observed, self.before, self.now)
        made = self.write(made, outcome, arrives)
        self.keep(made)
        return made

    def write(self, made: Decision, outcome: Outcome | None, arrives: bool) -> Decision:
        """Return the decision with the outcome of its write."""
        if made.change is not None:
            size = made.change.size
            made = apply_outcome(made, outcome or (Proposed(size) if made.dry_run else Written(size)))
            if isinstance(made.outcome, Written) and arrives:
                self.resize(made.outcome.size)
        return made

    def recall(self) -> History:
        """Return what this cycle knows of earlier ones."""
        return self.history

    def keep(self, made: Decision) -> None:
        """Keep what later cycles need of this decision, about `observed` and after `before`."""
        self.history = remember(self.autoscaler, self.history, made)

    def resize(self, size: int) -> None:
        """Give the target this size."""
        self.size = size

    def edit(self, **changes: object) -> None:
        """Change the autoscaler's configuration."""
        self.autoscaler = replace(self.autoscaler, **changes)
