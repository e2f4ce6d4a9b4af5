"""Objects as an engine sends them, and the error for objects that its API does not document."""

from functools import partial
from typing import Any, Final, TypeAlias

from autoscaler import target

Raw: TypeAlias = dict[str, Any]
"""A JSON object. Code reads its documented fields only inside `unavailable_if_malformed`."""

unavailable_if_malformed: Final = partial(
    target.unavailable_if_malformed, "{what} is not what the Docker API documents ({found})"
)


class OutOfSequence(Exception):
    """Another client updated the service between the read and the post. Nothing was written."""


STAYING: Final = ("running", "ready", "remove")
"""Desired states of tasks that run or will run, and of tasks that leave because their service shrank."""
REPLACED: Final = ("shutdown",)
"""Desired state of replaced tasks, including dead ones: five for each slot unless configured otherwise."""
