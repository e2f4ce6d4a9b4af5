"""One failure, one victim: work for each of several autoscalers, in which what raises for one stops no other."""

from collections.abc import Callable, Collection, Iterable
from typing import Protocol, TypeVar


class Named(Protocol):
    """An autoscaler, or what was made for one."""

    @property
    def name(self) -> str:
        """The autoscaler's."""


_N = TypeVar("_N", bound=Named)
_T = TypeVar("_T")


def each(items: Iterable[_N], work: Callable[[_N], _T], broken: dict[str, Exception]) -> list[_T]:
    """What `work` makes of each, in order. What it raises is put into `broken` under the name, and the rest go on."""
    done = list[_T]()
    for item in items:
        try:
            done.append(work(item))
        except Exception as error:  # noqa: BLE001 - whatever it is, it costs its own autoscaler alone
            broken[item.name] = error
    return done


def without(items: Iterable[_N], names: Collection[str]) -> list[_N]:
    """Those that have none of these names, in order."""
    return [item for item in items if item.name not in names] if names else list(items)
