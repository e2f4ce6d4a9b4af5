"""Makes one autoscaler's observation from its target's state and the answers to its questions."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime

from autoscaler.errors import TargetError
from autoscaler.model import Autoscaler, Failure, Instance, MetricSpec, Observation, Reading, TargetState
from autoscaler.observe.answers import Answers
from autoscaler.observe.readings import read


def observation(
    scaler: Autoscaler,
    state: TargetState | TargetError,
    answers: Answers,
    now: datetime,
    victims: Callable[[Sequence[Instance]], tuple[str, ...]] = lambda _: (),
) -> Observation:
    """Return the observation at `now`. `victims` ranks the instances to remove first."""
    instances: tuple[Instance, ...] = () if isinstance(state, TargetError) else state.instances
    return Observation(
        target=state,
        readings=tuple([read(metric, instances, answers, now) for metric in scaler.metrics]),
        victims=victims(instances),
        fallbacks=_fallbacks(scaler, instances, answers, now),
    )


def _fallbacks(
    scaler: Autoscaler, instances: Sequence[Instance], answers: Answers, now: datetime
) -> tuple[Reading | Failure | None, ...]:
    """Return the readings of the fallbacks' queries. They run in every cycle, so that a broken one is noticed early."""
    for metric in scaler.metrics:
        if metric.fallback is not None and metric.fallback.query is not None:
            return tuple([_fallback(metric, instances, answers, now) for metric in scaler.metrics])
    return ()


def _fallback(
    metric: MetricSpec, instances: Sequence[Instance], answers: Answers, now: datetime
) -> Reading | Failure | None:
    if metric.fallback is None or metric.fallback.query is None:
        return None
    return read(replace(metric, query=metric.fallback.query), instances, answers, now)
