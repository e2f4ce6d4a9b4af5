"""A week of load for Prometheus: days and nights, spikes, and a batch every night."""

import math
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Final, TextIO

PERIOD: Final = timedelta(seconds=15)
INSTANCES: Final = 20
NAME: Final = "web"
"""The sync period of the autoscaler."""
CYCLES: Final = 7 * 24 * 3600 // 15
"""The cycles of a week."""
_SECONDS: Final = PERIOD.total_seconds()
_DAY: Final = 24 * 3600
_SPIKES_PER_DAY: Final = 6
_SPIKE_LEFT: Final = 0.98
"""The part of a spike that is left after each cycle: it ends after some ten minutes."""
_BATCH: Final = (2 * 3600, 4 * 3600)
"""The seconds of each day in which the batch runs."""


def totals(begin: datetime, count: int, seed: int = 7) -> Iterator[float]:
    """Return the pool's load at each cycle, in busy processors: 2 at night, 8 by day, with spikes and the batch."""
    chance, spike = Random(seed), 0.0
    for number in range(count):
        second = (begin.timestamp() + number * _SECONDS) % _DAY
        daily = 5 - 3 * math.cos(2 * math.pi * (second / _DAY - 1 / 6))
        if chance.random() < _SPIKES_PER_DAY * _SECONDS / _DAY:
            spike = chance.uniform(2, 5)
        spike *= _SPIKE_LEFT
        batch = 4.0 if _BATCH[0] <= second < _BATCH[1] else 0.0
        yield (daily + spike + batch) * chance.uniform(0.97, 1.03)


def write(file: Path, begin: datetime, count: int = CYCLES) -> None:
    """Return OpenMetrics text: each instance's counter of busy seconds, and the size, at each cycle from `begin` on."""
    work = list(totals(begin, count))
    with file.open("w") as out:
        out.write("# TYPE app_busy_seconds counter\n")
        for number in range(INSTANCES):
            _counter(out, number, begin, work)
        out.write("# TYPE autoscaler_current_replicas gauge\n")
        size = f'autoscaler_current_replicas{{autoscaler="{NAME}"}} {INSTANCES}'
        out.writelines(f"{size} {_time(begin, cycle)}\n" for cycle in range(count))
        out.write("# EOF\n")


def _counter(out: TextIO, number: int, begin: datetime, work: Sequence[float]) -> None:
    """Return each instance's share, which differs a little from the others'."""
    share, value = (1 + 0.1 * math.sin(number)) / INSTANCES, 0.0
    for cycle, busy in enumerate(work):
        value += busy * share * _SECONDS
        out.write(f"app_busy_seconds_total{_labels(number)} {value:.3f} {_time(begin, cycle)}\n")


def _labels(number: int) -> str:
    return f'{{job="web",instance="10.0.0.{number}:80"}}'


def _time(begin: datetime, cycle: int) -> str:
    return f"{begin.timestamp() + cycle * _SECONDS:.0f}"
