"""Which questions a batch of autoscalers asks."""

from datetime import timedelta

from autoscaler.model import Fallback, MetricTarget, MetricType, Query, TargetType, VictimOrder, VictimRule
from autoscaler.observe.plan import Question, questions, with_queries
from tests.observe.build import metric, scaler

UTILIZATION = MetricTarget(TargetType.UTILIZATION, 60)


def test_one_expression_is_one_question_whoever_uses_whatever_part_of_it() -> None:
    """`match`, `instanceLabel` and `window` only say how an answer is used."""
    users = [
        scaler(metric(MetricType.PODS, Query("cpu", match=(("asg", name),), instance_label=name, window=timedelta(1))))
        for name in ("web", "api")
    ]
    assert questions(users) == (Question("default", "cpu"),)


def test_the_same_expression_for_two_sources_is_two_questions() -> None:
    """They hold different data."""
    users = [scaler(metric(MetricType.PODS, Query("cpu", prometheus=name))) for name in ("eu", "us")]
    assert questions(users) == (Question("eu", "cpu"), Question("us", "cpu"))


def test_everything_that_is_needed_is_asked() -> None:
    """Values, their ages, capacities, fallbacks, and what victims are ranked by."""
    cpu = metric(
        MetricType.RESOURCE,
        Query("cpu", max_age=timedelta(minutes=1)),
        target=UTILIZATION,
        request=Query("cores"),
        fallback=Fallback(query=Query("load")),
    )
    one = scaler(cpu, victims=VictimRule(VictimOrder.LEAST, Query("sessions")))
    assert [each.expr for each in questions([one])] == ["cpu", "timestamp(cpu\n)", "cores", "load", "sessions"]


def test_a_capacity_that_nothing_is_set_against_is_not_asked() -> None:
    """An AverageValue needs none."""
    assert [each.expr for each in questions([scaler(metric(MetricType.RESOURCE, "cpu", request=Query("cores")))])] == [
        "cpu"
    ]


def test_every_query_can_be_replaced() -> None:
    """A shared query in shards is asked by its shard wherever it is used."""
    cpu = metric(MetricType.RESOURCE, "q", target=UTILIZATION, request=Query("q"), fallback=Fallback(query=Query("q")))
    one = scaler(cpu, victims=VictimRule(VictimOrder.LEAST, Query("q")))
    replaced = with_queries(one, lambda _: Query("shard"))
    assert [each.expr for each in questions([replaced])] == ["shard"]
