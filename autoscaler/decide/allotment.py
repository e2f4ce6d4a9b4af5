"""Who goes how far when not all of them can go as far as they want: the largest need first, unit by unit."""

import math
from collections.abc import Mapping, Sequence
from heapq import heapify, heappop, heapreplace
from typing import NamedTuple


class Want(NamedTuple):
    """A size that an autoscaler wants to leave, for a larger or a smaller one."""

    name: str
    """The autoscaler's."""
    size: int
    wanted: int

    @property
    def units(self) -> int:
        """How far it is."""
        return abs(self.wanted - self.size)

    def need(self, size: int) -> float:
        """How many times too small (scaling out), or too large (scaling in), a size on the way is.

        No instances at all are infinitely too few; a wanted size of 0 counts as 1.
        """
        if self.wanted > self.size:
            return self.wanted / size if size else math.inf
        return size / max(self.wanted, 1)

    def next(self, size: int) -> int:
        """The size a unit further on the way."""
        return size + (1 if self.wanted > self.size else -1)

    def until(self, need: float) -> int:
        """The first size on the way whose need is no more than this, which is at least 1 and not infinite."""
        out = self.wanted > self.size
        size = math.ceil(self.wanted / need) - 1 if out else math.floor(need * max(self.wanted, 1)) + 1
        size = min(self.wanted, max(self.size, size)) if out else max(self.wanted, min(self.size, size))
        while size != self.wanted and self.need(size) > need:  # begun a unit too early: such a quotient is rounded
            size = self.next(size)
        return size


def allot(wants: Sequence[Want], units: int) -> Mapping[str, int]:
    """The size that each may go to, by name, so that all of them together move by at most so many units.

    Each unit goes to whoever has the largest need at that moment, so that the largest need that is left is as small as
    it can be. Of equal needs the one that is further from its wanted size comes first, then the first by name.
    """
    if sum([want.units for want in wants]) <= max(0, units):
        return {want.name: want.wanted for want in wants}
    sizes = _down_to_one_need(wants, units)
    _one_by_one(wants, sizes, units - _moved(wants, sizes))
    return {want.name: size for want, size in zip(wants, sizes, strict=True)}


def _down_to_one_need(wants: Sequence[Want], units: int) -> list[int]:
    """The sizes at the smallest need that so many units can bring all of them down to.

    A step for each unit would do as well, but sizes may be in the millions.
    """
    enough, too_many = 2.0 * max([max(want.size, want.wanted) for want in wants]), 1.0
    sizes = [want.until(enough) for want in wants]  # a unit for each that has no instance
    if _moved(wants, sizes) > units:
        return [want.size for want in wants]
    while too_many < (need := (enough + too_many) / 2) < enough:
        reached = [want.until(need) for want in wants]
        if _moved(wants, reached) > units:
            too_many = need
        else:
            enough, sizes = need, reached
    return sizes


def _moved(wants: Sequence[Want], sizes: Sequence[int]) -> int:
    return sum([abs(size - want.size) for want, size in zip(wants, sizes, strict=True)])


def _one_by_one(wants: Sequence[Want], sizes: list[int], units: int) -> None:
    """Move `sizes` by so many units more, fewer than it takes to the wanted ones."""

    def rank(place: int) -> tuple[float, int, str, int]:
        want, size = wants[place], sizes[place]
        return -want.need(size), -abs(want.wanted - size), want.name, place

    waiting = [rank(place) for place, want in enumerate(wants) if sizes[place] != want.wanted]
    heapify(waiting)
    for _ in range(units):
        place = waiting[0][-1]
        sizes[place] = wants[place].next(sizes[place])
        if sizes[place] == wants[place].wanted:
            heappop(waiting)
        else:
            heapreplace(waiting, rank(place))
