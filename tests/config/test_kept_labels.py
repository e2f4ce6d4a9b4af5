"""The labels that the samples of an expression can have, and the warning if none identifies an instance."""

import pytest

from autoscaler.fields.promql import parse
from tests.config.conftest import Load

HEAD = "adapters: {a: {type: groups}}\nqueries: {all: {expr: sum(load)}}\nautoscalers:\n"
SCALER = (
    "- {{name: {name}, scaleTargetRef: {{adapter: a, name: job/{name}}}, maxReplicas: 2, metrics: [{{type: Pods, pods: "
    "{{metric: {{name: load}}, query: {query}, target: {{type: AverageValue, averageValue: 1}}}}}}]}}\n"
)
NAMELESS = (
    "the query's samples have no label {}, which would name an instance; "
    "write sum by ({}) (…), or use a metric of type External"
)
ANY = NAMELESS.format("alloc_id or task_id or container_id or instance_id or instance", "instance")
OF_PODS = NAMELESS.format("pod", "pod")


@pytest.mark.parametrize(
    ("expr", "labels"),
    [
        ("load", None),
        ("rate(load[1m])", None),
        ("sum(load)", ""),
        ("-sum(load) / 2", ""),
        ("100 * (1 - avg by (instance) (load))", "instance"),
        ("sum without (job) (load)", None),
        ("sum without (job) (sum by (job, zone) (load))", "zone"),
        ("topk(3, load)", None),
        ("topk(3, sum by (job) (load))", "job"),
        ('count_values("version", build)', None),
        ("sum(load) or vector(0)", ""),
        ("sum(load) or load", None),
        ("load and on () vector(1)", None),
        ("sum(load) unless load", ""),
        ("load / sum(load)", ""),
        ("load / ignoring (job) sum by (zone) (load)", "zone"),
        ("load / on (job, zone) load", "job zone"),
        ("sum by (job) (load) * on (job) group_left (zone) info", "job zone"),
        ("load * on (job) group_left () sum by (job) (load)", None),
        ('label_replace(sum(load), "instance", "a", "", "")', None),
        ("max_over_time(sum(load)[5m:1m])", ""),
        ("histogram_quantile(0.9, sum by (le) (rate(load_bucket[1m])))", ""),
        ("clamp_max(sum(load), scalar(most))", ""),
        ("+".join(["sum(load)"] * 300), ""),
    ],
)
def test_an_expression_keeps_these_labels(expr: str, labels: str | None) -> None:
    """If PromQL's rules leave a doubt, any label may be kept: a wrong warning is worse than none."""
    assert parse(expr).labels == (None if labels is None else frozenset(labels.split()))


@pytest.mark.parametrize(
    ("query", "path", "message"),
    [
        ("{expr: sum(load)}", "expr", ANY),
        ("{expr: 'sum by (pod) (load)'}", "expr", ANY),
        ("{expr: 'sum by (instance) (load)', instanceLabel: pod}", "expr", OF_PODS),
        ("{ref: all}", "ref", ANY),
        ("{expr: sum by (pod) (load), instanceLabel: pod}", None, None),
        ("{expr: sum by (alloc_id) (load)}", None, None),
        ("{expr: load}", None, None),
    ],
)
def test_a_query_without_the_instance_label_is_found(
    load_text: Load, query: str, path: str | None, message: str | None
) -> None:
    """It is no error, because another metric of the autoscaler may work."""
    hints = load_text(HEAD + SCALER.format(name="web", query=query)).without_instance
    found = [(each.path, each.message) for each in hints]
    assert found == ([] if path is None else [(f"autoscalers[0].metrics[0].pods.query.{path}", message)])


def test_a_request_without_the_instance_label_is_found(load_text: Load) -> None:
    """It is joined with the instances, too."""
    metric = "{type: Resource, resource: {name: cpu, query: {expr: load}, request: {query: {expr: sum(load)}}, target: "
    text = (
        SCALER.partition("[")[0].format(name="web") + "[" + metric + "{type: Utilization, averageUtilization: 60}}}]}\n"
    )
    (hint,) = load_text(HEAD + text).without_instance
    assert hint.path == "autoscalers[0].metrics[0].resource.request.query.expr"


def test_a_fallbacks_query_without_the_instance_label_is_found(load_text: Load) -> None:
    """Otherwise the operator notices it when the fallback is needed."""
    text = SCALER.format(name="web", query="{expr: load}, fallback: {query: {expr: sum(load)}}")
    (hint,) = load_text(HEAD + text).without_instance
    assert hint.path == "autoscalers[0].metrics[0].pods.fallback.query.expr"


def test_an_external_metric_may_aggregate(load_text: Load) -> None:
    query = "{expr: sum(load)}"
    text = SCALER.format(name="web", query=query).replace("Pods, pods:", "External, external:")
    assert load_text(HEAD + text).without_instance == ()
