"""Steps a second of `decide/` over the conformance scenarios, on one core, decoding excluded."""

import statistics
import time
from pathlib import Path
from typing import Final

from tests.conformance.compare import play
from tests.conformance.scenario import read

AIM_PER_SECOND: Final = 20_000
_FILE: Final = Path(__file__).resolve().parent.parent / "tests/conformance/data/hpa-1.36.jsonl.gz"
_ROUNDS: Final = 5


def per_second() -> float:
    """Median of several rounds. A step is decide, conclude and remember."""
    scenarios = list(read(_FILE))
    steps = sum(len(scenario.steps) for scenario in scenarios)
    rates = []
    for _ in range(_ROUNDS):
        begin = time.perf_counter()
        for scenario in scenarios:
            play(scenario)
        rates.append(steps / (time.perf_counter() - begin))
    return statistics.median(rates)
