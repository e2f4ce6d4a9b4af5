"""Divides a limited number of units among autoscalers that want to change their size: the largest need first."""

import math
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


def allocate(requests: Sequence[SizeRequest], units: int) -> Mapping[str, int]:
    """Return the size granted to each autoscaler, by name. All sizes together change by at most `units`.

    Each unit goes to the autoscaler with the largest need at that moment. Equal needs are ordered by distance from the
    wanted size, then by name.
    """
    if sum([request.units for request in requests]) <= max(0, units):
        return {request.name: request.wanted for request in requests}
    sizes = [request.size for request in requests]

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
    return {request.name: size for request, size in zip(requests, sizes, strict=True)}
