"""What AWS describes, as botocore parses it, and what an answer means that lacks a documented field."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeAlias

from autoscaler.target import TargetUnavailable

Raw: TypeAlias = Mapping[str, Any]
"""One described thing: a group, an instance, an activity. Keys as in AWS's API reference."""


@contextmanager
def unavailable_if_malformed(what: str) -> Iterator[None]:
    """Raise TargetUnavailable where the block misses a documented field in the answer `what`: it is not AWS's."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise TargetUnavailable(
            f"{what}: the answer lacks what AWS documents ({type(error).__name__} {error}); "
            "is there an AWS endpoint behind `endpointUrl`?"
        ) from error
