"""Divides a limited number of units among autoscalers that want to change their size: the largest need first."""

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from heapq import heapify, heappop, heapreplace
from typing import NamedTuple


class SizeRequest(NamedTuple):
    """A size that an autoscaler wants to reach."""

    name: str
    """The autoscaler's name."""
    size: int
    wanted: int

    @property
    def units(self) -> int:
        """Number of units between the current size and the wanted size."""
        return abs(self.wanted - self.size)

    @property
    def out(self) -> bool:
        """Whether the wanted size is larger than the current one."""
        return self.wanted > self.size

    def need(self, size: int) -> float:
        """Return by what factor `size` is too small (scaling out) or too large (scaling in).

        A size of 0 has an infinite need. A wanted size of 0 counts as 1.
        """
        if self.out:
            return self.wanted / size if size else math.inf
        return size / max(self.wanted, 1)

    def next(self, size: int) -> int:
        """Return `size` moved one unit towards the wanted size."""
        return size + (1 if self.out else -1)

    def until(self, need: float) -> int:
        """Return the first size on the way whose need is at most `need`, a finite number of at least 1."""
        step = self.next(0)
        way = range(self.size, self.wanted + step, step)
        return way[bisect_left(way, -need, key=lambda size: -self.need(size))]


def allocate(requests: Sequence[SizeRequest], units: int) -> Mapping[str, int]:
    """Return the size granted to each autoscaler, by name. All sizes together change by at most `units`.

    Each unit goes to the autoscaler with the largest need at that moment. Equal needs are ordered by distance from the
    wanted size, then by name.
    """
    if sum([request.units for request in requests]) <= max(0, units):
        return {request.name: request.wanted for request in requests}
    sizes = _sizes_at_equal_need(requests, units)
    _grant_remaining(requests, sizes, units - _total_change(requests, sizes))
    return {request.name: size for request, size in zip(requests, sizes, strict=True)}


def _sizes_at_equal_need(requests: Sequence[SizeRequest], units: int) -> list[int]:
    """Return the sizes at the smallest need that all requests can reach with `units`.

    A bisection, because sizes can be in the millions.
    """
    enough, too_many = 2.0 * max([max(request.size, request.wanted) for request in requests]), 1.0
    sizes = [request.size for request in requests]
    while too_many < (need := (enough + too_many) / 2) < enough:
        reached = [request.until(need) for request in requests]
        if _total_change(requests, reached) > units:
            too_many = need
        else:
            enough, sizes = need, reached
    return sizes


def _total_change(requests: Sequence[SizeRequest], sizes: Sequence[int]) -> int:
    return sum([abs(size - request.size) for request, size in zip(requests, sizes, strict=True)])


def _grant_remaining(requests: Sequence[SizeRequest], sizes: list[int], units: int) -> None:
    """Move `sizes` by `units` more. The wanted sizes need more than that."""

    def rank(place: int) -> tuple[float, int, str, int]:
        request, size = requests[place], sizes[place]
        return -request.need(size), -abs(request.wanted - size), request.name, place

    waiting = [rank(place) for place, request in enumerate(requests) if sizes[place] != request.wanted]
    heapify(waiting)
    for _ in range(units):
        place = waiting[0][-1]
        sizes[place] = requests[place].next(sizes[place])
        if sizes[place] == requests[place].wanted:
            heappop(waiting)
        else:
            heapreplace(waiting, rank(place))
