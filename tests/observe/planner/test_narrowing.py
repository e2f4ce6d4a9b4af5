"""Asking for one value of a label instead of all returns the same samples."""

from collections.abc import Iterator

import pytest

from autoscaler.observe.planner import can_be_written, narrowing
from autoscaler.observe.result import QueryResult
from tests.observe.planner.fleet import GHOST, GROUPS, history
from tests.observe.planner.test_equality import Refused, Server, comparable
from tests.servers.prometheus import openmetrics, running_prometheus

# fmt: off
EQUAL = {
    "req": 'req{asg="v"}',
    "req{}": 'req{asg="v"}',
    'req{code="200"}': 'req{asg="v",code="200"}',
    '{__name__="req", asg!=""}': '{asg="v",__name__="req", asg!=""}',
    "rate(req[5m])": 'rate(req{asg="v"}[5m])',
    "req offset 1m # req{": 'req{asg="v"} offset 1m # req{',
    "sum by (asg) (rate(req[5m] offset 1m))": 'sum by (asg) (rate(req{asg="v"}[5m] offset 1m))',
    "sum(req) by (asg, instance)": 'sum(req{asg="v"}) by (asg, instance)',
    "sum without (instance) (req)": 'sum without (instance) (req{asg="v"})',
    "2 * req > bool 3": '2 * req{asg="v"} > bool 3',
    "max_over_time(sum by (asg) (rate(req[1m]))[5m:1m])": 'max_over_time(sum by (asg) (rate(req{asg="v"}[1m]))[5m:1m])',
    "sum by (asg) (req) / sum by (asg) (cap)": 'sum by (asg) (req{asg="v"}) / sum by (asg) (cap{asg="v"})',
    "req * on (asg, env, instance) group_left () cap":
        'req{asg="v"} * on (asg, env, instance) group_left () cap{asg="v"}',
    "req unless on (asg) (cap > 3)": 'req{asg="v"} unless on (asg) (cap{asg="v"} > 3)',
    "histogram_quantile(0.9, sum by (le, asg) (rate(lat_bucket[5m])))":
        'histogram_quantile(0.9, sum by (le, asg) (rate(lat_bucket{asg="v"}[5m])))',
    'label_replace(req, "x", "$1", "asg", "(.*)")': 'label_replace(req{asg="v"}, "x", "$1", "asg", "(.*)")',
}
# fmt: on
DIFFERENT = [
    "sum(req)",
    "sum by (instance) (req)",
    "sum without (asg) (req)",
    "topk(3, req)",
    "scalar(sum(cap)) * req",
    "vector(1)",
    "req or vector(0)",
    "sum by (asg) (req) / on () group_left () sum(cap)",
    'label_replace(req, "asg", "$1", "instance", "(.*)")',
    "absent(req)",
    'req or on (asg) {"odd name"',
    "req * on (instance) group_left (asg) cap",
]


@pytest.mark.parametrize(("expr", "narrowed"), EQUAL.items())
def test_a_matcher_is_added_to_every_selector(expr: str, narrowed: str) -> None:
    found = narrowing(expr, "asg")
    assert found
    assert found.to("v") == narrowed


def test_a_label_of_prometheus_3_is_written_in_quotes() -> None:
    """`k8s.pod.name="v"` is no PromQL."""
    found = narrowing('sum by ("k8s.pod.name") (req)', "k8s.pod.name")
    assert found is not None
    assert found.to("v") == 'sum by ("k8s.pod.name") (req{"k8s.pod.name"="v"})'


@pytest.mark.parametrize("expr", DIFFERENT)
def test_an_expression_with_possibly_different_samples_is_not_narrowed(expr: str) -> None:
    """One group's samples may depend on another's."""
    assert narrowing(expr, "asg") is None


@pytest.mark.parametrize(
    ("value", "can"), [("web", True), ('"\\', True), ("", False), ("a\nb", False), ("\x7f", False)]
)
def test_values_that_cannot_be_written_are_recognized(value: str, can: bool) -> None:
    assert can_be_written(value) is can


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running_prometheus(tmp_path_factory.mktemp("fleet"), history=openmetrics(history())) as found:
        yield Server(found.url)


@pytest.mark.slow
@pytest.mark.parametrize("expr", EQUAL)
def test_a_real_prometheus_returns_the_same_samples(server: Server, expr: str) -> None:
    """For every group, whatever its name contains."""
    found = narrowing(expr, "asg")
    assert found
    try:
        whole = server.answer(expr)
    except Refused:
        pytest.fail("it shows nothing")
    shown = 0
    for group in (*GROUPS, GHOST):
        points = tuple(point for point in whole.points if point.labels.get("asg") == group)
        shown += len(points)
        assert comparable(server.answer(found.to(group))) == comparable(QueryResult(whole.type, points))
    assert shown
