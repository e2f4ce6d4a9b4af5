"""The reading of each kind of answer for each kind of metric, row by row as in docs/queries.md."""

import math
from datetime import timedelta
from typing import Any

import pytest

from autoscaler.fields.kept_labels import INSTANCE_LABELS
from autoscaler.model import (
    Failure,
    Instance,
    InstanceReading,
    MetricSpec,
    MetricTarget,
    MetricType,
    Query,
    Sample,
    TargetType,
    ValueReading,
)
from autoscaler.observe.answers import Answers, Results
from autoscaler.observe.failure import QueryFailure
from autoscaler.observe.plan import age_question, question
from autoscaler.observe.readings import read
from autoscaler.observe.result import QueryResult, ResultType
from autoscaler.whatif.prometheus.prometheus_past import size_of
from tests.observe.build import NOW, ago, answers, instance, metric, point, vector

PODS, OBJECT, EXTERNAL = MetricType.PODS, MetricType.OBJECT, MetricType.EXTERNAL
A, B = instance("a"), instance("b")


def failure(spec: MetricSpec, given: Results, *instances: Instance) -> str:
    reading = read(spec, instances or (A, B), Answers(given), NOW)
    assert isinstance(reading, Failure), reading
    return str(reading)


def per_instance(spec: MetricSpec, given: Results, *instances: Instance) -> InstanceReading:
    reading = read(spec, instances or (A, B), Answers(given), NOW)
    assert isinstance(reading, InstanceReading), reading
    return reading


def test_values_become_thousandths_truncated() -> None:
    """As in Kubernetes' metrics adapters: 1.2999 is 1299m."""
    spec = metric(PODS, Query("q", window=timedelta(minutes=2)))
    reading = per_instance(spec, answers(vector(point(1.2999, instance="a"), point(0, instance="b"))))
    assert reading.samples == {"a": Sample(1299, NOW, timedelta(minutes=2)), "b": Sample(0, NOW, timedelta(minutes=2))}


@pytest.mark.parametrize("value", [-9.47e-16, -1.1e-13, -0.0, -5e-324, -0.000999])
def test_a_value_is_cut_to_thousandths_before_it_is_judged(value: float) -> None:
    """A plain rate() of an idle counter is -9.47e-16, and one such sample failed the whole metric."""
    given = answers(vector(point(value, instance="a"), point(1, instance="b")))
    zero = Sample(0, NOW, timedelta(seconds=60))
    assert per_instance(metric(PODS, "q"), given).samples["a"] == zero
    assert read(metric(EXTERNAL, "q"), (), Answers(given), NOW) == ValueReading((0, 1000))
    past = QueryResult(ResultType.VECTOR, (point(value),))
    assert size_of(past) == 0


@pytest.mark.parametrize("value", [-0.001, -1.0, -1e300])
def test_a_negative_value_is_an_error(value: float) -> None:
    """It is no load. Source: docs/queries.md."""
    given = answers(vector(point(value, instance="a"), point(1, instance="b")))
    assert "is negative" in failure(metric(PODS, "q"), given)
    assert size_of(QueryResult(ResultType.VECTOR, (point(value),))) is None


def test_an_external_vector_keeps_every_value() -> None:
    """The decision sums them."""
    reading = read(metric(EXTERNAL, "q"), (), Answers(answers(vector(point(1, q="a"), point(2.5, q="b")))), NOW)
    assert reading == ValueReading((1000, 2500))


@pytest.mark.parametrize("kind", [OBJECT, EXTERNAL])
def test_a_scalar_is_one_sample(kind: MetricType) -> None:
    """`scalar(…)` and plain numbers are equivalent to a vector with one sample."""
    assert read(
        metric(kind, "q"), (), Answers(answers(QueryResult(ResultType.SCALAR, (point(3),)))), NOW
    ) == ValueReading((3000,))


def test_a_scalar_names_no_instance() -> None:
    """Giving it to every instance would multiply the load."""
    assert "a scalar" in failure(metric(PODS, "q"), answers(QueryResult(ResultType.SCALAR, (point(3),))))


@pytest.mark.parametrize("kind", [PODS, OBJECT, EXTERNAL])
@pytest.mark.parametrize("result", [ResultType.STRING, ResultType.MATRIX])
def test_strings_and_matrices_are_errors(kind: MetricType, result: ResultType) -> None:
    """Neither is a value at one time."""
    assert f"returned a {result}" in failure(metric(kind, "q"), answers(QueryResult(result, ())))


@pytest.mark.parametrize("kind", [PODS, OBJECT, EXTERNAL])
def test_an_outage_is_not_zero_load(kind: MetricType) -> None:
    """If exporters fail the vector is empty, and a scale-in would make the outage worse."""
    assert "no sample; " in failure(metric(kind, "q"), answers(vector()))


