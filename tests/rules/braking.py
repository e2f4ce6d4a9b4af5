"""An autoscaler with brakes on a virtual clock, with a target that the test controls."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from autoscaler.decide import decide, with_pending_write
from autoscaler.model import (
    NO_RULES,
    Autoscaler,
    Decision,
    History,
    Hold,
    Instance,
    Observation,
    Phase,
    Rules,
    TargetState,
)
from autoscaler.rules.brakes import BrakeMemory, Brakes, active_brakes
from autoscaler.rules.brakes.common import Brake
from autoscaler.rules.brakes.loss import LossBrake
from autoscaler.rules.brakes.outside_change import OutsideChangeBrake
from autoscaler.rules.brakes.unfulfilled import UnfulfilledBrake
from tests.decide.build import QUEUE_15, Life, scaler, value
from tests.decide.outage import CALM
from tests.replaced import replace

UNFULFILLED = Brakes(unfulfilled=UnfulfilledBrake())
LOSS = Brakes(loss=LossBrake())
OUTSIDE = Brakes(outside_change=OutsideChangeBrake())
ALL = Brakes(UnfulfilledBrake(), LossBrake(), OutsideChangeBrake())


def braked(brakes: Brakes | None, minimum: int = 1, maximum: int = 100) -> Autoscaler:
    """Return an autoscaler that follows a queue at once, 15 for each instance, unless a brake holds it."""
    return replace(
        scaler(QUEUE_15, minimum=minimum, maximum=maximum, behavior=CALM),
        rules=NO_RULES if brakes is None else Rules([brakes]),
    )


def workers(running: int, pending: int = 0, weight: int = 1) -> tuple[Instance, ...]:
    return tuple(
        Instance(f"i-{n}", Phase.RUNNING if n < running else Phase.PENDING, ready=n < running, weight=weight)
        for n in range(running + pending)
    )


class BrakedAutoscaler(Life):
    """Runs cycles of 60 s. All instances of the target's size run, unless a test says otherwise."""

    def cycle(
        self,
        wanted: int,
        running: int | None = None,
        *,
        after: float = 60,
        pending: int = 0,
        weight: int = 1,
        hold: Hold = Hold(),  # noqa: B008 - it is frozen
        **given: Any,
    ) -> Decision:
        """Run a cycle in which the queue asks for `wanted`.

        `running`, `pending`: instances, each of this `weight`.
        """
        one = workers(self.size // weight if running is None else running, pending, weight)
        target = TargetState(self.size, len(one) * weight, one, hold=hold)
        return self.step(value(15_000 * wanted), after=after, **{"target": target, **given})

    def dies_while_writing(self, wanted: int) -> int:
        """Run a cycle that commits its intent and never its outcome, and return the size that it wrote."""
        self.now += timedelta(seconds=60)
        observed = Observation(TargetState(self.size, self.size, workers(self.size)), (value(15_000 * wanted),))
        self.history = with_pending_write(
            self.autoscaler, self.history, decide(self.autoscaler, observed, self.history, self.now)
        )
        assert self.history.pending is not None
        return self.history.pending.size


def active(made: Decision) -> list[Brake]:
    """Return the brakes that are on."""
    return [each.brake for each in active_brakes(made.remembered.rules.of)]


def brake_memory(of: Decision | History) -> BrakeMemory | None:
    """Return what the brakes remember after a decision, or of earlier cycles."""
    memories = of.remembered.rules if isinstance(of, Decision) else of.rules
    return memories.find(Brakes.name, BrakeMemory)


def holding(made: Decision) -> Sequence[str]:
    """Return the reasons that kept a size from being written, in order."""
    return [step.reason for step in made.trace if step.after == made.current and step.before == made.desired]
