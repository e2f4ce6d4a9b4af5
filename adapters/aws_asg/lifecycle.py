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


LIFECYCLE: Final = {
    "InService": LifecycleStage.SERVING,
    "Pending": LifecycleStage.STARTING,
    "Pending:Wait": LifecycleStage.STARTING,
    "Pending:Proceed": LifecycleStage.STARTING,
    "Quarantined": LifecycleStage.STARTING,  # documented as not used
    "ReplacingRootVolume": LifecycleStage.RENEWING,
    "ReplacingRootVolume:Wait": LifecycleStage.RENEWING,
    "ReplacingRootVolume:Proceed": LifecycleStage.RENEWING,
    "RootVolumeReplaced": LifecycleStage.RENEWING,
    "Terminating": LifecycleStage.LEAVING,
    "Terminating:Wait": LifecycleStage.LEAVING,
    "Terminating:Proceed": LifecycleStage.LEAVING,
    "Terminating:Retained": LifecycleStage.LEAVING,
    "Detaching": LifecycleStage.LEAVING,
    "EnteringStandby": LifecycleStage.LEAVING,
    "Terminated": LifecycleStage.OUTSIDE,
    "Detached": LifecycleStage.OUTSIDE,
    "Standby": LifecycleStage.OUTSIDE,
    "Warmed:Pending": LifecycleStage.OUTSIDE,
    "Warmed:Pending:Wait": LifecycleStage.OUTSIDE,
    "Warmed:Pending:Proceed": LifecycleStage.OUTSIDE,
    "Warmed:Pending:Retained": LifecycleStage.OUTSIDE,
    "Warmed:Terminating": LifecycleStage.OUTSIDE,
    "Warmed:Terminating:Wait": LifecycleStage.OUTSIDE,
    "Warmed:Terminating:Proceed": LifecycleStage.OUTSIDE,
    "Warmed:Terminating:Retained": LifecycleStage.OUTSIDE,
    "Warmed:Terminated": LifecycleStage.OUTSIDE,
    "Warmed:Stopped": LifecycleStage.OUTSIDE,
    "Warmed:Running": LifecycleStage.OUTSIDE,
    "Warmed:Hibernated": LifecycleStage.OUTSIDE,
}

COUNTING: Final = (LifecycleStage.SERVING, LifecycleStage.STARTING, LifecycleStage.RENEWING)
"""The stages that DesiredCapacity asks for."""


def stage_of(state: str) -> LifecycleStage:
    """Return a state's stage. A state that AWS has added since is not ready."""
    return LIFECYCLE.get(state, LifecycleStage.STARTING)
