"""What is remembered of deployments that set a target's size."""

from datetime import datetime

from msgspec import Struct

from autoscaler.model.steering import ManualControls


class SizeReset(Struct, frozen=True, gc=False):
    """A deployment lowered the size and nobody asked for it. The size returns to `goal`."""

    at: datetime
    """When it was recognized."""
    before: int
    after: int
    goal: int
    """The smaller of the size before and the highest recommendation of the scale-down window."""
    size: int
    """The size that was last seen or written. Another one is another client's."""
    steering: ManualControls
    """What operators had asked for by then. A later request ends the return."""
    remedy: str
    """How to deploy without setting the size."""
    free_since: datetime | None = None
    """Since when nothing has held a scale-out; None: something does."""


class DeploymentMemory(Struct, frozen=True, gc=False):
    """The last deployment of a target that set its size."""

    id: str
    size: int | None
    """The size that deployments set, as far as it is known. A deployment that sets another one means it."""
    remedy: str = ""
    """How to deploy without setting the size; empty: the last deployment did not set it."""
    reset: SizeReset | None = None
    """While the size returns."""
    uncertain: tuple[str, int] | None = None
    """A deployment that is not certain yet, and the goal at its first sight (0: the autoscaler's first cycle)."""
