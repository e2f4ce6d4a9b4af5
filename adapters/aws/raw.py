"""AWS's objects as botocore parses them, and the error for an answer that lacks a documented field."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeAlias

from autoscaler.target import TargetUnavailable

Raw: TypeAlias = Mapping[str, Any]
"""A group, a service, an instance. Keys as in AWS's API reference."""


def next_page(page: Raw) -> Mapping[str, str] | None:
    """Return the parameter that asks for the next page; None: this is the last one. Services differ in its case."""
    return next(({key: page[key]} for key in ("NextToken", "nextToken") if page.get(key)), None)


@contextmanager
def unavailable_if_malformed(what: str) -> Iterator[None]:
    """Raise TargetUnavailable when the answer `what` lacks a documented field."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise TargetUnavailable(
            f"{what}: the answer lacks what AWS documents ({type(error).__name__} {error}); "
            "is there an AWS endpoint behind `endpointUrl`?"
        ) from error
