"""The whole stage, with a real Prometheus."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

import pytest

from autoscaler.config.settings import PrometheusSource
from autoscaler.errors import TargetNotFound
from autoscaler.model import (
    Autoscaler,
    Failure,
    Instance,
    InstanceReading,
    MetricType,
    Observation,
    Query,
    Sample,
    Sightings,
    TargetRef,
    ValueReading,
)
from autoscaler.observe.failure import QueryFailure
from autoscaler.observe.observer import Observer
from autoscaler.observe.targets import Connection
from autoscaler.rules.fallback.keys import MetricFallback
from autoscaler.target.contract import RecordingLogger
from tests.observe.build import CLOCK, NOW, TARGET, FakeAdapter, ago, call, fallbacks, instance, metric, scaler, state
from tests.replaced import replace
from tests.servers.prometheus import PrometheusServer

pytestmark = pytest.mark.slow

ONE = instance("one", "i-1", "10.0.0.1", ready_transition=ago(600), started_at=ago(900))
TWO = instance("two", "i-2", "10.0.0.2", ready_transition=ago(600), started_at=ago(800))


class Watch:
    """An observer of one target over a Prometheus, with its log, queries and sightings."""

    def __init__(self, url: str, *instances: Instance, known: Mapping[TargetRef, Sightings] | None = None) -> None:
        self.adapter = FakeAdapter({TARGET: state(*(instances or (ONE, TWO)))})
        self.log = RecordingLogger()
        self.queries: list[tuple[str, float, QueryFailure | None]] = []
        sources = {"default": PrometheusSource(url)}
        connection = Connection("fleet", self.adapter, CLOCK, self.log)
        self.observer = Observer(
            sources, {"fleet": connection}, CLOCK, self.log, queried=lambda *query: self.queries.append(query)
        )
        self.known = known or {}
        self.sightings: Mapping[TargetRef, Sightings] = {}

    def look(self, *scalers: Autoscaler, **how: Any) -> dict[str, Observation]:
        try:
            seen = self.observer.observe(scalers, call(**how), self.known)
            self.sightings = seen.sightings
            return dict(seen.observations)
        finally:
            self.observer.close()


def look(prometheus: PrometheusServer, one: Autoscaler, **how: Any) -> Observation:
    return Watch(prometheus.url).look(one, **how)[one.name]


def test_an_observation_has_samples_readings_and_state(prometheus: PrometheusServer) -> None:
    """The observation has everything that a decision needs, in the order of the metrics."""
    observed = look(
        prometheus,
        scaler(
            metric(MetricType.PODS, Query("load", window=timedelta(minutes=2))),
            metric(MetricType.EXTERNAL, "sum(load)"),
            metric(MetricType.OBJECT, "nonsense("),
        ),
    )
    assert observed.target == state(ONE, TWO)
    samples = {"one": Sample(1500, NOW, timedelta(minutes=2)), "two": Sample(2500, NOW, timedelta(minutes=2))}
    assert observed.readings[:2] == (InstanceReading(samples), ValueReading((4000,)))
    assert isinstance(observed.readings[2], Failure)


def test_the_age_of_a_sample_is_queried(prometheus: PrometheusServer) -> None:
    """An instant answer has the current time for a sample taken minutes ago."""
    query = Query("load # a comment", max_age=timedelta(minutes=2))
    (reading,) = look(prometheus, scaler(metric(MetricType.PODS, query))).readings
    assert isinstance(reading, InstanceReading)
    assert {name: sample.timestamp for name, sample in reading.samples.items()} == {"one": ago(10)}
    assert reading.dropped == ("two: is 2m50s old, older than maxAge 2m",)


def test_a_fallbacks_query_is_read_like_the_metrics(prometheus: PrometheusServer) -> None:
    """By instance, or as a sum. A failing one only affects the fallback."""
    observed = look(
        prometheus,
        scaler(
            metric(MetricType.PODS, "nothing"),
            metric(MetricType.EXTERNAL, "sum(load)"),
            metric(MetricType.EXTERNAL, "nothing"),
            metric(MetricType.EXTERNAL, "sum(load)"),
            metric(MetricType.EXTERNAL, "sum(load)"),
            rules=fallbacks(
                MetricFallback(query=Query("load")),
                None,
                MetricFallback(query=Query("load")),
                MetricFallback(query=Query("nonsense(")),
                MetricFallback(replicas=3),
            ),
        ),
    )
    by_instance, none, total, failed, replicas = observed.fallbacks
    assert isinstance(by_instance, InstanceReading)
    assert {name: sample.value for name, sample in by_instance.samples.items()} == {"one": 1500, "two": 2500}
    assert total == ValueReading((1500, 2500))
    assert isinstance(failed, Failure)
    assert (none, replicas) == (None, None)
    assert observed.readings[3] == ValueReading((4000,))


def test_first_sightings_last_from_cycle_to_cycle(prometheus: PrometheusServer) -> None:
    """The daemon records times that a back end does not report. An outage of the back end is not a disappearance."""
    memory: dict[TargetRef, Sightings] = {}

    def started(instances: Sequence[Instance] | None, minutes: int) -> Any:
        watch = Watch(prometheus.url, known=memory)
        error = TargetNotFound("away")
        watch.adapter.states = {TARGET: error if instances is None else state(*instances)}
        target = watch.look(scaler(), now=NOW + timedelta(minutes=minutes))["web"].target
        memory.update(watch.sightings)
        return target if target is error else [each.started_at for each in target.instances]  # type: ignore[union-attr]  # a state, as it is not an error

    bare = replace(ONE, started_at=None, ready_transition=None, ready=None)
    assert started([bare], 0) == [NOW]
    started(None, 1)
    assert started([bare], 2) == [NOW]
    started([], 3)
    assert started([bare], 4) == [NOW + timedelta(minutes=4)]
