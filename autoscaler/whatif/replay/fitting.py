"""Finds the readings of a candidate among those that were recorded for another configuration."""

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from autoscaler.model import Autoscaler, Failure, MetricSpec, Observation, Query, Reading, TargetType
from autoscaler.rules.fallback import fallback_queries
from autoscaler.whatif.past.past import Cycle


class Fitting:
    """Puts the readings of recorded cycles in the order of a candidate's metrics.

    Two metrics have the same reading if they have the same type, query and container, and for Utilization the same
    capacities. Names and targets do not matter.
    """

    def __init__(self, candidate: Autoscaler) -> None:
        self._candidate: Final = candidate
        self._recorded: Autoscaler | None = None
        """The last configuration, which rarely changes; below is what is known of it."""
        self._same_metrics = False
        """Whether both have the same metrics in the same order."""
        self._readings: Sequence[int | None] = ()
        """For each metric of the candidate the place of its reading among the recorded ones; None if there is none."""
        self._fallbacks: Sequence[int | None] = ()
        """The same for the queries of fallbacks."""

    def missing(self, recorded: Autoscaler) -> tuple[MetricSpec, ...]:
        """Return the metrics of the candidate that `recorded` did not query, so that the past has no values of them."""
        self._find_places(recorded)
        return tuple(
            [spec for spec, place in zip(self._candidate.metrics, self._readings, strict=True) if place is None]
        )

    def fit(self, cycle: Cycle) -> Observation:
        """Return the cycle's observation with the readings of the candidate's metrics, in their order.

        A metric that the daemon did not query at that time has an error instead.
        """
        candidate, observed = self._candidate, cycle.observation
        self._find_places(cycle.scaler)
        if candidate.victims != cycle.scaler.victims and observed.victims:
            observed = replace(observed, victims=())
        if self._same_metrics:
            return observed
        readings = [
            _not_queried(spec.query) if place is None else observed.readings[place]
            for spec, place in zip(candidate.metrics, self._readings, strict=True)
        ]
        fallbacks: list[Reading | Failure | None] = [
            None if query is None else _not_queried(query) if place is None else observed.fallbacks[place]
            for query, place in zip(fallback_queries(candidate), self._fallbacks, strict=True)
        ]
        has_fallback = any(each is not None for each in fallbacks)
        return replace(observed, readings=tuple(readings), fallbacks=tuple(fallbacks) if has_fallback else ())

    def _find_places(self, recorded: Autoscaler) -> None:
        if self._recorded is recorded:
            return
        mine, theirs = self._candidate.metrics, recorded.metrics
        own, others = fallback_queries(self._candidate), fallback_queries(recorded)
        self._recorded, self._same_metrics = recorded, (mine, own) == (theirs, others)
        self._readings = [
            next((place for place, known in enumerate(theirs) if _same_reading(spec, known)), None) for spec in mine
        ]
        self._fallbacks = [
            next(
                (
                    place
                    for place, (known, other) in enumerate(zip(theirs, others, strict=True))
                    if (spec.type, query) == (known.type, other)
                ),
                None,
            )
            for spec, query in zip(mine, own, strict=True)
        ]


def _not_queried(query: Query) -> Failure:
    return Failure(f"{query.expr}: the daemon did not send this query at that time")


def _same_reading(one: MetricSpec, other: MetricSpec) -> bool:
    if any(getattr(one, name) != getattr(other, name) for name in ("type", "query", "container", "container_label")):
        return False
    if one.target.type is not TargetType.UTILIZATION:  # it needs no capacities
        return True
    return other.target.type is TargetType.UTILIZATION and one.request == other.request
