"""One reconcile cycle, on one screen. Each stage takes frozen values and returns frozen values."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from autoscaler.decide import conclude, decide
from autoscaler.model import Autoscaler, Call, Decision, History, Observed, Outcome


class Ports(Protocol):
    """What the cycle needs of the world. Mappings are keyed by the autoscaler's name and hold every one asked for."""

    def observe(self, scalers: Sequence[Autoscaler], call: Call) -> Observed:
        """One batch: every distinct query once, every target once. A failure is a value in an observation.

        Raises StateError where what is known of the targets cannot be recalled.
        """

    def recall(self, scalers: Sequence[Autoscaler]) -> Mapping[str, History]:
        """What each remembers. Raises StateError."""

    def intend(self, decisions: Sequence[Decision]) -> None:
        """Commit what is about to be written, in one transaction. Raises StateError: then nothing is written."""

    def act(self, decisions: Sequence[Decision], call: Call) -> Mapping[str, Outcome]:
        """Write each decision that has a change, or in a dry run propose it. Keys: those with a change."""

    def record(self, scalers: Sequence[Autoscaler], observed: Observed, decisions: Sequence[Decision]) -> None:
        """Commit what came of it, in one transaction. Raises StateError."""

    def announce(self, decisions: Sequence[Decision], call: Call) -> None:
        """Tell the back ends that keep a record of decisions what was not written. Nothing depends on it."""


def reconcile(scalers: Sequence[Autoscaler], call: Call, ports: Ports) -> Sequence[Decision]:
    """The concluded decisions of one cycle, in the order of `scalers`. Raises StateError."""
    observed = ports.observe(scalers, call)
    history = ports.recall(scalers)
    seen = observed.observations
    decisions = [decide(scaler, seen[scaler.name], history[scaler.name], call.now) for scaler in scalers]
    ports.intend(decisions)  # committed before the first write
    outcomes = ports.act(decisions, call)
    concluded = [conclude(decision, outcomes.get(decision.name)) for decision in decisions]
    ports.record(scalers, observed, concluded)
    ports.announce(concluded, call)
    return concluded
