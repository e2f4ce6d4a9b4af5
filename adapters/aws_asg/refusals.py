"""Failures that this adapter treats differently. Outside it each is a TargetUnavailable.

Of a write only OutcomeUnknown is: the others become a TargetNotWritten.
"""

from autoscaler.target import TargetUnavailable


class Busy(TargetUnavailable):
    """AWS did not do it for a reason of the moment; asking again may help."""


class Throttled(Busy):
    """Refused for the rate of requests: certainly not done."""


class InProgress(TargetUnavailable):
    """ScalingActivityInProgress: the group is busy or cools down; certainly not done."""


class OutcomeUnknown(TargetUnavailable):
    """A write was sent and its answer never came."""
