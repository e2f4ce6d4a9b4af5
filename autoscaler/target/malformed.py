"""The error for an answer without what the documentation of its back end promises."""

from collections.abc import Iterator
from contextlib import contextmanager

from autoscaler.errors import TargetUnavailable


@contextmanager
def unavailable_if_malformed(message: str, what: str) -> Iterator[None]:
    """Raise TargetUnavailable when the block finds an undocumented shape.

    `message`: of the error, in which `{what}` stands for the answer or its part, and `{found}` for what was found.
    """
    try:
        yield
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise TargetUnavailable(message.format(what=what, found=f"{type(error).__name__}: {error}")) from error
