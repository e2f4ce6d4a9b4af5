"""A past from a real Prometheus: its readings, what is inferred, and its outages."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import pytest

from autoscaler.clock import SystemClock
from autoscaler.config.settings import PrometheusSource
from autoscaler.errors import PastError
from autoscaler.model import Autoscaler, InstanceReading, MetricType, Query, TargetState, ValueReading
from autoscaler.observe.prometheus import Prometheus
from autoscaler.whatif.compare.comparison import compare
from autoscaler.whatif.past.past import Cycle, Finding, FindingKind
from autoscaler.whatif.prometheus.fetching import Fetcher
from autoscaler.whatif.prometheus.prometheus_past import PrometheusPast
from autoscaler.whatif.replay.replay import Candidate
from tests.observe.build import metric, scaler
from tests.servers.prometheus import PrometheusServer, openmetrics, running_prometheus

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
        # a always exists; b has samples from 10:30 on
        'load{job="web",instance="a:80"}': every(-900, 1800, 1.0),
        'load{job="web",instance="b:80"}': every(630, 1800, 2.0),
        'up{job="web",instance="a:80"}': every(-900, 1800, 1),
        'up{job="web",instance="b:80"}': every(600, 1800, 1),
        'queue{job="queue"}': [*every(-900, 600, 7), *every(1200, 1800, 9)],
        'autoscaler_current_replicas{autoscaler="web",job="a"}': [*every(-900, 593, 1, 7), *every(602, 1800, 2, 7)],
        'autoscaler_current_replicas{autoscaler="web",job="b"}': [*every(-900, 593, 1, 7), *every(602, 1800, 2, 7)],
        'asked{job="cloud"}': every(-900, 1800, 3),
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Read:
    """A past, read to its end."""

    cycles: Sequence[Cycle]
    findings: Sequence[Finding]
    past: PrometheusPast

    def at(self, seconds: float) -> Cycle:
        return next(each for each in self.cycles if each.at == BEGIN + timedelta(seconds=seconds))

    def state(self, seconds: float) -> TargetState:
        target = self.at(seconds).observation.target
        assert isinstance(target, TargetState), target
        return target

    def of(self, kind: FindingKind) -> list[tuple[float, float, str]]:
        """Begin and end in seconds after BEGIN, and the message."""
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
def fetcher(source: Prometheus) -> Fetcher:
    return Fetcher({"default": source, "long": source}, SystemClock())


def read(fetcher: Fetcher, autoscaler: Autoscaler = WEB, **more: Any) -> Read:
    past = PrometheusPast(autoscaler, fetcher, BEGIN, END, **more)
    findings = compare(past, [Candidate("same", autoscaler)], BEGIN, END).findings
    return Read(list(past.cycles()), findings, past)


def test_there_is_a_cycle_for_each_period_with_what_the_daemon_would_have_read(fetcher: Fetcher) -> None:
    found = read(fetcher)
    assert [each.at for each in found.cycles] == [BEGIN + number * STEP for number in range(121)]
    reading = found.at(900).observation.readings[0]
    assert isinstance(reading, InstanceReading)
    assert {name: sample.value for name, sample in reading.samples.items()} == {"a:80": 1000, "b:80": 2000}


def test_a_refused_query_is_an_outage_with_the_words_of_prometheus(fetcher: Fetcher) -> None:
    ((_, _, message),) = read(fetcher, scaler(metric(MetricType.PODS, "load * on() up"))).of(FindingKind.OUTAGE)
    assert "prometheus 'default' answered HTTP 422: " in message


def test_the_size_comes_from_the_daemons_own_metric(fetcher: Fetcher) -> None:
    """It is scraped after the cycle: at 600 s the size was 2 already. During a takeover two daemons have it."""
    found = read(fetcher)
    assert [found.state(seconds).replicas for seconds in (570, 600, 900)] == [1, 2, 2]
    assert [(found.state(seconds).ready) for seconds in (600, 630)] == [1, 2]
    ((_, _, message),) = found.of(FindingKind.INFERRED)
    instances, size = message.split("; ")
    assert instances == "instances: those with a sample of metric 'load'"
    assert size == "size: from the metric autoscaler_current_replicas"


def test_the_size_comes_from_a_query(fetcher: Fetcher) -> None:
    """Instances without a sample are starting."""
    found = read(fetcher, size=Query("asked"))
    assert (found.state(0).replicas, found.state(0).ready) == (3, 1)


@pytest.mark.parametrize("size", [None, Query("absent")], ids=["own metric", "query"])
def test_without_a_size_there_is_no_past(fetcher: Fetcher, size: Query | None) -> None:
    """The number of samples would be wrong in every third cycle of a pool that grows and shrinks."""
    with pytest.raises(PastError, match=r"Prometheus does not know the size of its target: .*--size"):
        read(fetcher, scaler(LOAD, name="other"), size=size)


def test_a_metric_without_a_value_is_an_outage(fetcher: Fetcher) -> None:
    found = read(fetcher, scaler(LOAD, QUEUE))
    ((begin, end, message),) = found.of(FindingKind.OUTAGE)
    assert begin in (900, 915)  # Prometheus 3 leaves out a sample of exactly five minutes ago
    assert end == 1200
    assert "External metric load had no value in " in message
    assert found.at(600).observation.readings[1] == ValueReading((7000,))


def test_another_source_may_be_queried(fetcher: Fetcher) -> None:
    """Long-term storage keeps what the daemon's Prometheus has dropped."""
    found = read(fetcher, scaler(metric(MetricType.PODS, Query("load", "short"))), prometheus="long")
    assert found.past.origin == "prometheus long"
    assert found.state(900).ready == 2


def test_only_this_autoscalers_samples_of_a_shared_query_count(fetcher: Fetcher) -> None:
    found = read(fetcher, scaler(metric(MetricType.PODS, Query("load", match=(("instance", "b:80"),)))))
    assert [each.name for each in found.state(900).instances] == ["b:80", "1 without a sample"]


def test_configurations_with_different_metrics_are_compared(fetcher: Fetcher) -> None:
    """Each decides from the readings of its own metrics."""
    other = scaler(QUEUE)
    past = PrometheusPast(WEB, fetcher, BEGIN, END, also=[other])
    assert next(past.cycles()).scaler.metrics == (LOAD, QUEUE)
    found = compare(past, [Candidate(each.name, each) for each in (other, WEB)], BEGIN, END)
    assert not [each for each in found.findings if each.kind is FindingKind.UNKNOWN]
    assert all(max(each or 0 for each in sizes) > 1 for sizes in found.series.sizes[1:])
    assert found.fit is None
