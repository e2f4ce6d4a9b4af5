"""Isolates failures: an exception for one autoscaler does not affect the others."""

from collections.abc import Callable, Collection, Iterable
from typing import Protocol, TypeVar


class Named(Protocol):
    """An autoscaler, or a value that belongs to one."""

    @property
    def name(self) -> str:
        """The autoscaler's name."""


_N = TypeVar("_N", bound=Named)
_T = TypeVar("_T")


def each(items: Iterable[_N], work: Callable[[_N], _T], broken: dict[str, Exception]) -> list[_T]:
    """Return the result of `work` for each item, in order. Exceptions are put into `broken` by name."""
    done = list[_T]()
    for item in items:
        try:
            done.append(work(item))
        except Exception as error:  # noqa: BLE001 - any exception must only affect its own autoscaler
            broken[item.name] = error
    return done


def without(items: Iterable[_N], names: Collection[str]) -> list[_N]:
    """Return the items without these names, in order."""
    return [item for item in items if item.name not in names] if names else list(items)
