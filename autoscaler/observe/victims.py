"""Ranks the instances that a scale-in removes first."""

from collections.abc import Sequence
from datetime import datetime

from autoscaler.model import Instance, VictimOrder, VictimRule
from autoscaler.observe.answers import Answers
from autoscaler.observe.readings import instance_samples


def rank(rule: VictimRule, instances: Sequence[Instance], answers: Answers, now: datetime) -> tuple[str, ...]:
    """Return the names of all instances that are not being deleted, best victim first. Each has a `started_at`.

    With `least`, instances without a sample come last, because their load is unknown. Raises MetricError.
    """
    staying = sorted((each for each in instances if not each.deleting), key=lambda each: each.name)
    if rule.query is not None:
        samples = instance_samples(rule.query, staying, answers, now).samples
        staying.sort(
            key=lambda each: (each.name not in samples, samples[each.name].value if each.name in samples else 0)
        )
    else:
        staying.sort(key=lambda each: each.started_at or now, reverse=rule.select is VictimOrder.NEWEST)
    return tuple(each.name for each in staying)
