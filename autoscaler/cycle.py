"""One reconcile cycle, on one screen. Each stage takes frozen values and returns frozen values.

A stage that fails for one autoscaler leaves that one out of what follows; the others go on.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Protocol

from autoscaler.decide import apply_limits, conclude, decide
from autoscaler.isolation import each, without
from autoscaler.model import Autoscaler, Call, Decision, History, Observed, Outcome, ShardName, Standing


class Ports(Protocol):
    """What the cycle needs of the world. Mappings are keyed by the autoscaler's name."""

    def observe(self, scalers: Sequence[Autoscaler], call: Call) -> Observed:
        """One batch: every distinct query once, every target once. A failure is a value in an observation.

        Raises StateError where what is known of the targets cannot be recalled, and LateError where what was seen says
        nothing about now.
        """

    def recall(self, scalers: Sequence[Autoscaler]) -> Mapping[str, History]:
        """What each remembers. Raises StateError; looking up one whose record is damaged raises its own."""

    def standing(self, now: datetime) -> Standing:
        """How far the limits that the connection's autoscalers share are used. Raises StateError.

        With it the targets to which an earlier write is under way: nothing is written to them in this cycle.
        """

    def intend(self, decisions: Sequence[Decision]) -> Mapping[str, Exception]:
        """Commit what is about to be written, in one transaction. Raises StateError: then nothing is written.

        Returns whose could not be committed, and why: those are not written. So are those that found the limits used by
        others since `standing`.
        """

    def act(self, decisions: Sequence[Decision], call: Call) -> Mapping[str, Outcome]:
        """Write each decision that has a change, or in a dry run propose it. Keys: those with a change."""

    def record(
        self, scalers: Sequence[Autoscaler], observed: Observed, decisions: Sequence[Decision]
    ) -> Mapping[str, Exception]:
        """Commit what came of it, in one transaction. Raises StateError.

        Returns whose could not be committed, and why: what was intended for them stays an unfinished write.
        """

    def announce(self, decisions: Sequence[Decision], call: Call) -> None:
        """Tell the back ends that keep a record of decisions what was not written. Nothing depends on it."""


_NO_SHARD: Final = ShardName("")


@dataclass(frozen=True, slots=True)
class Batch:
    """What one cycle came to."""

    decisions: Sequence[Decision] = ()
    """Concluded and recorded, in the order of the autoscalers."""
    broken: Mapping[str, Exception] = field(default_factory=dict)
    """Autoscaler's name -> what was raised for it: it has no decision."""
    unrecorded: Mapping[str, Outcome] = field(default_factory=dict)
    """Of those, what a write came to that is not recorded."""
    removals_left: int | None = None
    """What may still leave under the connection's removal budget; None: it has none."""
    total: int | None = None
    """What the sizes of the connection's autoscalers sum to; None: the connection has no limit of it."""
    observing_seconds: float = 0.0
    """Until every metric and target had been read."""
    shard: ShardName = _NO_SHARD
    """Whose cycle it was; this and what follows is added by the shard."""
    late_seconds: float = 0.0
    """From when it was due to its beginning."""
    seconds: float = 0.0
    """From its beginning to its end."""


def reconcile(scalers: Sequence[Autoscaler], call: Call, ports: Ports) -> Batch:
    """One cycle of `scalers`. Raises StateError, and what a port itself raised: that concerns them all."""
    broken = dict[str, Exception]()
    observed = ports.observe(scalers, call)
    history = ports.recall(scalers)
    seen = observed.observations
    decisions = each(scalers, lambda one: decide(one, seen[one.name], history[one.name], call.now), broken)
    shared = apply_limits(decisions, history, ports.standing(call.now), call.now)  # what all of them together may do
    broken |= ports.intend(shared.decisions)  # committed before the first write
    intended = without(shared.decisions, broken)
    outcomes = ports.act(intended, call)
    concluded = each(intended, lambda made: conclude(made, outcomes.get(made.name)), broken)
    broken |= ports.record(scalers, observed, concluded)
    recorded = without(concluded, broken)
    ports.announce(recorded, call)
    unrecorded = {name: outcomes[name] for name in broken if name in outcomes}
    return Batch(recorded, broken, unrecorded, shared.removals_left, shared.total, observed.seconds)
