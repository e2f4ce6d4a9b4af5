"""Which points of a long series are drawn."""

from collections.abc import Sequence
from itertools import pairwise


def even(places: Sequence[int], count: int) -> Sequence[int]:
    """`count` of them, from the first to the last."""
    if count <= 1:
        return places[:count]
    return [places[place * (len(places) - 1) // (count - 1)] for place in range(count)]


def thinned_places(values: Sequence[float | None], turns: Sequence[int], most: int) -> Sequence[int]:
    """At most `most` places of `values`, in order: the `turns` first, then of each stretch the highest and the lowest.

    So no step and no peak is lost as long as there is room. `turns`: rising. None: not known, and no peak.
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
