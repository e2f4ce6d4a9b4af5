"""Makes one metric's reading from the answers to its questions. docs/queries.md lists the cases."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from msgspec.structs import replace

from autoscaler.errors import MetricError, named
from autoscaler.fields.kept_labels import names_no_instance
from autoscaler.hpa.instances import NOT_SCRAPED_YET, are_new
from autoscaler.model import (
    Failure,
    Instance,
    InstanceReading,
    MetricSpec,
    MetricType,
    Query,
    Reading,
    Sample,
    TargetType,
    ValueReading,
)
from autoscaler.observe.answer import FARTHEST_SECONDS
from autoscaler.observe.answers import Answers, Series, series
from autoscaler.observe.failure import NoValue, Unsampled, no_sample
from autoscaler.observe.join import join, of_container
from autoscaler.observe.plan import question
from autoscaler.observe.result import Point, ResultType, milli
from autoscaler.quantity import Milli, format_duration
from autoscaler.text import listed, plain

_MAX_LIST: Final = 256
"""Bytes shown of one instance's samples. Each of thousands of instances may have too many."""
_REMEDY: Final = {
    ResultType.SCALAR: "a scalar names no instance; drop scalar(), or use it with an External or Object metric",
    ResultType.STRING: "a string is not a number",
    ResultType.MATRIX: "a range of samples is not a single value; wrap the range selector, as in rate(…[2m])",
}

_LOOK: Final = "`autoscaler check --live` says what Prometheus has of its series"
_ZERO: Final = f"if that means zero, say so in the expression, as in … or vector(0); if not, {_LOOK}"
"""For Object and External metrics only: a zero without labels belongs to no instance."""


def read(metric: MetricSpec, instances: Sequence[Instance], answers: Answers, now: datetime) -> Reading | Failure:
    """Return the metric's reading at `now`, or why it has none."""
    try:
        if metric.type.per_instance:
            return _per_instance(metric, instances, answers, now)
        return _values(metric, answers, now)
    except NoValue as error:
        return error.failure
    except MetricError as error:
        return Failure(str(error))
    except Exception as error:  # noqa: BLE001 - an unforeseen answer must not affect other autoscalers
        return Failure(f"could not be read: {named(error)}; this is a bug, please report it")


def _values(metric: MetricSpec, answers: Answers, now: datetime) -> ValueReading:
    """Return every sample's value.

    One unusable sample fails the reading, because a partial sum would look like less load.
    """
    query = metric.query
    points = _points(query, answers, (ResultType.VECTOR, ResultType.SCALAR), _ZERO)
    if metric.type is MetricType.OBJECT and len(points) != 1:
        raise MetricError(
            f"the query returned {len(points)} samples, where an Object metric takes one: {_some(points)}; "
            "aggregate them, as in sum(…), or use an External metric"
        )
    ages = _Ages(query, answers, now)
    values = []
    for point in points:
        value = milli(point)
        if value is None:
            raise MetricError(f"its sample {point} is NaN; guard the expression against a division by zero")
        if problem := ages.problem(point):
            raise MetricError(f"its sample {point} {problem}")
        values.append(value)
    return ValueReading(tuple(values))


def _per_instance(
    metric: MetricSpec, instances: Sequence[Instance], answers: Answers, now: datetime
) -> InstanceReading:
    reading = instance_samples(metric.query, instances, answers, now, metric)
    if metric.target.type is not TargetType.UTILIZATION:
        return reading
    query = metric.request_query
    if query is not None:
        capacity = instance_samples(query, instances, answers, now, metric)
        requests = {name: sample.value for name, sample in capacity.samples.items()}
        dropped = (*reading.dropped, *[f"request of {each}" for each in capacity.dropped])
        return replace(reading, requests=requests, dropped=dropped)
    if isinstance(metric.request, Milli):
        return replace(reading, requests=dict.fromkeys((instance.name for instance in instances), metric.request))
    return replace(reading, requests=_reservations(metric, instances))


