"""Finds the readings of a candidate among those that were recorded for another configuration."""

from typing import Final, NamedTuple

from msgspec.structs import replace

from autoscaler.errors import MetricError
from autoscaler.model import Autoscaler, MetricSpec, Observation, Reading, TargetType
from autoscaler.whatif.past.past import Cycle


class _Places(NamedTuple):
    """For each metric of the candidate the place of its reading among those of `recorded`; None if there is none."""

    recorded: Autoscaler
    as_they_are: bool
    """Whether both have the same metrics in the same order."""
    readings: tuple[int | None, ...]
    fallbacks: tuple[int | None, ...]


class Fitting:
    """Puts the readings of recorded cycles in the order of a candidate's metrics.

    Two metrics have the same reading if they have the same type, query and container, and for Utilization the same
    capacities. Names and targets do not matter.
    """

    def __init__(self, candidate: Autoscaler) -> None:
        self._candidate: Final = candidate
        self._places: _Places | None = None
        """For the last configuration: it rarely changes."""

    def missing(self, recorded: Autoscaler) -> tuple[MetricSpec, ...]:
        """The metrics of the candidate without a reading among those of `recorded`."""
        places = self._places_in(recorded).readings
        return tuple([spec for spec, place in zip(self._candidate.metrics, places, strict=True) if place is None])

    def fit(self, cycle: Cycle) -> Observation:
        """Return the observation as the candidate would have had it; a metric that was not queried has an error."""
        recorded, observed = cycle.scaler, cycle.observation
        places, candidate = self._places_in(recorded), self._candidate
        same_victims = candidate.victims == recorded.victims or not observed.victims
        if places.as_they_are:
            return observed if same_victims else replace(observed, victims=())
        fallbacks = list[Reading | MetricError | None]()
        for spec, place in zip(candidate.metrics, places.fallbacks, strict=True):
            if spec.fallback is None or spec.fallback.query is None:
                fallbacks.append(None)
            elif place is None:
                fallbacks.append(_not_queried(spec.fallback.query.expr))
            else:
                fallbacks.append(observed.fallbacks[place])
        return replace(
            observed,
            readings=tuple(
                [
                    _not_queried(spec.query.expr) if place is None else observed.readings[place]
                    for spec, place in zip(candidate.metrics, places.readings, strict=True)
                ]
            ),
            victims=observed.victims if same_victims else (),
            fallbacks=() if all(each is None for each in fallbacks) else tuple(fallbacks),
        )

    def _places_in(self, recorded: Autoscaler) -> _Places:
        known = self._places
        if known is None or known.recorded is not recorded:
            mine = self._candidate.metrics
            known = self._places = _Places(
                recorded,
                mine == recorded.metrics,
                tuple([_place(spec, recorded) for spec in mine]),
                tuple([_fallback_place(spec, recorded) for spec in mine]),
            )
        return known


def _not_queried(expr: str) -> MetricError:
    return MetricError(f"{expr}: the daemon did not send this query at that time")


def _place(spec: MetricSpec, recorded: Autoscaler) -> int | None:
    return next((place for place, known in enumerate(recorded.metrics) if _same_reading(spec, known)), None)


def _same_reading(spec: MetricSpec, known: MetricSpec) -> bool:
    if _read(spec) != _read(known):
        return False
    if spec.target.type is not TargetType.UTILIZATION:  # it needs no capacities
        return True
    return known.target.type is TargetType.UTILIZATION and spec.request == known.request


def _read(spec: MetricSpec) -> tuple[object, ...]:
    return spec.type, spec.query, spec.container, spec.container_label


def _fallback_place(spec: MetricSpec, recorded: Autoscaler) -> int | None:
    query = None if spec.fallback is None else spec.fallback.query
    if query is None:
        return None
    same = (
        place
        for place, known in enumerate(recorded.metrics)
        if known.fallback is not None and known.fallback.query == query and known.type is spec.type
    )
    return next(same, None)
