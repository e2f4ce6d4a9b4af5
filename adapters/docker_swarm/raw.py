"""Objects as an engine sends them, and the error for objects that its API does not document."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeAlias

from autoscaler.target import TargetUnavailable

Raw: TypeAlias = dict[str, Any]
"""A JSON object. Code reads its documented fields only inside `unavailable_if_malformed`."""


@contextmanager
def unavailable_if_malformed(what: str) -> Iterator[None]:
    """Raise TargetUnavailable, naming `what`, when the block finds a shape that the Docker API does not document."""
    try:
        yield
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        found = f"{type(error).__name__}: {error}"
        raise TargetUnavailable(f"{what} is not what the Docker API documents ({found})") from error


class OutOfSequence(Exception):
    """Another client updated the service between the read and the post. Nothing was written."""


STAYING: Final = ("running", "ready", "remove")
"""Desired states of tasks that run or will run, and of tasks that leave because their service shrank."""
REPLACED: Final = ("shutdown",)
"""Desired state of replaced tasks, including dead ones: five for each slot unless configured otherwise."""
