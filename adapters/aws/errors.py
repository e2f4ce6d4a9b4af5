"""Failures that the adapters of AWS treat differently. For other code each is a TargetUnavailable.

Of a write, only OutcomeUnknown is; the others become a TargetNotWritten.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from autoscaler.target import TargetNotWritten, TargetUnavailable


class Busy(TargetUnavailable):
    """AWS could not perform the request now; a retry may help."""


class Throttled(Busy):
    """AWS throttled the request: it was certainly not performed."""


class InProgress(TargetUnavailable):
    """ScalingActivityInProgress: the group is busy or in its cooldown. The request was certainly not performed."""


class OutcomeUnknown(TargetUnavailable):
    """A write was sent and no answer came."""


@contextmanager
def not_written() -> Iterator[None]:
    """Raise TargetNotWritten for each TargetUnavailable of a write but OutcomeUnknown."""
    try:
        yield
    except OutcomeUnknown:
        raise
    except TargetUnavailable as error:
        raise TargetNotWritten(str(error)) from error
