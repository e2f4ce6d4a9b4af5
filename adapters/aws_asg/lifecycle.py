"""What each LifecycleState means for scaling.

Sources: Amazon EC2 Auto Scaling User Guide, "Amazon EC2 Auto Scaling instance lifecycle" and "Warm pool instance
lifecycle"; the API's enumeration LifecycleState.
"""

from enum import Enum, auto
from typing import Final


class LifecycleStage(Enum):
    """What a LifecycleState means for scaling."""

    SERVING = auto()
    """In service. Its health status says whether it is ready."""
    STARTING = auto()
    """Counts and does not serve yet."""
    RENEWING = auto()
    """Counts and runs, and does not serve for the moment."""
    LEAVING = auto()
    OUTSIDE = auto()
    """Does not count: on standby, in the warm pool, detached or terminated."""


_STAGES: Final = {
    "InService": LifecycleStage.SERVING,
    "Pending": LifecycleStage.STARTING,
    "Quarantined": LifecycleStage.STARTING,  # documented as not used
    "ReplacingRootVolume": LifecycleStage.RENEWING,
    "RootVolumeReplaced": LifecycleStage.RENEWING,
    "Terminating": LifecycleStage.LEAVING,
    "Detaching": LifecycleStage.LEAVING,
    "EnteringStandby": LifecycleStage.LEAVING,
    "Terminated": LifecycleStage.OUTSIDE,
    "Detached": LifecycleStage.OUTSIDE,
    "Standby": LifecycleStage.OUTSIDE,
    "Warmed": LifecycleStage.OUTSIDE,
}
"""By the first word of the state, as in `Pending:Wait` and `Warmed:Running`."""

COUNTING: Final = (LifecycleStage.SERVING, LifecycleStage.STARTING, LifecycleStage.RENEWING)
"""The stages that DesiredCapacity asks for."""


def stage_of(state: str) -> LifecycleStage:
    """Return the stage of a LifecycleState. One that this adapter does not know counts and is not ready."""
    return _STAGES.get(state.partition(":")[0], LifecycleStage.STARTING)


def is_known(state: str) -> bool:
    """Return whether this adapter knows what the state means."""
    return state.partition(":")[0] in _STAGES
