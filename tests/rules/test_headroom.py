"""Spare instances beside those that metrics ask for."""

from datetime import timedelta
from pathlib import Path

import pytest

from autoscaler.config.loader import load
from autoscaler.errors import ConfigError
from autoscaler.model import (
    Autoscaler,
    Failure,
    InstanceReading,
    MetricType,
    Reason,
    Rules,
    TargetType,
)
from autoscaler.rules.fallback import Fallbacks
from autoscaler.rules.fallback.keys import MetricFallback
from autoscaler.rules.headroom import HEADROOM, Headroom
from autoscaler.rules.idle import IDLE, Idle
from tests.decide.build import CPU_60, QUEUE_15, Life, instances, metric, samples, scaler, state, value
from tests.decide.outage import CALM
from tests.replaced import replace

WORK = 15_000
"""Thousandths of the queue that one instance does."""
SESSIONS = metric(MetricType.OBJECT, TargetType.VALUE, 100_000)
PODS = metric(MetricType.PODS, TargetType.AVERAGE_VALUE, 10_000)


def spared(rule: Headroom, *metrics: object, minimum: int = 1, maximum: int = 1000) -> Autoscaler:
    """Return an autoscaler whose metrics decide at once."""
    one = scaler(*(metrics or (QUEUE_15,)), minimum=minimum, maximum=maximum, behavior=CALM)  # type: ignore[arg-type]
    return replace(one, rules=Rules([rule]))


def test_a_demand_of_100_with_2_spare_ones_stays_at_102() -> None:
    """Within the tolerance a metric proposes the current size; added to that, the spare ones would ratchet."""
    life = Life(spared(Headroom(replicas=2)), 60)
    sizes = []
    for _ in range(20):
        life.step(value(100 * WORK), after=60)
        sizes.append(life.size)
    assert sizes == [102] * 20


def test_a_size_within_the_tolerance_of_demand_and_spare_ones_stays() -> None:
    life = Life(spared(Headroom(replicas=2)), 100)
    assert life.step(value(100 * WORK)).desired == 100  # 102 of 100 is within 10 %


@pytest.mark.parametrize(("demand", "size"), [(10, 12), (11, 14), (1, 2)])
def test_a_share_of_the_demand_is_rounded_up(demand: int, size: int) -> None:
    life = Life(spared(Headroom(percent=20)), 50)
    assert life.step(value(demand * WORK)).desired == size


@pytest.mark.parametrize("size", [4, 7, 9])
@pytest.mark.parametrize("kind", ["pods", "value", "cpu"])
def test_metrics_of_every_kind_settle(kind: str, size: int) -> None:
    """A constant load is asked for once, with the same spare instances, and the size then stays."""
    spec = {"pods": PODS, "value": SESSIONS, "cpu": CPU_60}[kind]
    life, seen = Life(spared(Headroom(replicas=3), spec), size), []
    for _ in range(12):
        load = 60_000
        if kind == "pods":
            reading: object = samples([load // life.size] * life.size, life.now)
        elif kind == "cpu":
            reading = samples([600 * 6 // life.size] * life.size, life.now)
        else:
            reading = value(100_000 * 6 // life.size)
        life.step(reading, after=60)  # type: ignore[arg-type]
        seen.append(life.size)
    assert seen[-1] in (8, 9, 10), seen
    assert len(set(seen[2:])) == 1, seen


def test_headroom_is_a_step_of_its_own() -> None:
    made = Life(spared(Headroom(replicas=2)), 5).step(value(6 * WORK))
    assert [(step.source, step.before, step.after) for step in made.trace[:2]] == [("hpa", 5, 6), ("headroom", 6, 8)]
    assert made.trace[1].reason == HEADROOM
    assert made.metrics[0].proposal == 8
    assert made.metrics[0].detail == "90 in total, 15 for each; 6 needed and 2 spare"


def test_headroom_never_exceeds_the_maximum() -> None:
    made = Life(spared(Headroom(replicas=5), maximum=10), 5).step(value(9 * WORK))
    assert made.desired == 10
    assert [each.reason for each in made.trace].count(Reason.TOO_MANY_REPLICAS) == 1


def test_a_fallbacks_size_gets_none() -> None:
    """An operator wrote that size down."""
    one = spared(Headroom(replicas=2))
    one = replace(one, rules=one.rules.replaced(Fallbacks((MetricFallback(timedelta(seconds=30), replicas=9),))))
    life = Life(one, 5)
    life.step(Failure("no answer"))
    assert life.step(Failure("no answer"), after=30).desired == 9


def test_an_idle_target_gets_none() -> None:
    one = spared(Headroom(replicas=2), minimum=0)
    life = Life(replace(one, rules=one.rules.replaced(Idle(timedelta(seconds=60), (0,)))), 3)
    life.step(value(0))
    made = life.step(value(0), after=60)
    assert (made.desired, made.trace[-2].reason) == (0, IDLE)
    assert life.step(value(0), after=60).desired == 0


def test_a_metric_that_asks_for_nothing_gets_none() -> None:
    """A target with minReplicas 0 goes to zero although it has a headroom."""
    life = Life(spared(Headroom(replicas=2), minimum=0), 3)
    assert life.step(value(0)).desired == 0


def test_missing_samples_do_not_make_it_grow() -> None:
    """HPA keeps the size while assumptions reverse the direction; the spare ones on top of it would ratchet."""
    life, one = Life(spared(Headroom(replicas=2), PODS), 4), samples([11_500])
    assert isinstance(one, InstanceReading)
    sizes = []
    for _ in range(5):
        life.step(samples({"i-0": 11_500}, life.now), after=60, target=state(life.size, instances(life.size)))
        sizes.append(life.size)
    assert sizes == [4] * 5


FILE = """
adapters: {{local: {{type: process, pools: {{web: {{command: [/bin/sleep, "1"]}}}}}}}}
autoscalers:
  - name: web
    scaleTargetRef: {{adapter: local, name: web}}
    maxReplicas: 10
    headroom: {headroom}
    metrics:
      - type: External
        external: {{metric: {{name: q}}, query: {{expr: sum(q)}}, target: {{type: AverageValue, averageValue: 1}}}}
"""


@pytest.mark.parametrize(
    ("text", "rule"), [("{replicas: 2}", Headroom(replicas=2)), ("{percent: 20}", Headroom(percent=20))]
)
def test_the_file_has_either_number(text: str, rule: Headroom, tmp_path: Path) -> None:
    file = tmp_path / "autoscaler.yaml"
    file.write_text(FILE.format(headroom=text))
    assert load(file).autoscalers[0].rules.find(Headroom) == rule


@pytest.mark.parametrize("text", ["{}", "{replicas: 2, percent: 20}", "{percent: 0}", "{replicas: 1.5}", "2"])
def test_another_headroom_is_refused(text: str, tmp_path: Path) -> None:
    file = tmp_path / "autoscaler.yaml"
    file.write_text(FILE.format(headroom=text))
    with pytest.raises(ConfigError) as caught:
        load(file)
    assert all("headroom" in each.path for each in caught.value.problems)