def instance_samples(
    query: Query, instances: Sequence[Instance], answers: Answers, now: datetime, metric: MetricSpec | None = None
) -> InstanceReading:
    """Return the query's samples by instance, without requests.

    With a ContainerResource `metric`, only its container's. Raises MetricError.
    """
    remedy = f"{NOT_SCRAPED_YET}; if this stays, {_LOOK}" if are_new(instances, now) else _LOOK
    points = _points(query, answers, (ResultType.VECTOR,), remedy)
    if metric is not None and metric.container is not None:
        points = of_container(points, metric.container, metric.container_label)
        if not points:
            raise MetricError(f"the query returned no sample of container {metric.container!r}; see containerLabel")
    joined = join(points, instances, query.instance_label)
    if joined.nameless is not None:
        raise MetricError(names_no_instance(query.instance_label, joined.nameless))
    ages = None if query.max_age is None else _Ages(query, answers, now)
    samples: dict[str, Sample] = {}
    dropped: list[str] = []
    window = query.window
    for name in sorted(joined.points):
        mine = joined.points[name]
        if ages is None and len(mine) == 1 and (value := milli(mine[0])) is not None:  # the usual case
            samples[name] = Sample(value, now, window)
            continue
        fresh = mine if ages is None else [point for point in mine if ages.problem(point) is None]
        if len(fresh) == 1:
            (point,) = fresh
            if (value := milli(point)) is None:
                dropped.append(f"{name}: is NaN")
            else:
                samples[name] = Sample(value, now if ages is None else ages.time(point), window)
        elif ages is not None and not fresh:
            dropped.append(f"{name}: {ages.problem(mine[0])}")
        else:
            dropped.append(f"{name}: has {len(fresh)} samples where one is needed: {plain(_some(fresh), _MAX_LIST)}")
    return InstanceReading(samples, {}, joined.unmatched, joined.more_unmatched, tuple(dropped))


def _points(query: Query, answers: Answers, wanted: Sequence[ResultType], remedy: str) -> Sequence[Point]:
    """Return the points for this query, at least one. No sample is an error and never zero load."""
    answer = answers.result(question(query))
    if answer.type not in wanted:
        raise MetricError(f"the query returned a {answer.type}: {_REMEDY[answer.type]}")
    points = answers.points(query)
    if not points:
        raise NoValue(Unsampled(f"{no_sample(query)}; {remedy}", query))
    return points


class _Ages:
    """The times of a query's samples: `now`, or with maxAge the result of `timestamp()`."""

    def __init__(self, query: Query, answers: Answers, now: datetime) -> None:
        self._now = now
        self._limit = query.max_age
        self._times: Mapping[Series, float | None] = {} if self._limit is None else answers.times(query)

    def problem(self, point: Point) -> str | None:
        """Return why a sample cannot be used, or None if it can."""
        if self._limit is None:
            return None
        of = series(point)
        if of not in self._times:
            return "has no known age: its series came or went between the two queries"
        taken = _date(self._times[of], self._now)
        if taken is None:
            return "has no known age: timestamp() of it is not a time up to now"
        age = self._now - taken
        if age <= self._limit:
            return None
        return f"is {format_duration(age)} old, older than maxAge {format_duration(self._limit)}"

    def time(self, point: Point) -> datetime:
        """Return when the sample was taken, or `now` if that is unknown."""
        if self._limit is None:
            return self._now
        return _date(self._times.get(series(point)), self._now) or self._now


def _date(seconds: float | None, now: datetime) -> datetime | None:
    """Return the time of a `timestamp()`, or None if it is in the future or invalid."""
    if seconds is None or not 0 <= seconds <= now.timestamp() + FARTHEST_SECONDS:
        return None
    return datetime.fromtimestamp(seconds, UTC)


def _reservations(metric: MetricSpec, instances: Iterable[Instance]) -> Mapping[str, Milli]:
    """Return each instance's known reservation of the resource, or its container's.

    A metric named `cpu` is compared with `cpu_mhz` where an instance has no `cpu`. Raises MetricError if some instances
    have the one and some the other.
    """
    found, in_mhz = dict[str, Milli](), dict[str, Milli]()
    for instance in instances:
        own = instance.container_requests.get(metric.container, {}) if metric.container else instance.requests
        if metric.name in own:
            found[instance.name] = own[metric.name]
        elif metric.name == "cpu" and "cpu_mhz" in own:
            in_mhz[instance.name] = own["cpu_mhz"]
    if found and in_mhz:
        raise MetricError(
            f"instance {next(iter(in_mhz))} reserves cpu in MHz, and instance {next(iter(found))} in cores; "
            "set `request` on the metric"
        )
    return found or in_mhz


def _some(points: Sequence[Point]) -> str:
    return listed([*map(str, points[:3])], 3, len(points[3:]))
