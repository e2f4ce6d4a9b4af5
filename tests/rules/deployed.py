"""A service whose deployments reset its size, on a virtual clock."""

import dataclasses
from datetime import timedelta

from autoscaler.model import DEFAULT_SCALE_DOWN, Behavior, Decision, Deployment, Failure, Hold, HoldReason, Limits
from autoscaler.rules.brakes import Brakes
from autoscaler.rules.recover_size import RecoverSize
from tests.decide.build import state, value
from tests.replaced import replace
from tests.rules.braking import BrakedAutoscaler, braked, workers

FIVE_MINUTES = timedelta(minutes=5)
REMEDY = "use `nomad job run -preserve-counts`"
DEPLOYING = Hold(HoldReason("DeploymentActive", "a deployment is under way"), None)


class Deployed(BrakedAutoscaler):
    """A service that asks for 40 and has them, and whose job file says 1."""

    def __init__(self, brakes: Brakes | None = None, *, recovers: bool = True, **options: object) -> None:
        behavior = Behavior(scale_down=replace(DEFAULT_SCALE_DOWN, stabilization_window=FIVE_MINUTES))
        autoscaler = replace(braked(brakes, maximum=60), behavior=behavior, **options)
        if not recovers:
            autoscaler = replace(autoscaler, rules=autoscaler.rules.replaced(RecoverSize(recovers=False)))
        super().__init__(autoscaler, 40)
        self.deployment: Deployment | None = None
        self.number = 0
        self.limits = Limits()
        for _ in range(2):
            self.runs(40)

    def deploy(self, size: int = 1, *, rollback: bool = False, certain: bool = True) -> None:
        """Deploy with a specification that says `size`. Without a cycle between them, deployments follow each other."""
        last = self.deployment
        earlier = () if last is None or last.certain else ((last.id, last.before), *last.earlier)
        self.number += 1
        self.deployment = Deployment(str(self.number), self.size, REMEDY, rollback, earlier, certain)
        self.size = size

    def becomes_certain(self) -> None:
        """The back end tells that it was a deployment, and no scaling."""
        assert self.deployment is not None
        self.deployment = dataclasses.replace(self.deployment, certain=True)

    def scale(self, size: int) -> None:
        """Set the size as another client does."""
        self.size, self.deployment = size, None

    def resize(self, size: int) -> None:
        self.scale(size)

    def runs(self, wanted: int | None = 40, hold: Hold = Hold(), after: float = 60) -> Decision:  # noqa: B008
        """Run a cycle; without `wanted` the metric fails."""
        target = replace(
            state(self.size, workers(self.size)), deployment=self.deployment, hold=hold, limits=self.limits
        )
        reading = Failure("no answer") if wanted is None else value(15_000 * wanted)
        return self.step(reading, after=after, target=target)
