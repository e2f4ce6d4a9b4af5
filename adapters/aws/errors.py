"""Failures that the adapters of AWS treat differently. For other code each is a TargetUnavailable.

Of a write, only OutcomeUnknown is; the others become a TargetNotWritten.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from autoscaler.target import TargetError, TargetForbidden, TargetNotWritten, TargetUnavailable

_T = TypeVar("_T")


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
    """In this block, turn each TargetUnavailable except OutcomeUnknown into a TargetNotWritten."""
    try:
        yield
    except OutcomeUnknown:
        raise
    except TargetUnavailable as error:
        raise TargetNotWritten(str(error)) from error


def do_each(work: Callable[[_T], object], items: Iterable[_T]) -> None:
    """Do the work for every item, also after one fails. Raises the first TargetError afterwards."""
    failed: TargetError | None = None
    for one in items:
        try:
            work(one)
        except TargetError as error:
            failed = failed or error
    if failed is not None:
        raise failed


def require_permissions(asked: Iterable[Callable[[], object]]) -> None:
    """Send each request. Raises TargetForbidden, which names every missing permission, or another TargetError."""
    missing = []
    for ask in asked:
        try:
            ask()
        except TargetForbidden as error:
            missing.append(str(error))
    if missing:
        raise TargetForbidden("; ".join(missing))
