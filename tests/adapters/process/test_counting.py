"""A stopping worker does not count, so a pool settles like a ReplicaSet."""

import sys
from dataclasses import replace
from datetime import timedelta

import pytest

from autoscaler.decide import conclude, decide, remember
from autoscaler.model import Behavior, History, MetricType, Observation, TargetType, ValueReading
from autoscaler.model.spec import DEFAULT_SCALE_DOWN
from tests.adapters.process.conftest import Build
from tests.adapters.process.harness import poll
from tests.decide.build import NOW, metric, scaler

pytestmark = pytest.mark.slow
_NEVER_ENDS = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("armed", flush=True)
time.sleep(1000)
"""


def test_a_constant_load_settles_while_workers_take_their_time_to_end(build: Build) -> None:
    """Ten workers are right for a load of a hundred.

    When the stopping worker counted, the average over eleven was near enough, so eleven were desired; then ten of
    twelve; and so on: 11, 10, 11, 10.
    """
    harness = build(command=[sys.executable, "-Sc", _NEVER_ENDS], initialReplicas=11, gracePeriod="1h")
    harness.settle(11)
    poll(lambda: harness.log().count("armed") == 11, "all to ignore SIGTERM")
    at_once = Behavior(scale_down=replace(DEFAULT_SCALE_DOWN, stabilization_window=timedelta(0)))
    autoscaler = scaler(metric(MetricType.EXTERNAL, TargetType.AVERAGE_VALUE, 10_000), behavior=at_once)
    history, sizes = History(), []
    for cycle, load in enumerate([96, 100, 100, 100, 100, 100]):
        state = harness.observe()
        seen = Observation(state, (ValueReading((load * 1000,)),))
        decision = decide(autoscaler, seen, history, NOW + timedelta(seconds=15 * cycle))
        if decision.change is not None:
            decision = conclude(decision, harness.adapter.scale(harness.target, decision.change, harness.call()))
        history = remember(autoscaler, history, decision)
        sizes.append(decision.desired)
    assert sizes == [10] * 6
    assert [one.name for one in harness.observe().instances if one.deleting] == ["web-11"]
