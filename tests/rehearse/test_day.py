"""The judge of the rehearsed day."""

from collections.abc import Callable

import pytest

from rehearse.day.measure import Sample
from rehearse.day.rehearsal import flat


@pytest.mark.parametrize(
    ("mebibytes", "kept"),
    [
        (lambda part: min(100 + 50 * part, 125), True),
        (lambda part: 100 + 20 * part, False),
        (lambda part: 100 if part < 0.75 else 104, False),
    ],
    ids=["full at noon", "a leak all day", "a leak in the evening"],
)
def test_the_judge_of_the_day_finds_a_leak(mebibytes: Callable[[float], float], kept: bool) -> None:
    samples = [Sample(minute / 1440, 1, mebibytes(minute / 1440), 30, 12, 0) for minute in range(1440)]
    assert flat(samples, "memory (MiB)", lambda sample: sample.mebibytes, 1.03).ok is kept