@pytest.mark.parametrize(("kind", "offered"), [(PODS, False), (OBJECT, True), (EXTERNAL, True)])
def test_a_zero_is_suggested_only_where_it_can_be_used(kind: MetricType, offered: bool) -> None:
    """`or vector(0)` has no labels, so with a Pods metric it belongs to no instance."""
    message = failure(metric(kind, "q"), answers(vector()))
    assert ("vector(0)" in message) is offered
    assert "`autoscaler check --live` says what Prometheus has of its series" in message


_ANY_LABEL = " or ".join(INSTANCE_LABELS)
_REMEDY = "write sum by ({}) (…), or use a metric of type External"


@pytest.mark.parametrize(
    ("query", "labels", "said", "label"),
    [
        (
            Query("sum(load)"),
            {},
            f"the query's samples have no label {_ANY_LABEL}, as {{}}, which would name an instance; ",
            "instance",
        ),
        (
            Query("sum by (job) (load)", instance_label="pod"),
            {"job": "web"},
            """the query's samples have no label pod, as {job="web"}, which would name an instance; """,
            "pod",
        ),
    ],
)
def test_samples_that_name_no_instance_are_an_error(
    query: Query, labels: dict[str, str], said: str, label: str
) -> None:
    """As unmatched samples they took three sentences without a remedy."""
    assert failure(metric(PODS, query), answers(vector(point(1, **labels)), query.expr)) == said + _REMEDY.format(label)


def test_one_sample_that_names_an_instance_is_enough() -> None:
    """The others are listed, and the query as a whole is not wrong."""
    reading = per_instance(metric(PODS, "q"), answers(vector(point(1, instance="a"), point(2, job="web"))))
    assert set(reading.samples) == {"a"}
    assert reading.unmatched[0].startswith("no alloc_id or task_id or ")


@pytest.mark.parametrize("kind", [PODS, OBJECT, EXTERNAL])
def test_a_shared_answer_without_own_samples_is_no_sample(kind: MetricType) -> None:
    """The shared query has samples, but none for this autoscaler."""
    spec = metric(kind, Query("q", match=(("asg", "web"),)))
    assert 'no sample with asg="web"' in failure(spec, answers(vector(point(1, asg="api", instance="a"))))


@pytest.mark.parametrize("kind", [PODS, OBJECT, EXTERNAL])
@pytest.mark.parametrize(
    ("value", "word"),
    [
        (math.inf, "+Inf"),
        (-math.inf, "-Inf"),
        (-0.5, "clamp_min(…, 0)"),
        (1e17, "63 bits"),
        (1e306, "63 bits"),
        (None, "native histogram"),
    ],
)
def test_an_unusable_value_is_an_error_of_the_metric(kind: MetricType, value: float | None, word: str) -> None:
    """Each error names the sample and what to write instead."""
    given = answers(vector(point(value, instance="a")))
    message = failure(metric(kind, "q"), given)
    assert word in message
    assert 'instance="a"' in message


@pytest.mark.parametrize("kind", [OBJECT, EXTERNAL])
def test_nan_is_an_error_of_a_single_value(kind: MetricType) -> None:
    """A ratio of 0/0 without traffic is unknown load, not zero load."""
    assert "NaN" in failure(metric(kind, "q"), answers(vector(point(math.nan, queue="a"))))


def test_nan_makes_one_instance_missing() -> None:
    """One idle instance's 0/0 must not hide the others."""
    reading = per_instance(metric(PODS, "q"), answers(vector(point(math.nan, instance="a"), point(2, instance="b"))))
    assert set(reading.samples) == {"b"}
    assert reading.dropped == ("a: is NaN",)


def test_two_samples_make_one_instance_missing() -> None:
    """Which one is right is unknown, and their sum is wrong."""
    twice = vector(point(1, instance="a", cpu="0"), point(2, instance="a", cpu="1"), point(2, instance="b"))
    reading = per_instance(metric(PODS, "q"), answers(twice))
    assert set(reading.samples) == {"b"}
    assert reading.dropped[0].startswith("a: has 2 samples")


def test_the_samples_shown_for_an_instance_are_short() -> None:
    """Thousands of instances may have too many samples each, and every record keeps the texts."""
    twice = vector(*(point(1, instance="a", note=f"{number}{'x' * 1000}") for number in range(9)))
    (text,) = per_instance(metric(PODS, "q"), answers(twice)).dropped
    assert text.startswith("a: has 9 samples")
    assert len(text.encode()) < 320


