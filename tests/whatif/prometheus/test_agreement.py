"""A past from a real Prometheus agrees with the daemon's decisions in nine of ten cycles."""

import math
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

from autoscaler.clock import SystemClock
from autoscaler.config.settings import PrometheusSource
from autoscaler.model import Behavior, Instance, MetricType, Observation, Phase, TargetState
from autoscaler.observe.prometheus import Prometheus
from autoscaler.whatif.compare.inferred_past import agreement
from autoscaler.whatif.prometheus.fetching import Fetcher
from autoscaler.whatif.prometheus.prometheus_past import PrometheusPast
from autoscaler.whatif.replay.replay import Candidate, Load, replay
from tests.decide.build import samples
from tests.observe.build import metric, scaler
from tests.servers.prometheus import openmetrics, running_prometheus
from tests.whatif.pasts import Life

pytestmark = pytest.mark.slow

SECONDS = 15
"""Between two cycles, and between two scrapes."""
CYCLES = 720
START_UP = timedelta(seconds=45)
BEGIN = datetime(2025, 6, 1, 12, tzinfo=UTC)
# of a series that is no longer scraped, a backfilled Prometheus would return the last sample for five minutes
WEB = scaler(metric(MetricType.PODS, "last_over_time(load[20s])"), behavior=Behavior())


class Scraped:
    """Three hours of a daemon whose instances and own metrics Prometheus scrapes, some seconds after each cycle."""

    def __init__(self, offset: float, seed: int) -> None:
        """`offset`: seconds from a cycle to the next scrape."""
        self.life = Life(WEB, size=3, now=BEGIN)
        self.series: dict[str, list[tuple[datetime, float]]] = {}
        self._born = [BEGIN - timedelta(hours=1)] * 3
        self._latest: Mapping[str, float] = {}
        late = Random(seed)
        for number in range(-1, CYCLES):
            due = BEGIN + timedelta(seconds=number * SECONDS)
            if number >= 0:
                self._decide(due + timedelta(seconds=late.uniform(0, 0.5)))
            self._scrape(due + timedelta(seconds=offset), number)

    def _decide(self, now: datetime) -> None:
        """A cycle. Its write takes effect at once, on the newest instances."""
        instances = tuple(
            Instance(f"w{place}", Phase.RUNNING, now >= born + START_UP, born + START_UP, born)
            for place, born in enumerate(self._born)
        )
        seen = {name: round(value * 1000) for name, value in self._latest.items() if int(name[1:]) < len(instances)}
        self.life.now = now
        self.life.see(Observation(TargetState(len(instances), len(instances), instances), (samples(seen, now),)))
        self._born = [*self._born, *[now] * (self.life.size - len(self._born))][: self.life.size]

    def _scrape(self, at: datetime, number: int) -> None:
        ready = [place for place, born in enumerate(self._born) if at >= born + START_UP]
        load = 4.5 + 3 * math.sin(number / 40) + 0.4 * math.sin(number / 3)  # of all instances
        self._latest = {f"w{place}": round(load / len(ready), 3) for place in ready}
        for name, value in self._latest.items():
            self.series.setdefault(f'load{{instance="{name}:80"}}', []).append((at, value))
        if self.life.cycles:
            read = self.life.cycles[-1].decision
            assert read is not None
            assert read.current is not None
            self.series.setdefault('autoscaler_current_replicas{autoscaler="web"}', []).append((at, read.current))


@pytest.fixture(scope="module", params=[(1.0, 1), (7.0, 2), (14.0, 3)], ids=lambda each: f"{each[0]:g}s")
def scraped(request: pytest.FixtureRequest) -> Scraped:
    offset, seed = request.param
    return Scraped(offset, seed)


@pytest.fixture
def source(scraped: Scraped, tmp_path: Path) -> Iterator[Prometheus]:
    with running_prometheus(tmp_path, history=openmetrics(scraped.series)) as server:
        asked = Prometheus("default", PrometheusSource(server.url), SystemClock())
        yield asked
        asked.close()


def test_nine_of_ten_cycles_have_the_size_that_was_read_and_decided(scraped: Scraped, source: Prometheus) -> None:
    """The size from the daemon's own metric; the instances and their start from the samples of the first metric."""
    cycles = scraped.life.cycles
    past = PrometheusPast(
        WEB,
        Fetcher({"default": source}, SystemClock(), sleep=lambda _: None),
        cycles[0].at,
        cycles[-1].at,
        like=cycles[-1].at,
    )
    found = agreement(cycles, replay(past.cycles(), Candidate("recorded", WEB, Load.RECORDED)))
    sizes = [each.decision.current for each in cycles if each.decision is not None]
    assert sum(one != other for one, other in pairwise(sizes)) > 20  # there is something to infer
    assert found.cycles > CYCLES * 0.9
    assert found.same >= 0.9 * found.cycles, found.summary
    assert found.same_read >= 0.9 * found.cycles, found.summary
