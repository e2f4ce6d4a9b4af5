"""Which instances leave first."""

import pytest

from autoscaler.errors import MetricError
from autoscaler.model import Query, VictimOrder, VictimRule
from autoscaler.observe.answers import Answers
from autoscaler.observe.victims import rank
from tests.observe.build import NOW, ago, answers, instance, point, vector

OLD = instance("old", started_at=ago(300))
MIDDLE = instance("middle", started_at=ago(200))
NEW = instance("new", started_at=ago(100))


@pytest.mark.parametrize(
    ("order", "names"), [(VictimOrder.OLDEST, ("old", "middle", "new")), (VictimOrder.NEWEST, ("new", "middle", "old"))]
)
def test_instances_are_ranked_by_age(order: VictimOrder, names: tuple[str, ...]) -> None:
    """Whoever asks for the oldest to go must not lose the newest."""
    assert rank(VictimRule(order), [MIDDLE, OLD, NEW], Answers({}), NOW) == names


def test_what_is_leaving_already_is_no_victim() -> None:
    """Naming it again would remove one instance less than decided."""
    assert rank(VictimRule(VictimOrder.OLDEST), [instance("gone", deleting=True), OLD], Answers({}), NOW) == ("old",)


def test_the_least_loaded_leave_first_and_the_unmeasured_last() -> None:
    """Nothing is known that speaks for removing an instance without a sample."""
    result = answers(vector(point(5, instance="old"), point(1, instance="new")))
    rule = VictimRule(VictimOrder.LEAST, Query("q"))
    assert rank(rule, [MIDDLE, OLD, NEW], Answers(result), NOW) == ("new", "old", "middle")


def test_equals_are_ranked_by_name() -> None:
    """A decision that is made again must name the same instances."""
    twins = [instance("b", started_at=NOW), instance("a", started_at=NOW)]
    assert rank(VictimRule(VictimOrder.OLDEST), twins, Answers({}), NOW) == ("a", "b")


def test_a_failed_query_ranks_nothing() -> None:
    """Half a ranking would look like a whole one."""
    with pytest.raises(MetricError, match="down"):
        rank(VictimRule(VictimOrder.LEAST, Query("q")), [OLD], Answers(answers(MetricError("down"))), NOW)
