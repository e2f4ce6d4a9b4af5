"""A past that a real Prometheus has: what is read of it, what is inferred, and what is said of its holes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from autoscaler.clock import SystemClock
from autoscaler.config.settings import PrometheusSource
from autoscaler.errors import MetricError, PastError
from autoscaler.model import Autoscaler, InstanceReading, MetricType, Query, TargetState, ValueReading
from autoscaler.observe.prometheus import Prometheus
from autoscaler.whatif.compare.comparison import Candidate, compare
from autoscaler.whatif.compare.inferred_past import InferredPast
from autoscaler.whatif.compare.measures import measures
from autoscaler.whatif.past.past import Finding, FindingKind, Moment
from autoscaler.whatif.prometheus.fetching import Fetcher
from autoscaler.whatif.prometheus.prometheus_past import Given, PrometheusPast, phase_of
from autoscaler.whatif.prometheus.range_cache import RangeCache
from autoscaler.whatif.replay.instance_times import TimeSource
from tests.observe.build import metric, scaler
from tests.servers.prometheus import PrometheusServer, openmetrics, running_prometheus
from tests.whatif.pasts import Listed

pytestmark = pytest.mark.slow

STEP = timedelta(seconds=15)
BEGIN = datetime.fromisoformat("2025-06-01T12:00:00+00:00")
END = BEGIN + timedelta(minutes=30)
LOAD = metric(MetricType.PODS, "load")
QUEUE = metric(MetricType.EXTERNAL, "queue")
WEB = scaler(LOAD)


def every(first: float, last: float, value: float, step: float = 15) -> list[tuple[datetime, float]]:
    """Samples of one value from one second after BEGIN up to another."""
    count = int((last - first) // step) + 1
    return [(BEGIN + timedelta(seconds=first + number * step), value) for number in range(count)]


HISTORY = openmetrics(
    {
        # a is always there; b is scraped from minute 10 on and has samples from 10:30 on; c is never seen
        'load{job="web",instance="a:80"}': every(-900, 1800, 1.0),
        'load{job="web",instance="b:80"}': every(630, 1800, 2.0),
        'moved{job="web",instance="a:80",version="1"}': every(-900, 885, 1.0),
        'moved{job="web",instance="a:80",version="2"}': every(900, 1800, 1.0),
        'up{job="web",instance="a:80"}': every(-900, 1800, 1),
        'up{job="web",instance="b:80"}': [
            *every(600, 615, 0), *every(630, 1185, 1), *every(1200, 1245, 0), *every(1260, 1800, 1)
        ],
        'up{job="web",instance="c:80"}': every(-900, 1800, 1),
        'busy_total{job="web",instance="a:80"}': [
            (at, float(number if number < 100 else number - 100)) for number, (at, _) in enumerate(every(-900, 1800, 0))
        ],
        'queue{job="queue"}': [*every(-900, 600, 7), *every(1200, 1800, 9)],
        'far{job="away",instance="d:80"}': [*every(-900, 300, 1), *every(900, 1800, 1)],
        'up{job="away",instance="d:80"}': [*every(-900, 300, 1), *every(900, 1800, 1)],
        'autoscaler_current_replicas{autoscaler="told"}': [*every(-900, 593, 1, 7), *every(602, 1800, 2, 7)],
        'asked{job="cloud"}': every(-900, 1800, 3),
        # f is asked to go at 600, and has its last sample at 700
        'left{job="leaving",instance="e:80"}': every(-900, 1800, 1.0),
        'left{job="leaving",instance="f:80"}': every(-905, 700, 1.0),
        'left_asked{job="cloud"}': [*every(-900, 585, 2), *every(600, 1800, 1)],
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Read:
    """A past, read to its end."""

    moments: Sequence[Moment]
    findings: Sequence[Finding]
    past: PrometheusPast

    def at(self, seconds: float) -> Moment:
        return next(each for each in self.moments if each.at == BEGIN + timedelta(seconds=seconds))

    def state(self, seconds: float) -> TargetState:
        target = self.at(seconds).observation.target
        assert isinstance(target, TargetState), target
        return target

    def of(self, kind: FindingKind) -> list[tuple[float, float, str]]:
        """Seconds after BEGIN from and until when, and what."""
        return [
            ((each.begin - BEGIN).total_seconds(), (each.end - BEGIN).total_seconds(), each.message)
            for each in self.findings
            if each.kind is kind
        ]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PrometheusServer]:
    with running_prometheus(tmp_path_factory.mktemp("prometheus"), history=HISTORY) as running:
        yield running


@pytest.fixture
def source(server: PrometheusServer) -> Iterator[Prometheus]:
    asked = Prometheus("default", PrometheusSource(server.url), SystemClock())
    yield asked
    asked.close()


@pytest.fixture
def fetcher(server: PrometheusServer, source: Prometheus, tmp_path: Path) -> Fetcher:
    clock, sources = SystemClock(), {"default": PrometheusSource(server.url), "long": PrometheusSource(server.url)}
    cache = RangeCache(tmp_path, sources, clock)
    return Fetcher({"default": source, "long": source}, cache, clock, sleep=lambda _: None)


def read(
    fetcher: Fetcher, autoscaler: Autoscaler = WEB, given: Given | None = None, prometheus: str | None = None
) -> Read:
    past = PrometheusPast(autoscaler, fetcher, BEGIN, END, prometheus, given)
    return Read(list(past.moments()), past.findings, past)


def test_there_is_a_moment_for_each_period_with_what_the_daemon_would_have_read(fetcher: Fetcher) -> None:
    told = read(fetcher)
    assert [each.at for each in told.moments] == [BEGIN + number * STEP for number in range(121)]
    reading = told.at(900).observation.readings[0]
    assert isinstance(reading, InstanceReading)
    assert {name: sample.value for name, sample in reading.samples.items()} == {"a:80": 1000, "b:80": 2000}


def test_an_instance_is_there_from_its_first_scrape_on(fetcher: Fetcher) -> None:
    """And is counted as missing until it has a sample, as live."""
    told = read(fetcher)
    assert [told.state(seconds).replicas for seconds in (585, 600, 630)] == [1, 2, 2]
    reading = told.at(615).observation.readings[0]
    assert isinstance(reading, InstanceReading)
    assert set(reading.samples) == {"a:80"}
    assert told.state(615).instances[1].started_at == BEGIN + timedelta(seconds=600)


def test_how_long_a_start_took_is_learnt(fetcher: Fetcher) -> None:
    told = read(fetcher)
    assert told.past.durations.start_up == timedelta(seconds=30)
    assert "start-up time of instances: 30s" in " ".join(each[2] for each in told.of(FindingKind.INFERRED))


def test_how_long_an_end_took_is_learnt_and_what_leaves_is_paid_for_that_long(fetcher: Fetcher) -> None:
    """Without a mark at its end, a series is answered for five minutes after its last sample: until 1000 s."""
    leaving = scaler(metric(MetricType.PODS, "left"))
    told = PrometheusPast(leaving, fetcher, BEGIN, END, None, Given(size=Query("left_asked")))
    found = compare(InferredPast(told, None, None, None), [Candidate("same", leaving)], BEGIN, END)
    assert found.termination == (timedelta(seconds=405), TimeSource.PROMETHEUS)
    paid = measures(found.courses[0], found.demand, found.termination.length)
    assert paid.leaving_hours == pytest.approx(405 / 3600)


def test_where_the_state_has_no_cycle_nothing_is_said_of_how_far_both_agree(fetcher: Fetcher) -> None:
    """As of a daemon that was down then: 100 % of no cycle would read as if all of them were the same."""
    past = InferredPast(PrometheusPast(WEB, fetcher, BEGIN, END), Listed([]), None, WEB)
    assert compare(past, [Candidate("same", WEB)], BEGIN, END).agreement is None


def test_what_was_read_tells_its_holes_even_if_the_rest_is_not_wanted(fetcher: Fetcher) -> None:
    """Where the state begins, it is read in place of Prometheus."""
    past = PrometheusPast(scaler(LOAD, QUEUE), fetcher, BEGIN, END)
    for moment in past.moments():
        if moment.at >= BEGIN + timedelta(seconds=1000):
            break
    assert any("'queue'" in each.message or "'load': the query" in each.message for each in past.findings)


def test_scrapes_that_failed_are_told_and_take_no_instance_away(fetcher: Fetcher) -> None:
    told = read(fetcher)
    assert told.state(1215).replicas == 2
    assert told.of(FindingKind.OUTAGE) == [(1200, 1245, "scrapes of instance b:80 failed")]


def test_a_series_that_went_on_under_other_labels_is_told(fetcher: Fetcher) -> None:
    ((begin, _, message),) = read(fetcher, scaler(metric(MetricType.PODS, "moved"))).of(FindingKind.LABELS)
    assert message.endswith('of instance a:80 goes on with other labels: version="1" is now "2"')
    assert begin == 900


def test_a_counter_that_began_anew_is_told(fetcher: Fetcher) -> None:
    busy = scaler(metric(MetricType.PODS, "rate(busy_total[1m])"))
    ((begin, end, message),) = read(fetcher, busy).of(FindingKind.RESET)
    assert (begin, end) == (585, 600)
    assert message == "counters of metric 'load' of instance a:80 began anew"


def test_a_time_without_scrapes_is_a_gap_and_not_a_size_of_zero(fetcher: Fetcher) -> None:
    """For five minutes Prometheus answers with what it had."""
    told = read(fetcher, scaler(metric(MetricType.PODS, "far")))
    ((begin, end, message),) = told.of(FindingKind.GAP)
    assert begin in (315, 330)  # Prometheus 3 counts no sample at a window's beginning
    assert end == 885
    assert message == "nothing of job away was scraped"
    assert {told.state(seconds).replicas for seconds in range(0, 1800, 15)} == {1}
    assert isinstance(told.at(750).observation.readings[0], MetricError)


def test_a_metric_without_a_value_is_told_with_its_time(fetcher: Fetcher) -> None:
    told = read(fetcher, scaler(LOAD, QUEUE))
    ((begin, end, message),) = [each for each in told.of(FindingKind.OUTAGE) if "metric" in each[2]]
    assert begin in (900, 915)  # Prometheus 3 leaves out a sample of exactly five minutes ago
    assert end == 1185
    assert "the query returned no sample" in message
    assert told.at(600).observation.readings[1] == ValueReading((7000,))


def test_the_autoscalers_own_metric_tells_the_size(fetcher: Fetcher) -> None:
    """What a cycle read is scraped after it: at 600 s the size was 2 already."""
    told = read(fetcher, scaler(LOAD, name="told"))
    assert [told.state(seconds).replicas for seconds in (570, 600, 900)] == [1, 2, 2]
    message = next(each[2] for each in told.of(FindingKind.INFERRED) if each[2].startswith("instances"))
    assert message.endswith("size: from the autoscaler's own metric autoscaler_current_replicas")


def test_a_query_tells_the_size(fetcher: Fetcher) -> None:
    """What was asked for and has no series is on its way."""
    told = read(fetcher, given=Given(size=Query("asked")))
    assert (told.state(0).replicas, told.state(0).ready) == (3, 1)


def test_without_a_metric_of_instances_the_size_has_to_be_told(fetcher: Fetcher) -> None:
    queue = scaler(QUEUE)
    with pytest.raises(PastError, match=r"nothing in Prometheus tells how many instances it had .* give a query"):
        read(fetcher, queue)
    told = read(fetcher, queue, Given(size=Query("asked")))
    assert (told.state(0).replicas, told.state(0).ready) == (3, 3)


def test_a_refused_query_is_told_in_prometheus_words(fetcher: Fetcher) -> None:
    with pytest.raises(
        PastError, match=r"autoscaler 'web': prometheus 'default' answered HTTP 422: .*duplicate series"
    ):
        read(fetcher, scaler(metric(MetricType.PODS, "load * on() up")))


def test_another_source_may_be_asked_in_place_of_the_queries_own(fetcher: Fetcher) -> None:
    """Long-term storage keeps what the Prometheus next to the daemon has dropped."""
    told = read(fetcher, scaler(metric(MetricType.PODS, Query("load", "short"))), prometheus="long")
    assert told.past.origin == "prometheus long"
    assert told.state(900).replicas == 2


def test_only_this_autoscalers_samples_of_a_shared_query_are_asked_for(fetcher: Fetcher) -> None:
    told = read(fetcher, scaler(metric(MetricType.PODS, Query("load", match=(("instance", "b:80"),)))))
    assert [each.name for each in told.state(900).instances] == ["b:80"]


def test_other_configurations_metrics_are_read_as_well(fetcher: Fetcher) -> None:
    """What they are of is told with them."""
    past = PrometheusPast(WEB, fetcher, BEGIN, END, also=[scaler(QUEUE)])
    first = next(past.moments())
    assert first.scaler is not None
    assert first.scaler.metrics == (LOAD, QUEUE)
    assert len(first.observation.readings) == 2


def test_steps_lie_where_the_daemons_cycles_did(fetcher: Fetcher) -> None:
    given = Given(phase=phase_of(BEGIN + timedelta(seconds=33.25), STEP))
    assert read(fetcher, given=given).moments[0].at == BEGIN + timedelta(seconds=3.25)
