"""What AWS describes, as botocore parses it, and what to make of an answer that lacks what is documented."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeAlias

from autoscaler.target import TargetUnavailable

Raw: TypeAlias = Mapping[str, Any]
"""One described thing: a group, an instance, an activity. Keys as in AWS's API reference."""


@contextmanager
def documented(what: str) -> Iterator[None]:
    """Turns the lack of a documented field into TargetUnavailable: something other than AWS answered."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise TargetUnavailable(
            f"{what}: the answer lacks what AWS documents ({type(error).__name__} {error}); "
            "is there an AWS endpoint behind `endpointUrl`?"
        ) from error
