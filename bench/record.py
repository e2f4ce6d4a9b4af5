"""What one cycle's `intend` and `record` cost: `python -m bench.record [AUTOSCALERS...]`.

Ten instances an autoscaler, one autoscaler in ten changes its size. Printed are the median of later cycles (they are
packed against the first), what `recall` costs after a restart, and the bytes a decision takes on disk.
"""

import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median

from autoscaler.decide import conclude, decide
from autoscaler.model import (
    Autoscaler,
    Decision,
    Instance,
    InstanceReading,
    Limits,
    MetricSpec,
    MetricTarget,
    MetricType,
    Observation,
    Phase,
    Query,
    Sample,
    TargetRef,
    TargetState,
    TargetType,
    Written,
)
from autoscaler.record import Store

_START = datetime(2026, 1, 1, tzinfo=UTC)
_PERIOD = timedelta(seconds=15)
_CYCLES = 5


def _scaler(number: int) -> Autoscaler:
    cpu = MetricSpec(
        MetricType.RESOURCE, "cpu", MetricTarget(TargetType.UTILIZATION, 60), Query("rate(cpu[2m])"), request=4000
    )
    return Autoscaler(f"web-{number:05}", TargetRef("fleet", f"web-asg-{number:05}"), 1, 100, (cpu,))


def _observation(number: int, now: datetime, cycle: int) -> Observation:
    started = _START - timedelta(hours=1 + number % 50)
    names = [f"i-{number:08x}{k:04x}" for k in range(10)]
    instances = tuple(
        Instance(
            name,
            Phase.RUNNING,
            ready=True,
            ready_transition=started,
            started_at=started,
            identities=frozenset({name, f"10.{number % 250}.3.{k}", f"10.{number % 250}.3.{k}:9100"}),
        )
        for k, name in enumerate(names)
    )
    busy = 3000 if number % 10 == cycle else 2400
    samples = {
        name: Sample(busy + (number * 7 + k * 31 + cycle * 13) % 90, now, 8 * _PERIOD) for k, name in enumerate(names)
    }
    reading = InstanceReading(samples, dict.fromkeys(names, 4000))
    return Observation(TargetState(10, 10, instances, Limits(1, 100, "the group's MinSize and MaxSize")), (reading,))


def _cycle(store: Store, scalers: Sequence[Autoscaler], cycle: int) -> tuple[float, float]:
    """Seconds of wall clock that `intend` and `record` took."""
    now = _START + cycle * _PERIOD
    histories = store.recall(scalers)
    observed: Mapping[str, Observation] = {
        scaler.name: _observation(number, now, cycle) for number, scaler in enumerate(scalers)
    }
    decisions: Sequence[Decision] = [
        decide(scaler, observed[scaler.name], histories[scaler.name], now) for scaler in scalers
    ]
    begin = time.perf_counter()
    store.intend(decisions)
    intended = time.perf_counter() - begin
    concluded = [conclude(made, Written(made.change.size) if made.change else None) for made in decisions]
    begin = time.perf_counter()
    store.record(observed, concluded)
    return intended, time.perf_counter() - begin


def measure(count: int) -> None:
    """Print one line for a number of autoscalers."""
    scalers = [_scaler(number) for number in range(count)]
    with tempfile.TemporaryDirectory() as folder:
        with Store.open(None, Path(folder), timedelta(days=30)) as store:
            first = _cycle(store, scalers, 0)
            times = [_cycle(store, scalers, cycle) for cycle in range(1, _CYCLES + 1)]
            after = store.size()
        with Store.open(None, Path(folder), timedelta(days=30)) as store:
            begin = time.perf_counter()
            store.recall(scalers)
            recalled = time.perf_counter() - begin
            body = (Path(folder) / "state.db").stat().st_size / after.rows["decision"]
    print(
        f"{count:>6} autoscalers: intend {median(t[0] for t in times) * 1000:.0f} ms, "
        f"record {median(t[1] for t in times) * 1000:.0f} ms (first cycle {first[1] * 1000:.0f} ms), "
        f"recall after a restart {recalled * 1000:.0f} ms, {body:.0f} bytes a decision"
    )


if __name__ == "__main__":
    for argument in sys.argv[1:] or ["1000", "10000"]:
        measure(int(argument))
