"""One of two Prometheus servers answers wrongly in every way that we know of: only its own autoscalers suffer."""

import math
import time
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import pytest

from tests.daemon.hostile_answers import ANSWERS, hostile_prometheus
from tests.daemon.running import autoscaler, external, running_daemon, write_config
from tests.daemon.state import records

pytestmark = pytest.mark.slow

_STEP_SECONDS: Final = 6
"""The good one's load grows by one replica in each."""
_MOST_MIB: Final = 400
_IDLE_MIB: Final = 200
"""Twice what the daemon takes when it reads small answers."""


def victim() -> dict[str, Any]:
    """An autoscaler that asks the hostile one five things each cycle, two of them for the ages of samples."""
    pods = {"metric": {"name": "each"}, "query": {"expr": "each", "prometheus": "hostile"}}
    metrics: list[dict[str, Any]] = [
        {"type": "Pods", "pods": pods | {"target": {"type": "AverageValue", "averageValue": 1}}}
    ]
    for name in ("first", "second"):
        metrics.append(external(name))
        metrics[-1]["external"]["query"] |= {"prometheus": "hostile", "maxAge": "1m"}
    return autoscaler("victim", "", metrics=metrics, syncPeriod="2s")


def memory_mib(pid: int, key: str) -> float:
    """`VmRSS` or `VmHWM`, the most there has been."""
    (line,) = [line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith(key)]
    return int(line.split()[1]) / 1024


def test_no_answer_costs_more_than_its_own_autoscaler(folder: Path, prometheus: str) -> None:
    """Two autoscalers on one connection: whatever the one is answered, the other follows its load in every cycle."""
    began = int(time.time())
    load = f"clamp_max(ceil(vector((time() - {began} + 1) / {_STEP_SECONDS})), 5)"

    def wanted(now: datetime) -> int:
        return min(math.ceil((now.timestamp() - began + 1) / _STEP_SECONDS), 5)

    with hostile_prometheus() as hostile:
        sources = {"default": {"url": prometheus}, "hostile": {"url": hostile.url, "timeout": "1s"}}
        config = write_config(folder, sources, [victim(), autoscaler("good", load, syncPeriod="2s")])
        with running_daemon(config) as daemon:
            daemon.until(lambda: hostile.rounds >= 1, f"{len(ANSWERS)} answers")
            daemon.until(lambda: memory_mib(daemon.process.pid, "VmRSS") < _IDLE_MIB, "memory given back")
            peak = memory_mib(daemon.process.pid, "VmHWM")
            assert daemon.stop() == 0
            log = daemon.log
    assert peak < _MOST_MIB
    assert not [line for line in log if line["event"] == "cycle_failed" or line["level"] == "error"]
    decisions = {name: [record.decision for record in records(folder, name)] for name in ("good", "victim")}
    assert len(decisions["good"]) == len(decisions["victim"]) >= len(ANSWERS) / 5
    assert [each.desired for each in decisions["good"]] == [wanted(each.now) for each in decisions["good"]]
    assert max(len(str(line)) for line in log) < 8000
    assert (folder / "state" / "state.db").stat().st_size < 2**20
