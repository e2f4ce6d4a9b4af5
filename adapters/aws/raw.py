"""AWS's objects as botocore parses them, and the error for an answer that lacks a documented field."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeAlias, TypeVar

from autoscaler import target
from autoscaler.target import TargetError

_T = TypeVar("_T")
Raw: TypeAlias = Mapping[str, Any]
"""A group, a service, an instance. Keys as in AWS's API reference."""

unavailable_if_malformed: Final = partial(
    target.unavailable_if_malformed,
    "{what}: the answer lacks what AWS documents ({found}); is there an AWS endpoint behind `endpointUrl`?",
)


def next_page(page: Raw) -> Mapping[str, str] | None:
    """Return the parameter that asks for the next page; None: this is the last one. Services differ in its case."""
    return next(({key: page[key]} for key in ("NextToken", "nextToken") if page.get(key)), None)


def _by_key(key: str, answer: Iterable[Raw], what: str) -> tuple[Mapping[str, Raw], TargetError | None]:
    """Return the entries of an answer by their documented field `key`, and why others may be missing; None: none are.

    `answer`: may raise TargetError, as pages do; the entries before that are returned. An entry without the field costs
    only those that are not found.
    """
    found: dict[str, Raw] = {}
    problem: TargetError | None = None
    try:
        with unavailable_if_malformed(what):
            for one in answer:
                try:
                    with unavailable_if_malformed(what):
                        found[one[key]] = one
                except TargetError as error:
                    problem = error
    except TargetError as error:
        problem = error
    return found, problem


def read_in_batches(
    names: Sequence[str],
    size: int,
    ask: Callable[[Sequence[str]], Iterable[Raw]],
    key: str,
    what: str,
    parse: Callable[[Raw], _T],
) -> tuple[Mapping[str, _T], Mapping[str, TargetError]]:
    """Ask about `size` names at a time. Return what `parse` makes of each entry, and the errors of the others.

    A request that fails, or an entry that is malformed, costs only the names that it should have described. A name that
    AWS does not list is in neither.
    """
    found: dict[str, _T] = {}
    failed: dict[str, TargetError] = {}
    for start in range(0, len(names), size):
        batch = names[start : start + size]
        listed, problem = _by_key(key, ask(batch), what)
        for name in batch:
            try:
                with unavailable_if_malformed(f"{what}, {name}"):
                    if name in listed:
                        found[name] = parse(listed[name])
                    elif problem is not None:
                        failed[name] = problem
            except TargetError as error:
                failed[name] = error
    return found, failed
