"""Makes one autoscaler's observation from its target's state and the answers to its questions."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime

from autoscaler.errors import MetricError, TargetError, bug
from autoscaler.model import (
    Autoscaler,
    CivilTime,
    Failure,
    Instance,
    Observation,
    Reading,
    TargetState,
    VictimOrder,
    VictimRule,
)
from autoscaler.observe.answers import Answers
from autoscaler.observe.readings import instance_samples, read
from autoscaler.rules.fallback import fallback_queries


def observation(
    scaler: Autoscaler,
    state: TargetState | TargetError,
    answers: Answers,
    now: datetime,
    civil: CivilTime,
    unranked: Callable[[str], object] = lambda _: None,
) -> Observation:
    """Return the observation at `now`. `unranked` is called with the reason if victims cannot be ranked."""
    instances: tuple[Instance, ...] = () if isinstance(state, TargetError) else state.instances
    return Observation(
        target=state,
        readings=tuple([read(metric, instances, answers, now) for metric in scaler.metrics]),
        victims=_victims(scaler, instances, answers, now, unranked),
        fallbacks=_fallbacks(scaler, instances, answers, now),
        civil=civil,
    )


def _fallbacks(
    scaler: Autoscaler, instances: Sequence[Instance], answers: Answers, now: datetime
) -> tuple[Reading | Failure | None, ...]:
    """Return the readings of the fallbacks' queries. They run in every cycle, so that a broken one is noticed early."""
    queries = fallback_queries(scaler)
    if not any(queries):
        return ()
    return tuple(
        [
            None if query is None else read(replace(metric, query=query), instances, answers, now)
            for metric, query in zip(scaler.metrics, queries, strict=True)
        ]
    )


def _victims(
    scaler: Autoscaler,
    instances: Sequence[Instance],
    answers: Answers,
    now: datetime,
    unranked: Callable[[str], object],
) -> tuple[str, ...]:
    """Return the order in which a scale-in removes instances; empty if the back end is to choose."""
    if scaler.victims is None:
        return ()
    try:
        return rank(scaler.victims, instances, answers, now)
    except MetricError as error:
        unranked(str(error))
    except Exception as error:  # noqa: BLE001 - as for readings
        unranked(bug(error))
    return ()


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
