"""Failures that this adapter treats differently. For other code each is a TargetUnavailable.

Of a write, only OutcomeUnknown is; the others become a TargetNotWritten.
"""

from autoscaler.target import TargetUnavailable


class Busy(TargetUnavailable):
    """AWS could not perform the request now; a retry may help."""


class Throttled(Busy):
    """AWS throttled the request: it was certainly not performed."""


class InProgress(TargetUnavailable):
    """ScalingActivityInProgress: the group is busy or in its cooldown. The request was certainly not performed."""


class OutcomeUnknown(TargetUnavailable):
    """A write was sent and no answer came."""
