"""How long /metrics takes to write with 2,000 autoscalers: `python -m bench.exposition`."""

import statistics
import time
from typing import Final

from autoscaler.metrics.text import exposition
from tests.decisions import bounds, decision
from tests.metrics.exposed import Shown

AIM_MILLISECONDS: Final = 500
AUTOSCALERS: Final = 2_000
_RUNS: Final = 7


def main() -> None:
    """Print the figure beside its aim."""
    print(f"/metrics of {AUTOSCALERS:,}: {milliseconds():.0f} ms   aim: under {AIM_MILLISECONDS} ms")


def milliseconds() -> float:
    """Return the median seconds of several expositions, without the HTTP server."""
    names = [f"web-{number}" for number in range(AUTOSCALERS)]
    shown = Shown(*names)
    shown.ended(*[decision(name, bounds=bounds(1, 10)) for name in names])
    times = []
    for _ in range(_RUNS):
        began = time.perf_counter()
        exposition(shown.registry)
        times.append(time.perf_counter() - began)
    return statistics.median(times) * 1000


if __name__ == "__main__":
    main()
