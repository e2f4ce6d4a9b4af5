"""Series of values in promtool's notation.

Source: prometheus.io/docs/prometheus/latest/configuration/unit_testing_rules, "<series>".
"""

import re
from bisect import bisect_right
from typing import Final, NamedTuple

_NUMBER: Final = r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]{1,3})?"
_ITEM: Final = re.compile(
    rf"(?P<first>[-+]?(?:{_NUMBER}|Inf)|NaN)(?P<step>[-+]{_NUMBER}(?=x))?(?:x(?P<more>[0-9]{{1,12}}))?", re.ASCII
)
_GAP: Final = re.compile(r"(?:_(?:x(?P<count>[0-9]{1,12}))?|stale)", re.ASCII)
_FORM: Final = "write it as promtool does: 5, 0+10x20, 100-5x10, 7x30, _ or stale"


class _Run(NamedTuple):
    """Some values of a series."""

    first: float | None
    """None: there is no sample."""
    step: float
    length: int


class Values:
    """A series. It keeps what is written, so that `0+1x1000000000` takes no more memory than `0`."""

    def __init__(self, text: str) -> None:
        """Raises ValueError for another notation."""
        self._runs: Final = list[_Run]()
        self._ends: Final = list[int]()
        """For each run, the number of values up to its end."""
        for item in text.split():
            run = _run(item)
            if run.length:
                self._runs.append(run)
                self._ends.append(run.length + (self._ends[-1] if self._ends else 0))
        if not self._runs:
            raise ValueError(f"there are no values; {_FORM}")

    def __call__(self, index: int) -> float | None:
        """Return the value with this index, from 0, or None without a sample. The last value stays."""
        index = min(index, self._ends[-1] - 1)
        place = bisect_right(self._ends, index)
        run = self._runs[place]
        if run.first is None:
            return None
        return run.first + run.step * (index - (self._ends[place] - run.length))


def _run(item: str) -> _Run:
    gap = _GAP.fullmatch(item)
    if gap is not None:
        return _Run(None, 0, int(gap["count"] or 1))
    found = _ITEM.fullmatch(item)
    if found is None:
        raise ValueError(f"{item[:64]!r} is not a value; {_FORM}")
    return _Run(float(found["first"]), float(found["step"] or 0), int(found["more"] or 0) + 1)