def test_an_object_takes_exactly_one_sample() -> None:
    """Only the operator knows which of several is meant."""
    message = failure(metric(OBJECT, "q"), answers(vector(point(1, q="a"), point(2, q="b"))))
    assert '2 samples, where an Object metric takes one: {q="a"}, {q="b"}' in message


def test_a_failed_query_fails_the_metric_with_its_message() -> None:
    """The operator needs Prometheus' own message."""
    shared = QueryFailure("prometheus 'default' answered HTTP 503")
    assert failure(metric(PODS, "q"), answers(shared)) == str(shared)


@pytest.mark.parametrize("kind", [PODS, OBJECT, EXTERNAL])
def test_texts_of_long_labels_are_short(kind: MetricType) -> None:
    """A label of 10 MB caused 80 MB of log in ten seconds."""
    long = "x" * 10**7
    given = answers(vector(point(-1, instance="a", note=long), point(-1, instance="b", other=long)))
    message = failure(metric(kind, "q"), given)
    assert "xxx…" in message
    assert len(message.encode()) < 2048


def test_unmatched_samples_are_listed() -> None:
    """A reading with only unmatched samples is not an empty answer."""
    reading = per_instance(metric(PODS, "q"), answers(vector(point(1, instance="c"))))
    assert (reading.samples, reading.unmatched) == ({}, ('instance="c"',))


class TestMaxAge:
    """`maxAge` queries the samples' own times, because an instant answer has the time of evaluation."""

    QUERY = Query("q", max_age=timedelta(minutes=2))

    def given(self, values: QueryResult, times: QueryResult | QueryFailure) -> Results:
        return {question(self.QUERY): values, age_question(self.QUERY): times}

    def test_a_samples_time_is_its_own(self) -> None:
        """The cpu readiness rule compares it with the instance's start."""
        given = self.given(
            vector(point(1, __name__="q", instance="a")), vector(point(ago(100).timestamp(), instance="a"))
        )
        assert per_instance(metric(PODS, self.QUERY), given).samples["a"].timestamp == ago(100)

    def test_a_stale_sample_makes_its_instance_missing(self) -> None:
        """A load of minutes ago does not show the current load."""
        times = vector(point(ago(121).timestamp(), instance="a"), point(ago(120).timestamp(), instance="b"))
        reading = per_instance(
            metric(PODS, self.QUERY), self.given(vector(point(1, instance="a"), point(1, instance="b")), times)
        )
        assert set(reading.samples) == {"b"}
        assert reading.dropped == ("a: is 2m1s old, older than maxAge 2m",)

    def test_a_fresh_sample_beside_a_stale_one_counts(self) -> None:
        """A restarted worker leaves its old series behind for five minutes."""
        values = vector(point(9, instance="a", pid="1"), point(1, instance="a", pid="2"))
        times = vector(
            point(ago(200).timestamp(), instance="a", pid="1"), point(ago(5).timestamp(), instance="a", pid="2")
        )
        assert per_instance(metric(PODS, self.QUERY), self.given(values, times)).samples["a"].value == 1000

    @pytest.mark.parametrize("kind", [OBJECT, EXTERNAL])
    def test_a_stale_part_fails_a_sum(self, kind: MetricType) -> None:
        """A sum without one part would look like less load."""
        given = self.given(vector(point(1, q="a")), vector(point(ago(500).timestamp(), q="a")))
        assert "8m20s old" in failure(metric(kind, self.QUERY), given)

    def test_a_sample_of_unknown_age_is_not_used(self) -> None:
        """A series may appear between the two queries."""
        given = self.given(vector(point(1, instance="a")), vector())
        assert per_instance(metric(PODS, self.QUERY), given).dropped[0].startswith("a: has no known age")

    @pytest.mark.parametrize(
        "time", [1e300, -1e300, math.nan, math.inf, -math.inf, -1.0, None, NOW.timestamp() + 61, 253402300800.0]
    )
    def test_an_invalid_time_is_an_unknown_age(self, time: float | None) -> None:
        """A proxy may return any `timestamp()`; 1e300 failed every autoscaler's cycle."""
        given = self.given(
            vector(point(1, instance="a"), point(2, instance="b")),
            vector(point(time, instance="a"), point(ago(1).timestamp(), instance="b")),
        )
        reading = per_instance(metric(PODS, self.QUERY), given)
        assert reading.samples == {"b": Sample(2000, ago(1), self.QUERY.window)}
        assert reading.dropped == ("a: has no known age: timestamp() of it is not a time up to now",)
        assert "has no known age" in failure(metric(EXTERNAL, self.QUERY), given)

    def test_without_ages_the_metric_fails(self) -> None:
        """Without ages stale data would look fresh."""
        given = self.given(vector(point(1, instance="a")), QueryFailure("down"))
        assert failure(metric(PODS, self.QUERY), given) == "down"


