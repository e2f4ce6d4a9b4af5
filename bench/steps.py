"""Steps a second of `decide/` over the conformance scenarios, on one core, decoding excluded."""

import gc
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
    """Return the median of several rounds, by CPU time. A step is decide, apply_outcome and remember."""
    scenarios = list(read(_FILE))
    gc.freeze()  # else the collector walks the decoded scenarios again and again, which is not part of deciding
    steps = sum(len(scenario.steps) for scenario in scenarios)
    rates = []
    for _ in range(_ROUNDS):
        begin = time.process_time()
        for scenario in scenarios:
            play(scenario)
        rates.append(steps / (time.process_time() - begin))
    return statistics.median(rates)
