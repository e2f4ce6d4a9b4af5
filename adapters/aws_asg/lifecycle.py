"""What each LifecycleState means for scaling.

Sources: Amazon EC2 Auto Scaling User Guide, "Amazon EC2 Auto Scaling instance lifecycle" and "Warm pool instance
lifecycle"; the API's enumeration LifecycleState.
"""

from enum import Enum, auto
from typing import Final


class Standing(Enum):
    """Where an instance stands in its group."""

    SERVING = auto()
    """In service; its health status says whether it is ready."""
    STARTING = auto()
    """Counts, and does not serve yet."""
    RENEWING = auto()
    """Counts and runs, and does not serve for the moment."""
    LEAVING = auto()
    OUTSIDE = auto()
    """Counts for nothing: on standby, in the warm pool, detached, gone."""


LIFECYCLE: Final = {
    "InService": Standing.SERVING,
    "Pending": Standing.STARTING,
    "Pending:Wait": Standing.STARTING,
    "Pending:Proceed": Standing.STARTING,
    "Quarantined": Standing.STARTING,  # documented as not used
    "ReplacingRootVolume": Standing.RENEWING,
    "ReplacingRootVolume:Wait": Standing.RENEWING,
    "ReplacingRootVolume:Proceed": Standing.RENEWING,
    "RootVolumeReplaced": Standing.RENEWING,
    "Terminating": Standing.LEAVING,
    "Terminating:Wait": Standing.LEAVING,
    "Terminating:Proceed": Standing.LEAVING,
    "Terminating:Retained": Standing.LEAVING,
    "Detaching": Standing.LEAVING,
    "EnteringStandby": Standing.LEAVING,
    "Terminated": Standing.OUTSIDE,
    "Detached": Standing.OUTSIDE,
    "Standby": Standing.OUTSIDE,
    "Warmed:Pending": Standing.OUTSIDE,
    "Warmed:Pending:Wait": Standing.OUTSIDE,
    "Warmed:Pending:Proceed": Standing.OUTSIDE,
    "Warmed:Pending:Retained": Standing.OUTSIDE,
    "Warmed:Terminating": Standing.OUTSIDE,
    "Warmed:Terminating:Wait": Standing.OUTSIDE,
    "Warmed:Terminating:Proceed": Standing.OUTSIDE,
    "Warmed:Terminating:Retained": Standing.OUTSIDE,
    "Warmed:Terminated": Standing.OUTSIDE,
    "Warmed:Stopped": Standing.OUTSIDE,
    "Warmed:Running": Standing.OUTSIDE,
    "Warmed:Hibernated": Standing.OUTSIDE,
}

COUNTING: Final = (Standing.SERVING, Standing.STARTING, Standing.RENEWING)
"""They are what DesiredCapacity asks for."""


def standing(state: str) -> Standing:
    """A state that AWS has added since is not ready."""
    return LIFECYCLE.get(state, Standing.STARTING)