class TestRequests:
    """The capacity that Utilization refers to."""

    UTILIZATION = MetricTarget(TargetType.UTILIZATION, 60)
    LOAD = vector(point(1, instance="a"), point(1, instance="b"))

    def spec(self, **fields: Any) -> MetricSpec:
        return metric(MetricType.RESOURCE, "q", name="cpu", target=self.UTILIZATION, **fields)

    def test_a_quantity_applies_to_every_instance(self) -> None:
        """A fleet of equal instances."""
        assert per_instance(self.spec(request=4000), answers(self.LOAD)).requests == {"a": 4000, "b": 4000}

    def test_a_query_is_joined_like_the_metric(self) -> None:
        """A fleet of several sizes."""
        given = answers(self.LOAD) | answers(vector(point(4, instance="a"), point(math.nan, instance="b")), "cores")
        reading = per_instance(self.spec(request=Query("cores")), given)
        assert reading.requests == {"a": 4000}
        assert reading.dropped == ("request of b: is NaN",)

    def test_a_failed_request_query_fails_the_metric(self) -> None:
        """Utilization of an unknown capacity is unknown."""
        given = answers(self.LOAD) | answers(QueryFailure("down"), "cores")
        assert failure(self.spec(request=Query("cores")), given) == "down"

    def test_without_a_request_the_instances_own_reservation_is_used(self) -> None:
        """Only of this resource. An instance without a reservation fails the metric later, by name."""
        known = instance("a", requests={"cpu": 2000, "memory": 10})
        assert per_instance(self.spec(), answers(self.LOAD), known, B).requests == {"a": 2000}

    def test_a_container_has_its_own_reservation(self) -> None:
        """The whole instance's reservation would hide a busy container behind idle ones."""
        known = instance("a", requests={"cpu": 9}, container_requests={"app": {"cpu": 500}, "side": {"cpu": 7}})
        spec = metric(MetricType.CONTAINER_RESOURCE, "q", name="cpu", target=self.UTILIZATION, container="app")
        load = vector(point(1, instance="a", task="app"), point(9, instance="a", task="side"))
        reading = per_instance(spec, answers(load), known)
        assert (reading.requests, reading.samples["a"].value) == ({"a": 500}, 1000)

    @pytest.mark.parametrize("container", [None, "app"])
    def test_cpu_is_compared_with_a_reservation_in_mhz_where_there_is_none_in_cores(
        self, container: str | None
    ) -> None:
        """Nomad reserves and measures MHz, and its users call the metric `cpu`."""
        own = {"cpu_mhz": 500_000, "memory": 10}
        known = [instance(name, requests=own, container_requests={"app": own}) for name in "ab"]
        kind = MetricType.CONTAINER_RESOURCE if container else MetricType.RESOURCE
        spec = metric(kind, "q", name="cpu", target=self.UTILIZATION, container=container)
        load = vector(point(1, instance="a", task="app"), point(1, instance="b", task="app"))
        assert per_instance(spec, answers(load), *known).requests == {"a": 500_000, "b": 500_000}

    def test_mhz_and_cores_in_one_target_are_an_error(self) -> None:
        """A sum of both units means nothing. AverageValue needs no reservation."""
        mixed = instance("a", requests={"cpu": 2000}), instance("b", requests={"cpu_mhz": 500_000})
        said = failure(self.spec(), answers(self.LOAD), *mixed)
        assert said.startswith("instance b reserves cpu in MHz, and instance a in cores; set `request`")
        assert per_instance(metric(MetricType.RESOURCE, "q", name="cpu"), answers(self.LOAD), *mixed).requests == {}


def test_shortly_after_a_start_an_empty_answer_is_expected() -> None:
    """Prometheus scrapes a new instance some time after its start."""
    asked, nothing = metric(MetricType.PODS, "q"), answers(vector())
    new = instance("a", started_at=NOW - timedelta(seconds=20))
    old = instance("b", started_at=NOW - timedelta(minutes=5))
    assert failure(asked, nothing, new).startswith(
        "the query returned no sample; the instances were started less than 2m ago, and a new instance has no sample "
        "until Prometheus has scraped it; if this stays, `autoscaler check --live`"
    )
    assert failure(asked, nothing, new, old).startswith("the query returned no sample; `autoscaler check --live`")


def test_a_container_without_samples_is_an_error() -> None:
    """A wrong container label must not read as no load."""
    spec = metric(MetricType.CONTAINER_RESOURCE, "q", container="app")
    assert "no sample of container 'app'" in failure(spec, answers(vector(point(1, instance="a"))))
