"""Objects as an engine sends them, and what happens when they are not what its API documents."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeAlias

from autoscaler.target import TargetUnavailable

Raw: TypeAlias = dict[str, Any]
"""A JSON object. Its shape is taken for granted inside `unavailable_if_malformed` alone."""


@contextmanager
def unavailable_if_malformed(what: str) -> Iterator[None]:
    """Raise TargetUnavailable, naming `what`, where the block finds another shape than the Docker API documents."""
    try:
        yield
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        found = f"{type(error).__name__}: {error}"
        raise TargetUnavailable(f"{what} is not what the Docker API documents ({found})") from error


class OutOfSequence(Exception):
    """A service changed between reading and posting it: nothing was written, read it again."""


STAYING: Final = ("running", "ready", "remove")
"""Desired states of tasks that run or are about to, and of those that leave because their service shrank."""
REPLACED: Final = ("shutdown",)
"""Desired state of tasks that another took the place of, dead ones included: five a slot, unless configured."""
