"""Observations with merged queries equal those with single ones, in a real Prometheus."""

from collections.abc import Iterator, Mapping
from datetime import timedelta

import pytest

from autoscaler.config.settings import PrometheusSource
from autoscaler.model import Autoscaler, MetricType, Observation, Query, TargetRef, VictimOrder, VictimRule
from autoscaler.observe import Connection, Observer
from autoscaler.observe.planner.rewrite import quoted
from autoscaler.target.contract import RecordingLogger
from tests.observe.build import CLOCK, FakeAdapter, call, instance, metric, scaler, state
from tests.observe.planner.fleet import GHOST, GROUPS, NOW, history
from tests.servers.prometheus import PrometheusServer, openmetrics, running_prometheus

pytestmark = pytest.mark.slow

TEMPLATES = (
    "req{asg=$}",
    'sum by (instance) (rate(req{asg=$,code="200"}[5m]))',
    "sum(req{asg=$}) or vector(0)",
    'sum(req{asg=$,code="500"}) / on () sum(req{asg=$})',
    "avg by (instance) (req{asg=$}) * on (instance) group_left () max by (instance) (cap{asg=$})",
    "histogram_quantile(0.9, sum by (le) (rate(lat_bucket{asg=$}[5m])))",
    "req{asg=$} * on (asg) cap{asg=$}",
    "topk(2, req{asg=$})",
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PrometheusServer]:
    with running_prometheus(tmp_path_factory.mktemp("fleet"), history=openmetrics(history())) as found:
        yield found


def fleet() -> list[Autoscaler]:
    """Return every kind of metric over every template, for each group, with its own expressions."""
    return [_scaler(number, group) for number, group in enumerate((*GROUPS, GHOST))]


def _scaler(number: int, group: str) -> Autoscaler:
    exprs = [template.replace("$", quoted(group)) for template in TEMPLATES]
    recent = Query(f"cap{{asg={quoted(group)}}}", max_age=timedelta(minutes=2))
    return scaler(
        *(metric(kind, expr) for expr in exprs for kind in (MetricType.PODS, MetricType.EXTERNAL)),
        metric(MetricType.PODS, recent),
        name=f"s{number}",
        target=TargetRef("fleet", f"s{number}"),
        victims=VictimRule(VictimOrder.LEAST, Query(exprs[0])),
    )


def look(server: PrometheusServer, *, merge: bool) -> tuple[Mapping[str, Observation], int]:
    """Run two cycles, and return the second one's observations and queries."""
    scalers, log, queries = fleet(), RecordingLogger(), list[object]()
    instances = [instance(f"i-{number}", ready_transition=NOW, started_at=NOW) for number in range(3)]
    adapter = FakeAdapter({each.target: state(*instances) for each in scalers})
    source = PrometheusSource(server.url, merge_queries=merge)
    observer = Observer(
        {"default": source},
        {"fleet": Connection("fleet", adapter, CLOCK, log)},
        CLOCK,
        log,
        lambda *query: queries.append(query),
    )
    try:
        observer.observe(scalers, call(60))
        before = len(queries)
        return observer.observe(scalers, call(60)).observations, len(queries) - before
    finally:
        observer.close()


def test_merged_queries_give_the_observations_of_single_ones(server: PrometheusServer) -> None:
    """Labels, values and errors are equal, whatever a group's name contains."""
    single, many = look(server, merge=False)
    merged, few = look(server, merge=True)
    assert many == 10 * len(fleet())
    assert few < many / 3
    assert {name: texts(seen) for name, seen in merged.items()} == {name: texts(seen) for name, seen in single.items()}


def texts(seen: Observation) -> tuple[list[str], tuple[str, ...]]:
    """Errors cannot be compared, so compare their texts."""
    return [repr(reading) for reading in seen.readings], seen.victims
