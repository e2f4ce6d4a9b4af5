"""How long `autoscaler check` takes, interpreter included."""

import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

AIM_SECONDS: Final = 0.4
_CONFIG: Final = Path(__file__).resolve().parent.parent / "config/demo.yaml"
_RUNS: Final = 9


def seconds() -> float:
    """Return the median seconds of several runs on the demo's configuration, without the first, which may compile."""
    command = [str(Path(sys.executable).with_name("autoscaler")), "check", str(_CONFIG)]
    times = []
    for _ in range(_RUNS + 1):
        begin = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        times.append(time.perf_counter() - begin)
    return statistics.median(times[1:])
