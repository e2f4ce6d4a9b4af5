"""The order in which instances are removed."""

import pytest

from autoscaler.errors import MetricError
from autoscaler.model import Query, VictimOrder, VictimRule
from autoscaler.observe.answers import Answers
from autoscaler.observe.failure import QueryFailure
from autoscaler.observe.observation import rank
from tests.observe.build import NOW, ago, answers, instance, point, vector

OLD = instance("old", started_at=ago(300))
MIDDLE = instance("middle", started_at=ago(200))
NEW = instance("new", started_at=ago(100))


@pytest.mark.parametrize(
    ("order", "names"), [(VictimOrder.OLDEST, ("old", "middle", "new")), (VictimOrder.NEWEST, ("new", "middle", "old"))]
)
def test_instances_are_ranked_by_age(order: VictimOrder, names: tuple[str, ...]) -> None:
    """An operator who selects `oldest` must not lose the newest."""
    assert rank(VictimRule(order), [MIDDLE, OLD, NEW], Answers({}), NOW) == names


def test_an_instance_being_deleted_is_no_victim() -> None:
    """Naming it again would remove one instance fewer than decided."""
    assert rank(VictimRule(VictimOrder.OLDEST), [instance("gone", deleting=True), OLD], Answers({}), NOW) == ("old",)


def test_least_loaded_instances_leave_first_and_those_without_samples_last() -> None:
    """An instance without a sample has an unknown load."""
    result = answers(vector(point(5, instance="old"), point(1, instance="new")))
    rule = VictimRule(VictimOrder.LEAST, Query("q"))
    assert rank(rule, [MIDDLE, OLD, NEW], Answers(result), NOW) == ("new", "old", "middle")


def test_equal_instances_are_ranked_by_name() -> None:
    """A repeated decision must name the same instances."""
    twins = [instance("b", started_at=NOW), instance("a", started_at=NOW)]
    assert rank(VictimRule(VictimOrder.OLDEST), twins, Answers({}), NOW) == ("a", "b")


def test_a_failed_query_ranks_nothing() -> None:
    """Half a ranking would look like a whole one."""
    with pytest.raises(MetricError, match="down"):
        rank(VictimRule(VictimOrder.LEAST, Query("q")), [OLD], Answers(answers(QueryFailure("down"))), NOW)
