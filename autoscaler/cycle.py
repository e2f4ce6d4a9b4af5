"""One reconcile cycle, on one screen. Each stage takes frozen values and returns frozen values.

An autoscaler that fails in a stage is left out of the later stages. The others continue.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Protocol

from autoscaler.decide import apply_outcome, decide
from autoscaler.isolation import each, without
from autoscaler.limits.connection_limits import apply_limits
from autoscaler.model import Autoscaler, Call, Decision, History, LimitUsage, Observed, Outcome, ShardName


class Ports(Protocol):
    """What the cycle needs from the rest of the daemon. Mappings have the autoscaler's name as key."""

    def observe(self, scalers: Sequence[Autoscaler], call: Call) -> Observed:
        """Observe one batch: every distinct query once, every target once. A failure is a value in an observation.

        Raises StateError if sightings cannot be read, and LateError if the observation is too old.
        """

    def recall(self, scalers: Sequence[Autoscaler]) -> Mapping[str, History]:
        """Return each autoscaler's history. Raises StateError. Access to a damaged history raises its own error."""

    def standing(self, now: datetime) -> LimitUsage:
        """Return how far the connection's limits are used. Raises StateError.

        The result includes the targets with an earlier write under way, to which this cycle writes nothing.
        """

    def intend(self, decisions: Sequence[Decision]) -> Mapping[str, Exception]:
        """Commit what is about to be written, in one transaction. Raises StateError; then nothing is written.

        Returns the autoscalers whose intent could not be committed, with the reason. They are not written. The same
        applies if others used up the limits since `standing`.
        """

    def act(self, decisions: Sequence[Decision], call: Call) -> Mapping[str, Outcome]:
        """Write each decision that has a change, or propose it in a dry run. Returns an outcome for each change."""

    def record(
        self, scalers: Sequence[Autoscaler], observed: Observed, decisions: Sequence[Decision]
    ) -> Mapping[str, Exception]:
        """Commit the result, in one transaction. Raises StateError.

        Returns the autoscalers whose result could not be committed, with the reason. Their intents stay unfinished
        writes.
        """

    def drain(self, scalers: Sequence[Autoscaler], observed: Observed, decisions: Sequence[Decision]) -> None:
        """Let the drains that these recorded decisions have under way begin or go on, outside of the cycle."""

    def announce(self, decisions: Sequence[Decision], call: Call) -> None:
        """Report decisions without a write to back ends that record decisions. Nothing depends on it."""


_NO_SHARD: Final = ShardName("")


@dataclass(frozen=True, slots=True)
class CycleResult:
    """The result of one cycle."""

    decisions: Sequence[Decision] = ()
    """Concluded and recorded, in the order of the autoscalers."""
    broken: Mapping[str, Exception] = field(default_factory=dict)
    """Autoscaler's name -> the exception that left it without a decision."""
    unrecorded: Mapping[str, Outcome] = field(default_factory=dict)
    """Outcomes of those autoscalers' writes that are not recorded."""
    removals_left: int | None = None
    """Instances that the removal budget still allows; None without a budget."""
    total: int | None = None
    """Sum of the sizes of the connection's autoscalers; None without `maxTotal`."""
    observing_seconds: float = 0.0
    """Time until every metric and target was read."""
    shard: ShardName = _NO_SHARD
    """The shard of the cycle. The shard sets this and the following fields."""
    late_seconds: float = 0.0
    """Time from when the cycle was due to its start."""
    seconds: float = 0.0
    """Time from its start to its end."""


def reconcile(scalers: Sequence[Autoscaler], call: Call, ports: Ports) -> CycleResult:
    """Run one cycle. Raises StateError, and what a port raises for the whole batch."""
    broken = dict[str, Exception]()
    observed = ports.observe(scalers, call)
    history = ports.recall(scalers)
    seen = observed.observations
    decisions = each(scalers, lambda one: decide(one, seen[one.name], history[one.name], call.now), broken)
    # the connection's limits apply to all decisions together
    limited = apply_limits(decisions, history, ports.standing(call.now), call.now)
    broken |= ports.intend(limited.decisions)  # committed before the first write
    intended = without(limited.decisions, broken)
    outcomes = ports.act(intended, call)
    concluded = each(intended, lambda made: apply_outcome(made, outcomes.get(made.name)), broken)
    broken |= ports.record(scalers, observed, concluded)
    recorded = without(concluded, broken)
    ports.drain(scalers, observed, recorded)
    ports.announce(recorded, call)
    unrecorded = {name: outcomes[name] for name in broken if name in outcomes}
    return CycleResult(recorded, broken, unrecorded, limited.removals_left, limited.total, observed.seconds)
