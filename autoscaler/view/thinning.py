"""Selects the points of a long series that a chart draws."""

from collections.abc import Sequence
from itertools import pairwise


def even(places: Sequence[int], count: int) -> Sequence[int]:
    """Return `count` of the places at even distances, from the first to the last."""
    if count <= 1:
        return places[:count]
    return [places[place * (len(places) - 1) // (count - 1)] for place in range(count)]


def thinned_places(values: Sequence[float | None], turns: Sequence[int], most: int) -> Sequence[int]:
    """Return at most `most` places of `values`, in order: first the `turns`, then the extremes of each stretch.

    This keeps every step and peak if there is room. `turns`: in rising order. None among the values: unknown.
    """
    if len(values) <= most:
        return range(len(values))
    if len(turns) >= most:
        return even(turns, most)
    stretches = (most - len(turns)) // 2
    bounds = [number * len(values) // stretches for number in range(stretches + 1)] if stretches else []
    found = set(turns)
    for begin, end in pairwise(bounds):
        known = [(value, place) for place in range(begin, end) if (value := values[place]) is not None]
        found |= {min(known)[1], max(known)[1]} if known else {begin}
    return sorted(found)
