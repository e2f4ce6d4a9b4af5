"""The questions of a batch of autoscalers."""

from datetime import timedelta

from autoscaler.model import MetricTarget, MetricType, Query, TargetType, VictimOrder, VictimRule
from autoscaler.observe.plan import Question, questions, with_queries
from autoscaler.rules.fallback.keys import MetricFallback
from tests.observe.build import fallbacks, metric, scaler

UTILIZATION = MetricTarget(TargetType.UTILIZATION, 60)


def test_one_expression_is_one_question_for_all_its_users() -> None:
    """`match`, `instanceLabel` and `window` only affect how an answer is used."""
    users = [
        scaler(metric(MetricType.PODS, Query("cpu", match=(("asg", name),), instance_label=name, window=timedelta(1))))
        for name in ("web", "api")
    ]
    assert questions(users) == (Question("default", "cpu"),)


def test_the_same_expression_for_two_sources_is_two_questions() -> None:
    """The sources have different data."""
    users = [scaler(metric(MetricType.PODS, Query("cpu", prometheus=name))) for name in ("eu", "us")]
    assert questions(users) == (Question("eu", "cpu"), Question("us", "cpu"))


def test_every_needed_question_is_asked() -> None:
    """Values, their ages, capacities, fallbacks, and the ranking of victims."""
    cpu = metric(
        MetricType.RESOURCE,
        Query("cpu", max_age=timedelta(minutes=1)),
        target=UTILIZATION,
        request=Query("cores"),
    )
    rules = fallbacks(MetricFallback(query=Query("load")))
    one = scaler(cpu, victims=VictimRule(VictimOrder.LEAST, Query("sessions")), rules=rules)
    assert [each.expr for each in questions([one])] == ["cpu", "timestamp(cpu\n)", "cores", "load", "sessions"]


def test_an_unused_capacity_is_not_asked() -> None:
    """An AverageValue needs no capacity."""
    assert [each.expr for each in questions([scaler(metric(MetricType.RESOURCE, "cpu", request=Query("cores")))])] == [
        "cpu"
    ]


def test_every_query_can_be_replaced() -> None:
    """A replay asks another source wherever a query is used."""
    cpu = metric(MetricType.RESOURCE, "q", target=UTILIZATION, request=Query("q"))
    rules = fallbacks(MetricFallback(query=Query("q")))
    one = scaler(cpu, victims=VictimRule(VictimOrder.LEAST, Query("q")), rules=rules)
    replaced = with_queries(one, lambda _: Query("shard"))
    assert [each.expr for each in questions([replaced])] == ["shard"]
