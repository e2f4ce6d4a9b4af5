"""HPA without rules, as `autoscaler.decide` runs it with them."""

from collections.abc import Sequence
from datetime import datetime
from functools import partial

from autoscaler.errors import TargetError
from autoscaler.hpa.controller import Asked, Controller
from autoscaler.hpa.measurement import measure
from autoscaler.hpa.policies import own_bounds
from autoscaler.hpa.proposals import Measured
from autoscaler.model import NO_MEMORIES, Autoscaler, Decision, History, Observation, TargetState


def decide(scaler: Autoscaler, observed: Observation, history: History, now: datetime) -> Decision:
    """Return what HPA by itself decides, before the write."""
    controller, state = Controller(scaler, history, now), observed.target
    if isinstance(state, TargetError):
        return controller.decision(controller.unreadable(state), NO_MEMORIES, None, (), held=False)
    wanted = controller.reconcile(state, _Alone(scaler, observed, state, now))
    return controller.decision(wanted, NO_MEMORIES, state, observed.victims, held=False)


class _Alone(Asked):
    """Only the bounds of the specification, and its metrics."""

    def __init__(self, scaler: Autoscaler, observed: Observation, state: TargetState, now: datetime) -> None:
        self.bounds, self.rest = own_bounds(scaler.min_replicas, scaler.max_replicas), None
        self._measure = partial(measure, scaler, observed, state, now)

    def measure(self) -> Sequence[Measured]:
        """Return what each metric proposes."""
        return self._measure()
